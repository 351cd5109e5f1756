//! Checks of a server's certificate that `sslmode` tells apart.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use x509_cert::Certificate;
use x509_cert::der::oid::db::rfc4519::CN;
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::ext::pkix::SubjectAltName;

/// Certificates that a server's has to go back to.
#[derive(Debug)]
pub(super) struct Roots {
    /// As authorities.
    pub(super) store: RootCertStore,
    /// As they are.
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// What is checked of a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing: `require` only encrypts.
    Nothing,
    /// That it goes back to a root: `verify-ca`.
    Chain,
    /// That, and that it is of the host that was asked for: `verify-full`.
    ChainAndName,
}

/// Checks a server's certificate.
#[derive(Debug)]
pub(super) struct Verifier {
    /// What is checked.
    pub(super) check: Check,
    /// What it has to go back to.
    pub(super) roots: Roots,
    /// How signatures are verified.
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn verify_chain(
        &self,
        certificate: &ParsedCertificate<'_>,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let roots = &self.roots;
        let algorithms = self.algorithms.all;
        match verify_server_cert_signed_by_trust_anchor(
            certificate,
            &roots.store,
            intermediates,
            now,
            algorithms,
        ) {
            // The documentation's own way to a certificate, `openssl req -x509`, makes one that is its own authority.
            // OpenSSL takes it from a server when it is a root; here it is checked for its dates and then found to
            // be an authority's.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(error)))
                if error.0.to_string() == "CaUsedAsEndEntity"
                    && roots.certificates.iter().any(|root| root == end_entity) =>
            {
                Ok(())
            }
            verified => verified,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.check != Check::Nothing {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            self.verify_chain(&certificate, end_entity, intermediates, now)?;
            if self.check == Check::ChainAndName {
                verify_server_name(&certificate, server_name).or_else(|error| {
                    if has_common_name(end_entity, server_name) { Ok(()) } else { Err(error) }
                })?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match verify_tls13_signature(message, certificate, signed, &self.algorithms) {
            // Where nothing is checked of the certificate but that the server has its key, the key alone has to be
            // understood: `openssl x509 -req`, in the documentation, makes certificates of version 1.
            Err(error) if self.check == Check::Nothing => match key(certificate) {
                Some(key) => verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms),
                None => Err(error),
            },
            verified => verified,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The public key of a certificate.
fn key(certificate: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let key = certificate.tbs_certificate.subject_public_key_info.to_der().ok()?;
    Some(SubjectPublicKeyInfoDer::from(key))
}

/// Is the host the common name of a certificate that has no other names: as libpq has it, and rustls has not.
fn has_common_name(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> bool {
    let ServerName::DnsName(host) = host else { return false };
    let Ok(certificate) = Certificate::from_der(certificate) else { return false };
    let certificate = &certificate.tbs_certificate;
    if !matches!(certificate.get::<SubjectAltName>(), Ok(None)) {
        return false;
    }
    let mut attributes = certificate.subject.0.iter().flat_map(|part| part.0.iter());
    let Some(name) = attributes.find(|attribute| attribute.oid == CN) else { return false };
    std::str::from_utf8(name.value.value()).is_ok_and(|name| fits(name, host.as_ref()))
}

/// Without case; an asterisk stands for one label at the beginning.
fn fits(name: &str, host: &str) -> bool {
    let rest = name.strip_prefix("*.").filter(|rest| rest.contains('.'));
    let host_rest = host.split_once('.').map(|(label, rest)| (!label.is_empty(), rest));
    match (rest, host_rest) {
        (Some(rest), Some((true, host_rest))) => rest.eq_ignore_ascii_case(host_rest),
        (Some(_), _) => false,
        (None, _) => name.eq_ignore_ascii_case(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_name_is_compared_as_libpq_does() {
        for (name, host, expected) in [
            ("db.example", "db.example", true),
            ("DB.example", "db.EXAMPLE", true),
            ("*.example.org", "db.example.org", true),
            ("*.example.org", "a.db.example.org", false),
            ("*.example.org", "example.org", false),
            ("*.org", "example.org", false),
            ("*", "db", false),
            ("db", "other", false),
        ] {
            assert_eq!(fits(name, host), expected, "{name} {host}");
        }
    }
}
