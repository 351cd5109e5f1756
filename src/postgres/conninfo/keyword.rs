//! The connection parameters that libpq knows, and what becomes of each here.

/// What becomes of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handling {
    /// It is used.
    Used,
    /// These values ask for what happens anyway; any other is refused.
    OnlyAs(&'static [&'static str]),
    /// It is refused, whatever its value.
    Refused,
}

/// A connection parameter.
#[derive(Debug)]
pub(super) struct Keyword {
    /// As in a connection string.
    pub(super) name: &'static str,
    /// The environment variable that stands in for it.
    pub(super) variable: Option<&'static str>,
    /// What becomes of it.
    pub(super) handling: Handling,
}

const fn used(name: &'static str, variable: Option<&'static str>) -> Keyword {
    Keyword { name, variable, handling: Handling::Used }
}

const fn only(
    name: &'static str,
    variable: Option<&'static str>,
    values: &'static [&'static str],
) -> Keyword {
    Keyword { name, variable, handling: Handling::OnlyAs(values) }
}

const fn refused(name: &'static str, variable: Option<&'static str>) -> Keyword {
    Keyword { name, variable, handling: Handling::Refused }
}

/// Those of libpq up to PostgreSQL 19 (`PQconninfoOptions` in `fe-connect.c`).
pub(super) const KEYWORDS: &[Keyword] = &[
    used("service", Some("PGSERVICE")),
    used("servicefile", Some("PGSERVICEFILE")),
    used("user", Some("PGUSER")),
    used("password", Some("PGPASSWORD")),
    used("passfile", Some("PGPASSFILE")),
    used("channel_binding", Some("PGCHANNELBINDING")),
    used("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    used("dbname", Some("PGDATABASE")),
    used("host", Some("PGHOST")),
    used("hostaddr", Some("PGHOSTADDR")),
    used("port", Some("PGPORT")),
    used("options", Some("PGOPTIONS")),
    used("application_name", Some("PGAPPNAME")),
    used("fallback_application_name", None),
    used("keepalives", None),
    used("keepalives_idle", None),
    used("keepalives_interval", None),
    used("keepalives_count", None),
    used("tcp_user_timeout", None),
    used("sslmode", Some("PGSSLMODE")),
    used("sslnegotiation", Some("PGSSLNEGOTIATION")),
    used("sslcert", Some("PGSSLCERT")),
    used("sslkey", Some("PGSSLKEY")),
    used("sslrootcert", Some("PGSSLROOTCERT")),
    used("sslsni", Some("PGSSLSNI")),
    used("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    only("client_encoding", Some("PGCLIENTENCODING"), &["UTF8", "utf8", "UTF-8", "utf-8", "auto", "UNICODE"]),
    only("sslcertmode", Some("PGSSLCERTMODE"), &["allow"]),
    only("sslcompression", Some("PGSSLCOMPRESSION"), &["0"]),
    only("ssl_min_protocol_version", Some("PGSSLMINPROTOCOLVERSION"), &["TLSv1", "TLSv1.1", "TLSv1.2"]),
    only("ssl_max_protocol_version", Some("PGSSLMAXPROTOCOLVERSION"), &["TLSv1.3"]),
    only("min_protocol_version", Some("PGMINPROTOCOLVERSION"), &["3.0"]),
    only("max_protocol_version", Some("PGMAXPROTOCOLVERSION"), &["3.0", "latest", "3.2"]),
    only("gssencmode", Some("PGGSSENCMODE"), &["disable", "prefer"]),
    only("gssdelegation", Some("PGGSSDELEGATION"), &["0"]),
    only("load_balance_hosts", Some("PGLOADBALANCEHOSTS"), &["disable"]),
    only("replication", None, &["false", "off", "no", "0"]),
    only("requiressl", Some("PGREQUIRESSL"), &["0"]),
    refused("sslpassword", None),
    refused("sslcrl", Some("PGSSLCRL")),
    refused("sslcrldir", Some("PGSSLCRLDIR")),
    refused("sslkeylogfile", None),
    refused("requirepeer", Some("PGREQUIREPEER")),
    refused("require_auth", Some("PGREQUIREAUTH")),
    refused("krbsrvname", Some("PGKRBSRVNAME")),
    refused("gsslib", Some("PGGSSLIB")),
    refused("scram_client_key", None),
    refused("scram_server_key", None),
    refused("oauth_issuer", None),
    refused("oauth_client_id", None),
    refused("oauth_client_secret", None),
    refused("oauth_scope", None),
];

/// The parameter of that name.
pub(super) fn keyword(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.name == name)
}

/// The parameter whose name is most like this one, if any is.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let likeness = |keyword: &Keyword| strsim::jaro_winkler(keyword.name, name);
    let nearest = KEYWORDS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(nearest) > 0.85).then_some(nearest.name)
}
