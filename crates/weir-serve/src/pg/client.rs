//! A client of the PostgreSQL protocol, as the handlers of its messages see it.

use futures::sink::Sink;
use pgwire::api::{ClientInfo, ClientPortalStore};
use pgwire::messages::PgWireBackendMessage;

/// The bounds of a client of the protocol.
pub(super) trait Client:
    ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync
{
}

impl<C> Client for C where
    C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync
{
}
