//! Where parameters come from.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::*;

fn environment(home: &Path, variables: &[(&str, &str)]) -> Environment {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Environment::new(variables, Some(home.to_owned()), Some("me".to_owned()))
}

fn refused(environment: &Environment, conninfo: &str) -> String {
    environment.complete(conninfo).err().unwrap_or_else(|| panic!("{conninfo}")).to_string()
}

#[test]
fn the_string_wins_over_its_service_and_that_over_the_variables() {
    let home = tempfile::tempdir().unwrap();
    let services =
        "# comment\n[other]\nhost=wrong\n\n[mine]\nhost=service\nport=1\nuser=service\n[late]\nuser=x\n";
    fs::write(home.path().join(".pg_service.conf"), services).unwrap();
    let variables =
        [("PGUSER", "variable"), ("PGDATABASE", "variable"), ("PGPORT", ""), ("PGSSLMODE", "require")];
    let environment = environment(home.path(), &variables);
    let parameters = environment.complete("service=mine host=string").unwrap();
    let values =
        ["host", "port", "user", "dbname", "sslmode"].map(|name| parameters.get(name).unwrap_or("-"));
    assert_eq!(values, ["string", "1", "service", "variable", "require"]);
}

#[test]
fn a_service_is_looked_for_in_the_users_file_and_then_in_that_for_all() {
    let home = tempfile::tempdir().unwrap();
    let all = home.path().join("pg_service.conf");
    fs::write(&all, "[all]\nhost=everyone\n").unwrap();
    let directory = home.path().to_str().unwrap();
    let variables = [("PGSYSCONFDIR", directory), ("PGSERVICE", "all")];
    let environment_of_all = environment(home.path(), &variables);
    assert_eq!(environment_of_all.complete("").unwrap().get("host"), Some("everyone"));

    let missing = refused(&environment_of_all, "service=none");
    assert!(
        missing.contains(r#"no service "none" in "#) && missing.contains(".pg_service.conf or "),
        "{missing}"
    );
    let named = [("PGSERVICEFILE", "/nowhere/services"), ("PGSYSCONFDIR", directory)];
    let unread = refused(&environment(home.path(), &named), "service=all");
    assert!(unread.contains("/nowhere/services cannot be read"), "{unread}");
}

#[test]
fn a_service_files_mistakes_are_told_with_their_line() {
    let home = tempfile::tempdir().unwrap();
    let environment = environment(home.path(), &[("PGSYSCONFDIR", "/nowhere")]);
    for (text, expected) in [
        ("[s]\nhosts=a\n", "line 2: there is no such connection parameter"),
        ("[s]\n\nhost\n", "line 3: a parameter is written name=value"),
        ("[s]\nservice=t\n", "line 2: a service does not name another"),
        ("[s]\nldap://server/\n", "line 2: parameters from LDAP"),
    ] {
        fs::write(home.path().join(".pg_service.conf"), text).unwrap();
        let message = refused(&environment, "service=s");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_would_have_no_effect_is_refused_by_the_name_it_was_given_by() {
    let home = tempfile::tempdir().unwrap();
    let nothing = environment(home.path(), &[]);
    for (conninfo, expected) in [
        ("require_auth=scram-sha-256", "connection parameter require_auth is not supported here"),
        ("sslcrl=x", "connection parameter sslcrl is not supported"),
        ("gssencmode=require", "connection parameter gssencmode: only disable, prefer can be had here"),
        ("client_encoding=LATIN1", "connection parameter client_encoding: only UTF8"),
        ("replication=true", "connection parameter replication: only"),
    ] {
        let message = refused(&nothing, conninfo);
        assert!(message.contains(expected), "{message}");
    }
    let message = refused(&environment(home.path(), &[("PGREQUIREPEER", "postgres")]), "");
    assert!(message.contains("environment variable PGREQUIREPEER is not supported"), "{message}");
    assert!(nothing.complete("gssencmode=prefer client_encoding=auto requirepeer=''").is_ok());
}
