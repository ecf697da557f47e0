//! Connections to other parts of a cluster, and those that come from them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;
use tonic::transport::server::Connected;

use crate::tls::Tls;

/// A connection in clear, or behind its handshake.
pub(crate) enum Wire<S> {
    Plain(S),
    Tls(Box<TlsStream<S>>),
}

/// Makes connections with the credentials of a cluster.
#[derive(Clone)]
pub(crate) struct Dial {
    /// `None` for connections in clear.
    tls: Option<Arc<Tls>>,
    tcp: HttpConnector,
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

impl Dial {
    pub(crate) fn new(tls: Option<Arc<Tls>>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        Self { tls, tcp }
    }

    /// A connection to the host and port of an address, whose parts are limited in time.
    ///
    /// # Errors
    /// When the peer cannot be reached, or one side does not admit the other one.
    pub(crate) async fn connect(mut self, to: Uri) -> Result<Wire<TcpStream>, Failed> {
        let host = to.host().unwrap_or_default().to_owned();
        let stream = self.tcp.call(to).await?.into_inner();
        match &self.tls {
            Some(tls) => {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let handshake = tokio::time::timeout(CONNECT, tls.connect(host, stream));
                let stream = handshake.await.map_err(|_| UNANSWERED)??;
                Ok(Wire::Tls(Box::new(stream)))
            }
            None => Ok(Wire::Plain(stream)),
        }
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<Wire<TcpStream>>;
    type Error = Failed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failed>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let dial = self.clone();
        Box::pin(async move { Ok(TokioIo::new(dial.connect(to).await?)) })
    }
}

impl<S: Connected> Connected for Wire<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        match self {
            Self::Plain(stream) => stream.connect_info(),
            Self::Tls(stream) => stream.get_ref().0.connect_info(),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }
}

/// The error of a handshake that takes too long. It counts as a closed connection, which is made again.
pub(crate) const UNANSWERED: &str = "the peer does not answer the TLS handshake: connection closed";
/// The longest wait for a connection, and then for its handshake.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
