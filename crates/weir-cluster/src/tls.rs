//! TLS 1.3 of both sides of a connection, and the peers that it admits.
//!
//! tonic has TLS of its own, which hands over to HTTP/2 as soon as the certificates are verified. Here the role of the peer is known
//! before the first octet of HTTP/2.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
#[cfg(test)]
use tokio_rustls::{client, server};
use weir_capture::read_small;

use crate::error::{Error, chain};
use crate::identity::{Keys, Role, SERVER_NAME};
use crate::proof::{self, PROTOCOL, WRONG};

/// The files of mutual TLS, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The own certificate.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The certificates of the authorities that sign those of peers.
    pub authorities: PathBuf,
}

/// The certificates and keys of both sides.
pub(crate) struct Tls {
    /// `None` for a client.
    server: Option<Arc<ServerConfig>>,
    client: Arc<ClientConfig>,
    known: PeerIdentity,
}

/// The way to identify a peer after its certificate is verified.
enum PeerIdentity {
    /// A certificate from files identifies the peer.
    Files,
    /// A certificate from files and a proof of the token identify the peer.
    Proof(Arc<Keys>),
    /// A certificate derived from the token identifies the peer. The list has the certificates of both roles.
    Token(Vec<(Role, CertificateDer<'static>)>),
}

/// A certificate with its chain, and its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Tls {
    /// Creates the TLS configuration with certificates from files, and a proof of the token if there is one.
    ///
    /// # Errors
    /// When a file is not readable or not PEM, or the key does not match the certificate.
    pub(crate) fn of_files(files: &TlsFiles, keys: Option<Arc<Keys>>) -> Result<Self, Error> {
        let failed = |error: &dyn std::error::Error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            Error::new(format!("{certificate}, {key}: {}", chain(error)))
        };
        let text = read(&files.key, "PRIVATE KEY")?;
        let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| failed(&error))?;
        let identity = (certificates(&files.certificate)?, key);
        let roots = roots(certificates(&files.authorities)?).map_err(|error| {
            let path = files.authorities.display();
            Error::new(format!("{path}: {error}"))
        })?;
        let known = keys.map_or(PeerIdentity::Files, PeerIdentity::Proof);
        let protocol = known.protocol();
        let server = server(&identity, roots.clone(), protocol).map_err(|error| failed(&*error))?;
        let client = client(identity, roots, protocol).map_err(|error| failed(&*error))?;
        Ok(Self {
            server: Some(server),
            client,
            known,
        })
    }

    /// Creates the TLS configuration with certificates derived from the token.
    ///
    /// # Errors
    /// When the seeds are not keys, which does not happen.
    pub(crate) fn of_token(keys: &Keys) -> Result<Self, Error> {
        let failed = |error: &dyn std::error::Error| Error::new(format!("TLS: {}", chain(error)));
        let identity = || {
            let (certificate, key) = keys.identity()?;
            Ok::<Identity, Error>((vec![certificate], key))
        };
        let authority = roots(vec![keys.authority()?]).map_err(|error| failed(&error))?;
        let admitted = match keys.role() {
            Role::Member => keys.certificates()?.into(),
            Role::Client => Vec::new(),
        };
        let server = match keys.role() {
            Role::Client => None,
            Role::Member => {
                let all = admitted.iter().map(|(_, of)| CertificateDer::clone(of));
                let all = roots(all.collect()).map_err(|error| failed(&error))?;
                Some(server(&identity()?, all, HTTP_2).map_err(|error| failed(&*error))?)
            }
        };
        let client = client(identity()?, authority, HTTP_2).map_err(|error| failed(&*error))?;
        Ok(Self {
            server,
            client,
            known: PeerIdentity::Token(admitted),
        })
    }

    /// Creates the TLS configuration with certificates derived from one token, in place of files, and a proof of another token.
    #[cfg(test)]
    pub(crate) fn with_proof(files: &Keys, keys: &Keys) -> Self {
        let identity = || {
            let (certificate, key) = files.identity().unwrap();
            (vec![certificate], key)
        };
        let roots = || roots(vec![files.authority().unwrap()]).unwrap();
        Self {
            server: Some(server(&identity(), roots(), PROTOCOL).unwrap()),
            client: client(identity(), roots(), PROTOCOL).unwrap(),
            known: PeerIdentity::Proof(Arc::new(keys.clone())),
        }
    }

    /// The same, which names no protocol.
    #[cfg(test)]
    pub(crate) fn without_protocol(mut self) -> Self {
        if let Some(server) = &mut self.server {
            Arc::make_mut(server).alpn_protocols.clear();
        }
        Arc::make_mut(&mut self.client).alpn_protocols.clear();
        self
    }

    /// The client's handshake, with the certificates and without a proof.
    #[cfg(test)]
    pub(crate) async fn shake_hands<S>(&self, stream: S) -> io::Result<client::TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let connector = TlsConnector::from(Arc::clone(&self.client));
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        connector.connect(name, stream).await
    }

    /// The server's handshake, with the certificates and without a proof.
    #[cfg(test)]
    pub(crate) async fn take_hands<S>(&self, stream: S) -> io::Result<server::TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let server = self.server.clone().unwrap();
        TlsAcceptor::from(server).accept(stream).await
    }

    /// Whether the certificates are made of the token.
    pub(crate) const fn is_of_token(&self) -> bool {
        matches!(self.known, PeerIdentity::Token(_))
    }

    /// The handshake of a server, with the proof where there is one, and the role of the client.
    ///
    /// # Errors
    /// When the client is not admitted.
    pub(crate) async fn accept<S>(&self, stream: S) -> io::Result<(TlsStream<S>, Role)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Some(server) = &self.server else {
            return Err(io::Error::other("a client has no certificate of a server"));
        };
        let acceptor = TlsAcceptor::from(Arc::clone(server));
        let mut stream = acceptor.accept(stream).await?;
        let role = match &self.known {
            PeerIdentity::Files => Role::Member,
            PeerIdentity::Proof(keys) => proof::admit(keys, &mut stream).await?,
            PeerIdentity::Token(admitted) => {
                let shown = stream.get_ref().1.peer_certificates();
                let shown = shown.and_then(<[_]>::first);
                let known = admitted.iter().find(|(_, known)| Some(known) == shown);
                known.ok_or_else(|| io::Error::other(WRONG))?.0
            }
        };
        Ok((stream.into(), role))
    }

    /// The handshake of a client with the server of this host, with the proof where there is one.
    ///
    /// # Errors
    /// When either side does not admit the other one.
    pub(crate) async fn connect<S>(&self, host: &str, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = match &self.known {
            PeerIdentity::Token(_) => SERVER_NAME,
            PeerIdentity::Files | PeerIdentity::Proof(_) => host,
        };
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        let connector = TlsConnector::from(Arc::clone(&self.client));
        let mut stream = connector.connect(name, stream).await?;
        // A server that has no protocols takes any.
        if stream.get_ref().1.alpn_protocol() != Some(self.known.protocol()) {
            return Err(io::Error::other(NO_PROTOCOL));
        }
        if let PeerIdentity::Proof(keys) = &self.known {
            proof::introduce(keys, &mut stream).await?;
        }
        Ok(stream.into())
    }
}

impl PeerIdentity {
    /// The protocol of ALPN, which both sides have to name.
    const fn protocol(&self) -> &'static [u8] {
        match self {
            Self::Proof(_) => PROTOCOL,
            Self::Files | Self::Token(_) => HTTP_2,
        }
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn server(
    identity: &Identity,
    roots: RootCertStore,
    protocol: &[u8],
) -> Result<Arc<ServerConfig>, Failed> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider()).build()?;
    let (certificates, key) = identity;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates.clone(), key.clone_key())?;
    config.alpn_protocols = vec![protocol.to_vec()];
    // Each connection proves both certificates.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn client(
    (certificates, key): Identity,
    roots: RootCertStore,
    protocol: &[u8],
) -> Result<Arc<ClientConfig>, Failed> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates, key)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Trust anchors. Certificates that cannot be parsed are left out, as long as there is another one.
fn roots(certificates: Vec<CertificateDer<'static>>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates) {
        (0, _) => Err(io::Error::other("there is no certificate of an authority")),
        _ => Ok(roots),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = read(path, "CERTIFICATE")?;
    let all: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    all.map_err(|error| Error::new(format!("{}: {error}", path.display())))
}

/// The text of a file in PEM that has something of this label.
fn read(path: &Path, label: &str) -> Result<Vec<u8>, Error> {
    let shown = path.display();
    let bytes =
        read_small(path, PEM_BYTES_MAX).map_err(|error| Error::new(format!("{shown}: {error}")))?;
    let text = String::from_utf8_lossy(&bytes);
    match text.contains("-----BEGIN ") && text.contains(label) {
        true => Ok(bytes),
        false => Err(
            Error::new(format!("{shown} has no {}", label.to_lowercase()))
                .with_hint(format!("expected a PEM file with BEGIN {label}")),
        ),
    }
}

/// The size of a file in PEM, at most: all authorities of a system take some hundred kilobytes.
const PEM_BYTES_MAX: u64 = 4 << 20;
/// HTTP/2 over TLS (RFC 9113, 3.2).
const HTTP_2: &[u8] = b"h2";
/// The error of a handshake without a protocol, and the alert of one that is refused for it (RFC 7301, 3.2).
pub(crate) const NO_PROTOCOL: &str = "NoApplicationProtocol";
