#![allow(clippy::unwrap_used)]
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tokio::net::TcpListener;

use super::*;

fn environment(home: &Path, variables: &[(&str, &str)]) -> Environment {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Environment::new(variables, Some(home.to_owned()), Some("me".to_owned()))
}

fn server(conninfo: &str) -> Result<Server, ConninfoError> {
    let home = tempfile::tempdir().unwrap();
    Server::new("primary", conninfo, &environment(home.path(), &[]))
}

#[test]
fn hosts_addresses_and_ports_go_together() {
    for (conninfo, place) in [
        ("host=a", "a:5432"),
        ("host=a,b port=1,2", "a:1, b:2"),
        ("host=a,b,c port=1", "a:1, b:1, c:1"),
        ("host=a,b port=,2", "a:5432, b:2"),
        ("hostaddr=10.0.0.1", "10.0.0.1:5432"),
        ("host=a hostaddr=::1", "a:5432"),
        ("host=/run/x,b", "/run/x/.s.PGSQL.5432, b:5432"),
        ("host=::1", "[::1]:5432"),
    ] {
        assert_eq!(server(conninfo).unwrap().place(), place, "{conninfo}");
    }
    for (conninfo, message) in [
        ("host=a,b port=1,2,3", "port: there is one for all hosts, or one for each"),
        ("host=a hostaddr=1.1.1.1,2.2.2.2", "hostaddr: there are as many as there are hosts"),
        ("host=a port=0", "port: it is a number from 1 to 65535"),
        ("hostaddr=db.example", "hostaddr: it is an IP address"),
        ("host=@abstract", "host: abstract sockets are not supported here"),
        ("connect_timeout=soon", "connect_timeout: it is a whole number"),
        ("target_session_attrs=master", "target_session_attrs: it is one of any, read-write"),
        ("sslmode=on", "sslmode: it is one of disable, allow, prefer, require, verify-ca, verify-full"),
        ("sslmode=verify-ca", "sslmode: verify-ca and verify-full need a root certificate"),
        ("sslmode=require sslrootcert=system", "sslmode: sslrootcert=system goes with verify-full alone"),
        ("sslnegotiation=direct", "sslmode: sslnegotiation=direct goes with require"),
        (
            "sslmode=verify-full sslrootcert=/nowhere/root.crt",
            "sslrootcert: /nowhere/root.crt cannot be read",
        ),
    ] {
        assert_eq!(server(conninfo).unwrap_err().to_string().find(message), Some(0), "{conninfo}");
    }
}

#[test]
fn the_user_and_its_database_are_those_of_the_operating_system_unless_said() {
    let unsaid = server("").unwrap();
    assert_eq!((unsaid.config.get_user(), unsaid.config.get_dbname()), (Some("me"), Some("me")));
    let said = server("user=monitor").unwrap();
    assert_eq!((said.config.get_user(), said.config.get_dbname()), (Some("monitor"), Some("monitor")));
    let nobody = Environment::new([], None, None);
    assert!(Server::new("primary", "", &nobody).unwrap_err().to_string().starts_with("user: "));
}

#[test]
fn each_host_has_its_own_password_from_the_file_and_one_that_is_given_is_for_all() {
    let home = tempfile::tempdir().unwrap();
    let pgpass = home.path().join(".pgpass");
    fs::write(&pgpass, "a:*:*:me:of-a\nb:2:me:me:of-b\nlocalhost:*:*:me:of-socket\n").unwrap();
    fs::set_permissions(&pgpass, fs::Permissions::from_mode(0o600)).unwrap();
    let passwords = |conninfo: &str, variables: &[(&str, &str)]| -> Vec<Option<String>> {
        let server = Server::new("primary", conninfo, &environment(home.path(), variables)).unwrap();
        assert!(!format!("{server:?}").contains("of-"), "{server:?}");
        server.hosts.into_iter().map(|host| host.password).collect()
    };
    let some = |password: &str| Some(password.to_owned());
    assert_eq!(
        passwords("host=a,b,c,/tmp port=2", &[]),
        [some("of-a"), some("of-b"), None, some("of-socket")]
    );
    assert_eq!(
        passwords("host=a,b password=of-string", &[("PGPASSWORD", "x")]),
        [some("of-string"), some("of-string")]
    );
    assert_eq!(passwords("host=a", &[("PGPASSWORD", "of-variable")]), [some("of-variable")]);
    assert_eq!(passwords("host=a", &[("PGPASSFILE", "/nowhere")]), [None]);

    fs::set_permissions(&pgpass, fs::Permissions::from_mode(0o644)).unwrap();
    let open = Server::new("primary", "host=a", &environment(home.path(), &[])).unwrap();
    assert_eq!((open.hosts[0].password.clone(), open.warnings().len()), (None, 1));
}

#[test]
fn a_key_that_others_may_read_is_refused_and_so_is_what_is_no_certificate() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("root.crt"), "no certificate").unwrap();
    let of = |conninfo: String| {
        Server::new("primary", &conninfo, &environment(home.path(), &[])).unwrap_err().to_string()
    };
    let root = of(format!("sslrootcert={}", path("root.crt").display()));
    assert!(
        root.starts_with("sslrootcert: ") && root.ends_with("there is no certificate in PEM in it"),
        "{root}"
    );

    let pem = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    fs::write(path("own.crt"), pem).unwrap();
    fs::write(path("own.key"), "secret").unwrap();
    fs::set_permissions(path("own.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let own = format!("sslcert={} sslkey={}", path("own.crt").display(), path("own.key").display());
    assert!(of(own.clone()).contains("others have access to it"));
    fs::set_permissions(path("own.key"), fs::Permissions::from_mode(0o600)).unwrap();
    let message = of(own);
    assert!(
        message.contains("no unencrypted private key in PEM") && !message.contains("secret"),
        "{message}"
    );
}

#[tokio::test]
async fn a_host_that_says_nothing_costs_its_share_of_the_time_and_the_next_is_tried() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let port = silent.local_addr().unwrap().port();
    let server = server(&format!("host=127.0.0.1,127.0.0.1 port={port},{closed} password=hunter2")).unwrap();
    let started = std::time::Instant::now();
    let message = server.connect(Some(Duration::from_millis(600)), None).await.unwrap_err().to_string();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(
        message.contains(&format!("127.0.0.1:{port}: no answer within 300ms; 127.0.0.1:{closed}: ")),
        "{message}"
    );
    assert!(message.contains("refused") && !message.contains("hunter2"), "{message}");
}
