//! The files of a server: `postgresql.conf`, `pg_hba.conf`, the password file.

use std::fmt::Write as _;

use crate::docker::UploadFile;
use crate::image::ServerImage;
use crate::profile::Settings;
use crate::store::Role;

/// Where the files are in a node.
const DIR: &str = "/var/lib/stall-lab";

/// Port of every server in its container.
pub(super) const PORT: u16 = 5432;

/// Directory of the server's Unix socket.
pub(super) const SOCKET_DIR: &str = "/tmp";

/// The node's `postgresql.conf`.
pub(super) fn config_file() -> String {
    format!("{DIR}/postgresql.conf")
}

/// What the files of a node are made from; it holds the password, so it is shown nowhere.
pub(super) struct Config<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// What it is.
    pub role: Role,
    /// Host name of the primary.
    pub primary: &'a str,
    /// The profile's settings of this node.
    pub settings: &'a Settings,
    /// Password of the role `postgres`.
    pub password: &'a str,
}

impl Config<'_> {
    /// The files, owned by the image's postgres user and readable by nobody else.
    pub(super) fn files(&self, image: &ServerImage) -> Vec<UploadFile> {
        let file = |name: &str, text: String| UploadFile {
            path: format!("{DIR}/{name}"),
            mode: 0o600,
            uid: image.uid,
            gid: image.gid,
            bytes: text.into_bytes(),
        };
        let mut files =
            vec![file("postgresql.conf", self.postgresql_conf()), file("pg_hba.conf", pg_hba_conf())];
        if self.role == Role::Standby {
            files.push(file("pgpass", format!("*:*:*:postgres:{}\n", self.password)));
        }
        files
    }

    /// The profile's settings, then the lab's own, which win.
    fn postgresql_conf(&self) -> String {
        let mut conf = String::new();
        let mut set = |name: &str, value: &str| {
            // Writing to a String does not fail.
            let _ = writeln!(conf, "{name} = {}", quoted(value));
        };
        // Enough for a standby; a profile may ask for more.
        set("wal_level", "replica");
        for (name, value) in self.settings {
            set(name, value);
        }
        for (name, value) in [
            ("listen_addresses", "*"),
            ("port", "5432"),
            ("unix_socket_directories", SOCKET_DIR),
            ("hba_file", &format!("{DIR}/pg_hba.conf")),
            ("cluster_name", self.node),
            ("hot_standby", "on"),
            // To the container's log, in words the lab can look for.
            ("log_destination", "stderr"),
            ("logging_collector", "off"),
            ("log_line_prefix", "%m [%p] %b: "),
            ("lc_messages", "C"),
            ("log_checkpoints", "on"),
            ("log_recovery_conflict_waits", "on"),
        ] {
            set(name, value);
        }
        if self.role == Role::Standby {
            let conninfo = format!(
                "host={} port={PORT} user=postgres application_name={} passfile={DIR}/pgpass",
                self.primary, self.node
            );
            set("primary_conninfo", &conninfo);
        }
        conf
    }
}

/// A value as `postgresql.conf` wants it: in quotes, with quotes doubled and backslashes escaped.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

/// Without a password only over the socket, which nobody outside the container reaches.
fn pg_hba_conf() -> String {
    "local all         all           trust\n\
     host  all         all all       scram-sha-256\n\
     host  replication postgres all  scram-sha-256\n"
        .to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn conf(role: Role, settings: &Settings) -> String {
        Config { node: "standby", role, primary: "primary", settings, password: "sesame" }.postgresql_conf()
    }

    #[test]
    fn a_hostile_value_is_data() {
        let settings = Settings::from([("search_path".to_owned(), "'; $(reboot) \\'".to_owned())]);
        let conf = conf(Role::Primary, &settings);
        assert_eq!(conf.lines().nth(1), Some(r"search_path = '''; $(reboot) \\'''"));
    }

    #[test]
    fn the_labs_own_settings_come_last_and_so_win() {
        let settings = Settings::from([("port".to_owned(), "1".to_owned())]);
        let conf = conf(Role::Primary, &settings);
        assert!(conf.rfind("port = '5432'") > conf.rfind("port = '1'"), "{conf}");
    }

    #[test]
    fn a_standby_knows_its_primary_and_its_password_stands_in_its_password_file_alone() {
        let conf = conf(Role::Standby, &Settings::new());
        assert!(conf.contains("application_name=standby passfile=/var/lib/stall-lab/pgpass"), "{conf}");
        assert!(!conf.contains("sesame"));
        assert!(!self::conf(Role::Primary, &Settings::new()).contains("primary_conninfo"));
    }
}
