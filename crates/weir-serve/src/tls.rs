//! Certificate and key.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use weir_capture::read_small;
use weir_messages::tls::Certificate;

use crate::error::Error;
use crate::options::TlsFiles;

/// Whether a certificate is one, and its time has come and is not over.
fn is_valid_now(certificate: &Certificate) -> Result<(), String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
    let day = |seconds: i64| {
        let day = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
        day.to_rfc3339_opts(SecondsFormat::Secs, true)
    };
    if certificate.version == 0 {
        return Err("this is not an X.509 certificate".to_owned());
    }
    let (Some(begin), Some(end)) = (certificate.not_before, certificate.not_after) else {
        return Err("the certificate has no period of validity".to_owned());
    };
    if end < now {
        return Err(format!("the certificate expired at {}", day(end)));
    }
    if begin > now {
        let begin = day(begin);
        return Err(format!("the certificate is not valid before {begin}"));
    }
    Ok(())
}

/// The content of a file of certificates or keys. A device has no end.
fn pem(path: &Path) -> Result<Vec<u8>, Error> {
    let read = read_small(path, PEM_BYTES_MAX);
    read.map_err(|error| Error::new(format!("{}: {error}", path.display())))
}

/// An acceptor of TLS with these files.
///
/// # Errors
/// When one cannot be read, has nothing in it, has expired, or they do not belong together: a server with the option for TLS does
/// not start without it.
pub(crate) fn acceptor(files: &TlsFiles, protocol: &[u8]) -> Result<TlsAcceptor, Error> {
    let certificates = pem(&files.certificate)?;
    let certificates = CertificateDer::pem_slice_iter(&certificates)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Error::new(format!("{}: {error}", files.certificate.display())))?;
    if certificates.is_empty() {
        let message = format!("{} has no certificate", files.certificate.display());
        return Err(Error::new(message).with_hint("expected a PEM file with BEGIN CERTIFICATE"));
    }
    if let Some(first) = certificates.first() {
        is_valid_now(&Certificate::parse(first)).map_err(|message| {
            Error::new(format!("{}: {message}", files.certificate.display()))
                .with_hint("clients would reject it")
        })?;
    }
    let key = PrivateKeyDer::from_pem_slice(&pem(&files.key)?).map_err(|error| {
        Error::new(format!("{}: {error}", files.key.display()))
            .with_hint("expected a PEM file with a key in PKCS#8, SEC1 or PKCS#1")
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(format!("TLS: {error}")))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| {
            let path = files.certificate.display();
            Error::new(format!("{path} and {}: {error}", files.key.display()))
        })?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Bytes of a file of certificates or keys: a chain takes some kilobytes.
const PEM_BYTES_MAX: u64 = 1 << 20;
