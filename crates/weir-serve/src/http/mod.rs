//! HTTP: questions in JSON, answers in what they are wanted in, and the page.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::error::Failure;
use crate::house::House;

/// What speaks HTTP.
pub(crate) struct Door {
    pub(crate) house: Arc<House>,
    #[expect(dead_code)]
    tls: Option<TlsAcceptor>,
    #[expect(dead_code)]
    address: SocketAddr,
}

impl Door {
    pub(crate) fn new(
        house: &Arc<House>,
        tls: Option<TlsAcceptor>,
        address: SocketAddr,
    ) -> Result<Self, Failure> {
        Ok(Self {
            house: Arc::clone(house),
            tls,
            address,
        })
    }

    /// Takes connections until the server ends.
    pub(crate) async fn serve(self: Arc<Self>, _listener: TcpListener) {
        let mut ending = self.house.ending.clone();
        let _ = ending.wait_for(|ending| *ending).await;
    }
}
