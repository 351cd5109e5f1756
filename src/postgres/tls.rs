//! TLS as libpq's `sslmode` has it, with rustls.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::SslMode;

use super::conninfo::{ConninfoError, Environment, Parameters};
use super::verifier::{Check, Roots, Verifier};

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    /// What is asked for; `prefer` unless it is said.
    ///
    /// # Errors
    /// When there is no such mode, or one that is too weak for another parameter.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, ConninfoError> {
        let system = parameters.get("sslrootcert") == Some("system");
        let modes = [
            ("disable", Self::Disable),
            ("allow", Self::Allow),
            ("prefer", Self::Prefer),
            ("require", Self::Require),
            ("verify-ca", Self::VerifyCa),
            ("verify-full", Self::VerifyFull),
        ];
        let unsaid = if system { Self::VerifyFull } else { Self::Prefer };
        let mode = parameters.one_of("sslmode", &modes)?.unwrap_or(unsaid);
        let weak = |needs: &str| ConninfoError::Value { parameter: "sslmode", what: needs.to_owned() };
        if system && mode != Self::VerifyFull {
            return Err(weak("sslrootcert=system goes with verify-full alone"));
        }
        let direct = parameters.get("sslnegotiation") == Some("direct");
        if direct && matches!(mode, Self::Disable | Self::Allow | Self::Prefer) {
            return Err(weak("sslnegotiation=direct goes with require, verify-ca or verify-full"));
        }
        Ok(mode)
    }

    /// The ways to connect, in the order in which they are tried.
    pub(super) fn ways(self) -> &'static [SslMode] {
        match self {
            Self::Disable => &[SslMode::Disable],
            Self::Allow => &[SslMode::Disable, SslMode::Require],
            Self::Prefer => &[SslMode::Prefer, SslMode::Disable],
            Self::Require | Self::VerifyCa | Self::VerifyFull => &[SslMode::Require],
        }
    }
}

/// How to encrypt, with the certificates that the parameters name or that are in `~/.postgresql`. Nothing is read for
/// `disable`.
///
/// # Errors
/// When a file cannot be read or holds no certificate or key.
pub(super) fn client_config(
    mode: Mode,
    parameters: &Parameters,
    environment: &Environment,
) -> Result<ClientConfig, ConninfoError> {
    let provider = ring::default_provider();
    let algorithms = provider.signature_verification_algorithms;
    let verifier = match mode {
        Mode::Disable => Verifier { check: Check::Nothing, roots: Roots::none(), algorithms },
        _ => verifier(mode, parameters, environment, algorithms)?,
    };
    let builder =
        ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions();
    // Fails only for a provider without the default versions' cipher suites.
    let builder =
        builder.map_err(|error| ConninfoError::Value { parameter: "sslmode", what: error.to_string() })?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let own = if mode == Mode::Disable { None } else { own_certificate(parameters, environment)? };
    let mut config = match own {
        None => builder.with_no_client_auth(),
        Some(Own { certificate, chain, key }) => {
            let config = builder.with_client_auth_cert(chain, key);
            config.map_err(|error| unusable("sslcert", &certificate, error.to_string()))?
        }
    };
    config.enable_sni = parameters.one_of("sslsni", &[("0", false), ("1", true)])?.unwrap_or(true);
    if parameters.get("sslnegotiation") == Some("direct") {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(config)
}

/// A root certificate that is there is used even where the mode does not ask for it, as libpq does.
fn verifier(
    mode: Mode,
    parameters: &Parameters,
    environment: &Environment,
    algorithms: WebPkiSupportedAlgorithms,
) -> Result<Verifier, ConninfoError> {
    let roots = match parameters.get("sslrootcert") {
        Some("system") => Some(system_roots()?),
        Some(path) => Some(Roots::read(Path::new(path))?),
        None => {
            let own = environment.at_home(".postgresql/root.crt").filter(|path| path.exists());
            own.map(|path| Roots::read(&path)).transpose()?
        }
    };
    let has_to_verify = matches!(mode, Mode::VerifyCa | Mode::VerifyFull);
    let Some(roots) = roots else {
        if has_to_verify {
            let what = "verify-ca and verify-full need a root certificate: give sslrootcert (a file, or system), or \
                        put it into ~/.postgresql/root.crt";
            return Err(ConninfoError::Value { parameter: "sslmode", what: what.to_owned() });
        }
        return Ok(Verifier { check: Check::Nothing, roots: Roots::none(), algorithms });
    };
    let check = if mode == Mode::VerifyFull { Check::ChainAndName } else { Check::Chain };
    Ok(Verifier { check, roots, algorithms })
}

impl Roots {
    fn none() -> Self {
        Self { store: RootCertStore::empty(), certificates: vec![] }
    }

    fn read(path: &Path) -> Result<Self, ConninfoError> {
        let certificates = certificates("sslrootcert", path)?;
        let mut store = RootCertStore::empty();
        for certificate in &certificates {
            store
                .add(certificate.clone())
                .map_err(|error| unusable("sslrootcert", path, error.to_string()))?;
        }
        Ok(Self { store, certificates })
    }
}

fn system_roots() -> Result<Roots, ConninfoError> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        let what = "this system has no root certificates where the lab looks for them".to_owned();
        return Err(ConninfoError::Value { parameter: "sslrootcert", what });
    }
    Ok(Roots { store, certificates: vec![] })
}

/// The client's own certificate.
struct Own {
    certificate: PathBuf,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

fn own_certificate(parameters: &Parameters, environment: &Environment) -> Result<Option<Own>, ConninfoError> {
    let given = |name: &str, at_home: &str| match parameters.get(name) {
        Some(path) => Some(PathBuf::from(path)),
        None => environment.at_home(at_home).filter(|path| path.exists()),
    };
    let Some(certificate) = given("sslcert", ".postgresql/postgresql.crt") else { return Ok(None) };
    let chain = certificates("sslcert", &certificate)?;
    let Some(path) = given("sslkey", ".postgresql/postgresql.key") else {
        return Err(unusable("sslcert", &certificate, "there is no key for it: give sslkey".to_owned()));
    };
    let metadata = std::fs::metadata(&path).map_err(|source| unreadable("sslkey", &path, source))?;
    // As libpq has it: root's keys may be readable for a group.
    let forbidden = if metadata.uid() == 0 { 0o027 } else { 0o077 };
    if metadata.mode() & forbidden != 0 {
        let what = "others have access to it: its permissions should be u=rw (0600), or u=rw,g=r (0640) if it is \
                    root's";
        return Err(unusable("sslkey", &path, what.to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(&path)
        .map_err(|error| unusable("sslkey", &path, format!("no unencrypted private key in PEM: {error}")))?;
    Ok(Some(Own { certificate, chain, key }))
}

fn certificates(parameter: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, ConninfoError> {
    let pem = std::fs::read(path).map_err(|source| unreadable(parameter, path, source))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => {
            Err(unusable(parameter, path, "there is no certificate in PEM in it".to_owned()))
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unusable(parameter, path, error.to_string())),
    }
}

fn unreadable(parameter: &'static str, path: &Path, source: io::Error) -> ConninfoError {
    ConninfoError::Read { parameter, path: path.to_owned(), source }
}

fn unusable(parameter: &'static str, path: &Path, what: String) -> ConninfoError {
    ConninfoError::Certificate { parameter, path: path.to_owned(), what }
}
