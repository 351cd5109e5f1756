//! `.pgpass`

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What a password is for.
#[derive(Debug, Clone, Copy)]
pub(in crate::postgres) struct Account<'a> {
    /// Host name; `localhost` for a socket in the default directory.
    pub(in crate::postgres) host: &'a str,
    pub(in crate::postgres) port: u16,
    pub(in crate::postgres) dbname: &'a str,
    pub(in crate::postgres) user: &'a str,
}

/// The text of a password file that may be used; why it may not is told once, and then it is as if it were not there.
///
/// As libpq has it: a file that others may read is not used.
pub(in crate::postgres) fn read(path: &Path) -> Result<String, Option<String>> {
    let about = |what: &str| Some(format!("password file {}: {what}; it is not used", path.display()));
    let metadata = std::fs::metadata(path).map_err(|_| None)?;
    if !metadata.is_file() {
        return Err(about("it is not a plain file"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(about("others have access to it, its permissions should be u=rw (0600)"));
    }
    std::fs::read_to_string(path).map_err(|error| about(&error.to_string()))
}

/// The password of the first line that fits.
pub(in crate::postgres) fn password(text: &str, account: Account<'_>) -> Option<String> {
    let port = account.port.to_string();
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [host, given_port, dbname, user, password] = fields.as_slice() else { return None };
        let fits =
            [(host, account.host), (given_port, &port), (dbname, account.dbname), (user, account.user)]
                .iter()
                .all(|(field, value)| field.is_any || field.text == **value);
        fits.then(|| password.text.clone()).filter(|password| !password.is_empty())
    })
}

#[derive(Default)]
struct Field {
    text: String,
    /// It is a bare `*`.
    is_any: bool,
}

/// The fields of a line, which colons part; a backslash takes the next character as it is. The last one holds all
/// that is left.
fn fields(line: &str) -> Vec<Field> {
    let mut fields = vec![Field::default()];
    let mut raw_length = 0;
    let mut chars = line.trim_end_matches(['\r', '\n']).chars();
    while let Some(c) = chars.next() {
        let last = fields.len() - 1;
        match c {
            ':' if fields.len() < 5 => {
                fields[last].is_any = fields[last].text == "*" && raw_length == 1;
                fields.push(Field::default());
                raw_length = 0;
                continue;
            }
            '\\' => {
                raw_length += 1;
                fields[last].text.extend(chars.next());
            }
            c => fields[last].text.push(c),
        }
        raw_length += 1;
    }
    fields
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    const ACCOUNT: Account<'_> =
        Account { host: "db.example", port: 5432, dbname: "postgres", user: "monitor" };

    #[test]
    fn the_first_line_that_fits_gives_the_password() {
        let text = "# db.example:5432:postgres:monitor:comment\n\
                    other:5432:*:*:wrong\n\
                    db.example:5433:*:*:wrong\n\
                    short:line\n\
                    *:*:postgres:monitor:right\n\
                    *:*:*:*:late";
        assert_eq!(password(text, ACCOUNT).as_deref(), Some("right"));
        assert_eq!(password(text, Account { user: "x", ..ACCOUNT }).as_deref(), Some("late"));
        assert_eq!(password("", ACCOUNT), None);
    }

    #[test]
    fn colons_backslashes_and_stars_can_be_escaped() {
        let line = r"fe80\:\:1:*:a\\b:\*:pass\:wo\\rd:more";
        let account = Account { host: "fe80::1", port: 1, dbname: r"a\b", user: "*" };
        assert_eq!(password(line, account).as_deref(), Some(r"pass:wo\rd:more"));
        assert_eq!(password(line, Account { user: "anybody", ..account }), None);
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used_and_that_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".pgpass");
        assert_eq!(read(&path), Err(None));
        fs::write(&path, "*:*:*:*:secret").unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let warning = read(&path).unwrap_err().unwrap();
            assert!(warning.contains("0600") && !warning.contains("secret"), "{warning}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read(&path).unwrap(), "*:*:*:*:secret");
        assert!(read(directory.path()).unwrap_err().unwrap().contains("plain file"));
    }
}
