//! Checks of a server's certificate that `sslmode` tells apart.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

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
                verify_server_name(&certificate, server_name)?;
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
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
