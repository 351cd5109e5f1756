#![allow(clippy::unwrap_used)]
use super::*;

/// What is set, in the order of the names; none where the text is refused.
fn parsed(text: &str, names: &[&str]) -> Option<Vec<String>> {
    let parameters = parse(text).ok()?;
    Some(names.iter().map(|name| parameters.get(name).unwrap_or("-").to_owned()).collect())
}

#[test]
fn pairs_may_be_quoted_escaped_and_spaced() {
    let names = ["host", "user", "password", "dbname", "port"];
    for (text, expected) in [
        ("host=a user=b", ["a", "b", "-", "-", "-"]),
        ("  host = a\tuser\n=\nb  ", ["a", "b", "-", "-", "-"]),
        (r"password='it\'s a \\secret' host=a", ["a", "-", r"it's a \secret", "-", "-"]),
        (r"password=a\ b", ["-", "-", "a b", "-", "-"]),
        ("host='' dbname=''", ["-"; 5]),
        ("host=a host=b", ["b", "-", "-", "-", "-"]),
        ("", ["-"; 5]),
    ] {
        assert_eq!(parsed(text, &names).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_uri_names_user_hosts_ports_database_and_parameters() {
    let names = ["user", "password", "host", "port", "dbname", "sslmode"];
    for (text, expected) in [
        ("postgresql://", ["-"; 6]),
        ("postgres://localhost", ["-", "-", "localhost", "-", "-", "-"]),
        ("postgresql://u:p@h:5433/d?sslmode=require", ["u", "p", "h", "5433", "d", "require"]),
        ("postgresql://u@h1:1,h2,[2001:db8::1]:3/", ["u", "-", "h1,h2,2001:db8::1", "1,,3", "-", "-"]),
        ("postgresql://u%40x:p%2F%3A%25@%2Fvar%2Frun/d", ["u@x", "p/:%", "/var/run", "-", "d", "-"]),
        ("postgresql:///d?host=h&port=1&user=u", ["u", "-", "h", "1", "d", "-"]),
        ("postgresql://h?ssl=true", ["-", "-", "h", "-", "-", "require"]),
        ("postgresql://:p@", ["-", "p", "-", "-", "-", "-"]),
    ] {
        assert_eq!(parsed(text, &names).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_by_its_place_and_never_repeated() {
    for (text, expected) in [
        ("mydb", "not a connection string at character 1: a parameter is written name=value"),
        ("password=two secrets host=a", "not a connection string at character 14: a parameter"),
        ("password=two secrets=3", "no connection parameter such as that at character 14"),
        ("host=a password='secrets", "not a connection string at character 17: the quote"),
        ("sslmod=require", "at character 1; did you mean sslmode?"),
        (
            "postgresql://u:two@secrets@h/d",
            "at character 20: an @ stands behind the host: in a user or a password write %40",
        ),
        ("postgresql://u:two/secrets@h/d", "an @ stands behind the host"),
        ("postgresql://u:secrets%2@h", "at character 16: a % is followed by two hexadecimal digits"),
        ("postgresql://u:secrets%00@h", "a % is followed by"),
        ("postgresql://[::1/d", "the [ of an IPv6 address is not closed"),
        ("postgresql://[::1]5/d", "a host is followed by a port"),
        ("postgresql://h/d?secrets", "at character 18: what follows the ? is written name=value"),
        ("postgresql://h/d?port=1&secrets=1", "such as that at character 25"),
    ] {
        let message = parse(text).err().unwrap_or_else(|| panic!("{text}")).to_string();
        assert!(message.contains(expected), "{text}: {message}");
        assert!(!message.contains("secrets"), "{message}");
    }
}
