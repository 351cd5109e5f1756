//! A primary and a streaming standby that were set up by hand: see `servers.sh`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use stall_lab::image::ServerImage;

const SCRIPT: &str = include_str!("servers.sh");

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    Primary,
    Standby,
}

/// Both servers, which are stopped and removed when this is dropped.
pub struct Servers {
    home: tempfile::TempDir,
    place: Place,
    primary_port: u16,
    standby_port: u16,
}

enum Place {
    /// Processes of this host, of the PostgreSQL in this directory.
    Host { bindir: PathBuf, dir: PathBuf },
    /// Processes in a container of this name.
    Container { name: String },
}

/// Ports in a container, and where its servers are.
const CONTAINER: (u16, u16, &str) = (5432, 5433, "/tmp/servers");

impl Servers {
    /// Of the PostgreSQL that the host has from its packages. None where it has none and tests may be skipped for it,
    /// which is said.
    pub fn of_host() -> Option<Self> {
        let Some(bindir) = host_bindir() else {
            skip("STALL_LAB_REQUIRE_POSTGRES", "no PostgreSQL in /usr/lib/postgresql");
            return None;
        };
        let home = home();
        let dir = home.path().join("servers");
        fs::create_dir(&dir).unwrap();
        certificates(&dir.join("certs"));
        let (primary_port, standby_port) = (free_port(), free_port());
        if is_root() {
            run(Command::new("chown").args(["-R", "postgres"]).arg(&dir));
            // The way to it, for the user that the servers run as.
            fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut script = as_postgres(&["sh", "-s", "--"]);
        script.arg(&bindir).arg(&dir).args([primary_port, standby_port].map(|port| port.to_string()));
        let place = Place::Host { bindir, dir };
        let servers = Self { home, place, primary_port, standby_port };
        feed(&mut script, SCRIPT);
        Some(servers)
    }

    /// In a container of an image that the lab has built. None where there is no `docker` command and tests may be skipped
    /// for it, which is said.
    pub fn in_container(image: &ServerImage) -> Option<Self> {
        if Command::new("docker").arg("version").output().is_err() {
            skip("STALL_LAB_REQUIRE_DOCKER", "there is no docker command");
            return None;
        }
        let (image, bindir) = (&image.reference, &image.bindir);
        let home = home();
        let certs = home.path().join("certs");
        certificates(&certs);
        let name = format!("stall-lab-test-servers-{}", std::process::id());
        let (primary, standby, dir) = CONTAINER;
        let mut docker = Command::new("docker");
        docker.args(["run", "-d", "--rm", "--name", &name, "--label", "org.stall-lab.test=servers"]);
        docker.args(["-p", &format!("127.0.0.1::{primary}"), "-p", &format!("127.0.0.1::{standby}")]);
        docker.args(["--entrypoint", "sleep", image, "3600"]);
        run(&mut docker);
        let place = Place::Container { name: name.clone() };
        let mut servers = Self { home, place, primary_port: 0, standby_port: 0 };
        exec(&name, "root", &["mkdir", dir]);
        run(Command::new("docker").arg("cp").arg(&certs).arg(format!("{name}:{dir}/certs")));
        exec(&name, "root", &["chown", "-R", "postgres", dir]);
        let mut script = Command::new("docker");
        script.args(["exec", "-i", "-u", "postgres", &name, "sh", "-s", "--", bindir, dir]);
        script.args([primary, standby].map(|port| port.to_string()));
        feed(&mut script, SCRIPT);
        let published = |port: u16| -> u16 {
            let output = run(Command::new("docker").args(["port", &name, &port.to_string()]));
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().next().unwrap().rsplit(':').next().unwrap().parse().unwrap()
        };
        (servers.primary_port, servers.standby_port) = (published(primary), published(standby));
        Some(servers)
    }

    /// A folder that a client takes for its home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The certificate that those of both servers go back to.
    pub fn root_certificate(&self) -> PathBuf {
        self.home.path().join("root.crt")
    }

    /// The port on 127.0.0.1 and localhost.
    pub fn port(&self, node: Node) -> u16 {
        match node {
            Node::Primary => self.primary_port,
            Node::Standby => self.standby_port,
        }
    }

    /// How an administrator would write the connection of this role: everything checked, the password elsewhere.
    pub fn conninfo(&self, node: Node, user: &str) -> String {
        format!(
            "host=localhost port={} user={user} dbname=postgres sslmode=verify-full sslrootcert={}",
            self.port(node),
            self.root_certificate().display()
        )
    }

    /// Writes the passwords of all roles where libpq looks for them.
    pub fn write_pgpass(&self) {
        let path = self.home.path().join(".pgpass");
        let roles = ["monitor", "plain"].map(|role| format!("*:*:*:{role}:{role}-secret\n"));
        fs::write(&path, roles.concat()).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Runs SQL as the superuser, over the server's socket; what it prints.
    pub fn sql(&self, node: Node, sql: &str) -> String {
        let psql = ["-XqAt", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-c", sql, "postgres", "-h"];
        let output = match &self.place {
            Place::Host { bindir, dir } => {
                let mut command = Command::new(bindir.join("psql"));
                run(command.args(psql).arg(dir).args(["-p", &self.port(node).to_string()]))
            }
            Place::Container { name } => {
                let (primary, standby, dir) = CONTAINER;
                let port = if node == Node::Primary { primary } else { standby }.to_string();
                let psql: Vec<&str> = ["psql"].into_iter().chain(psql).chain([dir, "-p", &port]).collect();
                exec(name, "postgres", &psql)
            }
        };
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Gives the primary another certificate and key, in PEM. It is the server that writes the files, so they are its own.
    pub fn replace_certificate(&self, certificate: &[u8], key: &[u8]) {
        let dir = match &self.place {
            Place::Host { dir, .. } => dir.to_str().unwrap(),
            Place::Container { .. } => CONTAINER.2,
        };
        for (name, pem) in [("server.crt", certificate), ("server.key", key)] {
            // In base64 nothing needs an escape. A file that is there keeps its permissions.
            let lines = String::from_utf8(pem.to_vec()).unwrap();
            self.sql(
                Node::Primary,
                &format!("COPY (SELECT string_to_table('{}', chr(10))) TO '{dir}/{name}'", lines.trim()),
            );
        }
        self.sql(Node::Primary, "SELECT pg_reload_conf()");
    }

    /// Changes a setting and waits until the server shows it.
    pub fn set(&self, node: Node, setting: &str, value: &str) {
        self.sql(node, &format!("ALTER SYSTEM SET {setting} = '{value}'"));
        self.sql(node, "SELECT pg_reload_conf()");
        self.wait_for(node, &format!("SELECT current_setting('{setting}')"), value);
    }

    /// Starts a program of PostgreSQL's as a client of the primary; of servers of this host alone.
    pub fn client(&self, program: &str, args: &[&str]) -> Child {
        let (bindir, dir) = self.host();
        let mut command = Command::new(bindir.join(program));
        command.args(["-h".as_ref(), dir.as_os_str()]).args(["-p", &self.primary_port.to_string(), "-U"]);
        command.args(["postgres"]).args(args).arg("postgres").current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Sends a signal to the standby's walreceiver; of servers of this host alone.
    pub fn signal_walreceiver(&self, signal: &str) {
        let pid = self.sql(Node::Standby, "SELECT pid FROM pg_stat_get_wal_receiver()");
        run(Command::new("kill").args([signal, &pid]));
    }

    /// Restarts a server, as an administrator would; of servers of this host alone.
    pub fn restart(&self, node: Node) {
        let (bindir, dir) = self.host();
        let name = if node == Node::Primary { "primary" } else { "standby" };
        let mut restart = as_postgres(&[]);
        restart.arg(bindir.join("pg_ctl")).args(["-m", "fast", "-w", "-s", "restart", "-D"]);
        let log = dir.join(format!("{name}.log"));
        // It was started from there, and by a relative path.
        restart.arg(dir.join(name)).arg("-l").arg(&log).current_dir(dir);
        // The server outlives this and keeps what it is given to write to.
        let status =
            restart.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{restart:?}: {}", fs::read_to_string(log).unwrap());
    }

    fn host(&self) -> (&Path, &Path) {
        match &self.place {
            Place::Host { bindir, dir } => (bindir, dir),
            Place::Container { .. } => panic!("these servers are in a container"),
        }
    }

    /// Waits until a query gives this.
    pub fn wait_for(&self, node: Node, sql: &str, expected: &str) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        loop {
            let found = self.sql(node, sql);
            if found == expected {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{sql}: {found}, not {expected}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        match &self.place {
            Place::Host { bindir, dir } => {
                for node in ["standby", "primary"] {
                    let mut stop = as_postgres(&[]);
                    stop.arg(bindir.join("pg_ctl")).args(["-m", "immediate", "-w", "-s", "stop", "-D"]);
                    // One that was never started cannot be stopped.
                    let _ = stop.arg(dir.join(node)).output();
                }
            }
            Place::Container { name } => {
                let _ = Command::new("docker").args(["rm", "-f", name]).output();
            }
        }
    }
}

/// The newest PostgreSQL of Debian's packages.
fn host_bindir() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let bindir = |entry: fs::DirEntry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let bindir = entry.path().join("bin");
        bindir.join("initdb").exists().then_some((version, bindir))
    };
    Some(versions.filter_map(bindir).max()?.1)
}

fn skip(required_by: &str, why: &str) {
    assert!(std::env::var_os(required_by).is_none(), "{why}");
    eprintln!("SKIPPED: {why}");
}

/// A root certificate in the home folder, and a server's for localhost alone, so that 127.0.0.1 has a wrong name.
fn certificates(dir: &Path) {
    fs::create_dir(dir).unwrap();
    let home = dir.ancestors().find(|dir| dir.join(".home").exists()).unwrap();
    let (root, key) = (home.join("root.crt"), dir.join("root.key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl.args(["-days", "2", "-subj", "/CN=root", "-keyout"]).arg(&key).arg("-out").arg(&root);
    run(&mut openssl);
    let (certificate, own_key) = (dir.join("server.crt"), dir.join("server.key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl.args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE", "-CA"]).arg(&root).arg("-CAkey").arg(&key);
    openssl.arg("-keyout").arg(&own_key).arg("-out").arg(&certificate);
    run(&mut openssl);
    fs::remove_file(key).unwrap();
    // Copied by whom the servers run as, who may be another.
    for path in [&certificate, &own_key] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
}

fn home() -> tempfile::TempDir {
    let home = tempfile::Builder::new().prefix("stall-lab-servers-").tempdir_in("/tmp").unwrap();
    fs::write(home.path().join(".home"), "").unwrap();
    home
}

fn is_root() -> bool {
    run(Command::new("id").arg("-u")).stdout.trim_ascii() == b"0"
}

/// A server does not run as root.
fn as_postgres(command: &[&str]) -> Command {
    let prefix: &[&str] = if is_root() { &["runuser", "-u", "postgres", "--"] } else { &["env"] };
    let mut words = prefix.iter().chain(command);
    let mut as_postgres = Command::new(words.next().unwrap());
    as_postgres.args(words);
    as_postgres
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn exec(container: &str, user: &str, command: &[&str]) -> Output {
    run(Command::new("docker").args(["exec", "-u", user, container]).args(command))
}

pub fn run(command: &mut Command) -> Output {
    let output = command.current_dir("/").output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Runs a command that reads this. What it starts may outlive it, so its output goes to files, not to pipes.
fn feed(command: &mut Command, input: &str) {
    use std::io::{Seek as _, Write as _};
    let mut script = tempfile::tempfile().unwrap();
    script.write_all(input.as_bytes()).unwrap();
    script.rewind().unwrap();
    let errors = tempfile::NamedTempFile::new().unwrap();
    command.stdin(script).stdout(Stdio::null()).stderr(errors.reopen().unwrap());
    let status = command.current_dir("/").status().unwrap();
    assert!(status.success(), "{command:?}: {}", fs::read_to_string(errors.path()).unwrap());
}
