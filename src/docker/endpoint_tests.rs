#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

struct Home {
    dir: tempfile::TempDir,
    vars: Vec<(&'static str, String)>,
}

impl Home {
    fn new() -> Home {
        Home { dir: tempfile::tempdir().unwrap(), vars: Vec::new() }
    }

    fn var(mut self, name: &'static str, value: &str) -> Home {
        self.vars.push((name, value.to_owned()));
        self
    }

    fn file(self, path: &str, text: &str) -> Home {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn context(self, directory: &str, name: &str, host: &str) -> Home {
        let text =
            format!(r#"{{"Name":"{name}","Metadata":{{}},"Endpoints":{{"docker":{{"Host":"{host}"}}}}}}"#);
        self.file(&format!("home/.docker/contexts/meta/{directory}/meta.json"), &text)
    }

    fn candidates(&self) -> Result<Vec<Endpoint>, DockerError> {
        let env = |name: &str| self.vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        candidates(&Surroundings {
            env: &env,
            home: Some(self.dir.path().join("home")),
            uid: Some(1000),
            root: self.dir.path().to_owned(),
        })
    }

    fn addresses(&self) -> Vec<String> {
        self.candidates().unwrap().iter().map(|endpoint| endpoint.address.to_string()).collect()
    }

    fn socket(&self, path: &str) -> String {
        format!("unix://{}", self.dir.path().join(path).display())
    }
}

#[test]
fn docker_host_is_the_only_candidate_when_it_is_set() {
    let home = Home::new().var("DOCKER_HOST", "tcp://10.0.0.1:2375").var("DOCKER_CONTEXT", "other");
    assert_eq!(home.addresses(), ["tcp://10.0.0.1:2375"]);
}

#[test]
fn an_empty_docker_host_counts_as_unset() {
    let home = Home::new().var("DOCKER_HOST", "");
    assert_eq!(home.addresses().first(), Some(&home.socket("var/run/docker.sock")));
}

#[test]
fn docker_context_is_looked_up_by_name_and_is_the_only_candidate() {
    let home = Home::new()
        .context("aaa", "else", "unix:///else.sock")
        .context("bbb", "mine", "unix:///mine.sock")
        .var("DOCKER_CONTEXT", "mine");
    let candidates = home.candidates().unwrap();
    assert_eq!(candidates.len(), 1);
    assert_eq!(candidates[0].address, Address::Unix("/mine.sock".into()));
    assert_eq!(candidates[0].origin, "DOCKER_CONTEXT=mine");
}

#[test]
fn the_current_context_comes_before_the_usual_sockets() {
    let home = Home::new()
        .file("home/.docker/config.json", r#"{"auths":{},"currentContext":"colima"}"#)
        .context("ccc", "colima", "unix:///colima.sock");
    let addresses = home.addresses();
    assert_eq!(addresses[0], "unix:///colima.sock");
    assert_eq!(addresses[1], home.socket("var/run/docker.sock"));
}

#[test]
fn docker_config_moves_the_configuration() {
    let home = Home::new();
    let config = home.dir.path().join("elsewhere");
    let home = home
        .file("elsewhere/config.json", r#"{"currentContext":"c"}"#)
        .file(
            "elsewhere/contexts/meta/x/meta.json",
            r#"{"Name":"c","Endpoints":{"docker":{"Host":"tcp://h:1"}}}"#,
        )
        .var("DOCKER_CONFIG", config.to_str().unwrap());
    assert_eq!(home.addresses()[0], "tcp://h:1");
}

#[test]
fn the_context_default_means_the_usual_sockets() {
    let home = Home::new()
        .file("home/.docker/config.json", r#"{"currentContext":"colima"}"#)
        .context("ccc", "colima", "unix:///colima.sock")
        .var("DOCKER_CONTEXT", "default");
    assert_eq!(home.addresses()[0], home.socket("var/run/docker.sock"));
}

#[test]
fn a_context_that_does_not_exist_is_an_error_that_names_it() {
    let home = Home::new().context("a", "else", "unix:///x").var("DOCKER_CONTEXT", "gone");
    let text = home.candidates().unwrap_err().to_string();
    assert!(text.contains("there is no Docker context \"gone\""), "{text}");
}

#[test]
fn a_broken_configuration_is_an_error_that_names_the_file() {
    let home = Home::new().file("home/.docker/config.json", "{");
    let text = home.candidates().unwrap_err().to_string();
    assert!(text.contains("config.json"), "{text}");
}

#[test]
fn the_usual_sockets_cover_desktop_colima_podman_and_rootless() {
    let home = Home::new();
    let addresses = home.addresses();
    for path in [
        "var/run/docker.sock",
        "run/podman/podman.sock",
        "home/.docker/run/docker.sock",
        "home/.docker/desktop/docker.sock",
        "home/.colima/default/docker.sock",
        "home/.orbstack/run/docker.sock",
        "home/.rd/docker.sock",
        "run/user/1000/docker.sock",
        "run/user/1000/podman/podman.sock",
    ] {
        assert!(addresses.contains(&home.socket(path)), "{path} is missing from {addresses:?}");
    }
}

#[test]
fn xdg_runtime_dir_goes_before_run_user() {
    let home = Home::new().var("XDG_RUNTIME_DIR", "/xdg");
    assert!(home.addresses().contains(&"unix:///xdg/docker.sock".to_owned()));
}

#[test]
fn addresses_of_ways_that_are_not_spoken_say_why() {
    for (url, word) in [
        ("ssh://me@host", "ssh is not supported"),
        ("npipe:////./pipe/docker_engine", "WSL 2"),
        ("https://host:2376", "TLS is not supported"),
        ("/var/run/docker.sock", "write unix:///path"),
        ("unix://", "names no socket"),
        ("tcp://", "names no host"),
    ] {
        match Address::parse(url) {
            Address::Unsupported { url: kept, reason } => {
                assert_eq!(kept, url);
                assert!(reason.contains(word), "{url}: {reason}");
            }
            other => panic!("{url} was taken as {other:?}"),
        }
    }
}

#[test]
fn tls_by_environment_is_refused_rather_than_spoken_in_the_clear() {
    let home = Home::new().var("DOCKER_HOST", "tcp://h:2376").var("DOCKER_TLS_VERIFY", "1");
    assert!(matches!(home.candidates().unwrap()[0].address, Address::Unsupported { .. }));
}
