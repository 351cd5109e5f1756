//! `pg_service.conf`

use std::io;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::error::ConninfoError;
use super::keyword::keyword;
use super::parameters::Parameters;

/// Where distributors of libpq have the file that is for all users: Debian, Red Hat.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/etc/postgresql-common", "/etc/sysconfig/pgsql"];

/// The parameters of a service: of the user's own file, or of that for all users.
pub(super) fn find(
    name: &str,
    given: Option<PathBuf>,
    environment: &Environment,
) -> Result<Parameters, ConninfoError> {
    let variable = |name: &str| environment.variable(name).map(PathBuf::from);
    let named = given.or_else(|| variable("PGSERVICEFILE"));
    let has_to_be_there = named.is_some();
    let own = named.or_else(|| environment.at_home(".pg_service.conf"));
    let system = match variable("PGSYSCONFDIR") {
        Some(directory) => vec![directory],
        None => SYSTEM_DIRECTORIES.map(PathBuf::from).to_vec(),
    };
    let system = system.into_iter().map(|directory| directory.join("pg_service.conf"));
    let own_files = own.iter().cloned().map(|path| (path, has_to_be_there));
    let mut searched = Vec::new();
    for (path, has_to_be_there) in own_files.chain(system.map(|path| (path, false))) {
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                if let Some(parameters) = section(&text, name, &path)? {
                    return Ok(parameters);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !has_to_be_there => {}
            Err(source) => return Err(ConninfoError::Read { parameter: "service", path, source }),
        }
        searched.push(path);
    }
    Err(ConninfoError::NoService { name: name.to_owned(), searched })
}

/// The first section of that name.
fn section(text: &str, name: &str, path: &Path) -> Result<Option<Parameters>, ConninfoError> {
    let mut found: Option<Parameters> = None;
    for (line, at) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            found = (rest.split(']').next() == Some(name)).then(Parameters::default);
            continue;
        }
        let Some(parameters) = &mut found else { continue };
        let wrong = |what: &str| ConninfoError::ServiceFile {
            path: path.to_owned(),
            line: at,
            what: what.to_owned(),
        };
        if line.starts_with("ldap") {
            return Err(wrong("parameters from LDAP are not supported here"));
        }
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("a parameter is written name=value"))?;
        match keyword(key) {
            Some(keyword) if matches!(keyword.name, "service" | "servicefile") => {
                return Err(wrong("a service does not name another"));
            }
            // The first wins, as what is given already does.
            Some(keyword) if parameters.get(keyword.name).is_none() => {
                parameters.set(keyword.name, value.to_owned());
            }
            Some(_) => {}
            None => return Err(wrong("there is no such connection parameter")),
        }
    }
    Ok(found)
}
