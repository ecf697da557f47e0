//! A server, from its start to its end.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::columns::Columns;
use crate::error::{Error, Failure};
use crate::options::Options;
use crate::session::Session;
use crate::shared::Shared;
use crate::{flight, http, listener, pg, tls};

/// A server whose listeners are bound when it is created.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    postgres: Option<BoundListener>,
    http: Option<BoundListener>,
    flight: Option<BoundListener>,
    end: watch::Sender<bool>,
    /// The threads that statements run on: a task that waits for a socket never waits for them.
    workers: Workers,
}

/// A listener that is bound.
#[derive(Debug)]
struct BoundListener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
}

/// The acceptor of TLS.
#[derive(Clone)]
struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// A runtime whose threads are dropped without waiting for them.
#[derive(Debug)]
struct Workers(Option<Runtime>);

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Server {
    /// Binds the listeners. No connection is accepted before [`Server::run`].
    ///
    /// # Errors
    /// When a root is no folder, an address is taken, an address that others reach is to be served without a password
    /// or token, or the TLS that was requested cannot be had.
    pub fn start(options: Options) -> Result<Self, Error> {
        let addresses = [options.listen, options.http, options.flight];
        if addresses.iter().all(Option::is_none) {
            return Err(Error::new("no address to listen on")
                .with_hint("give one with --listen, --http or --flight"));
        }
        for (address, secret, name, flag) in [
            (
                options.listen,
                &options.password,
                "password",
                "--password-file",
            ),
            (options.http, &options.token, "token", "--token-file"),
            (
                options.flight,
                // A token or a password is enough.
                match &options.token {
                    Some(_) => &options.token,
                    None => &options.password,
                },
                "password or token",
                "--password-file or --token-file",
            ),
        ] {
            if let Some(address) = address
                && !address.ip().is_loopback()
                && secret.as_deref().is_none_or(str::is_empty)
            {
                let message =
                    format!("{address} is reachable from other machines, and there is no {name}");
                return Err(Error::new(message)
                    .with_hint(format!("give one with {flag}, or listen at 127.0.0.1")));
            }
        }
        for (secret, name) in [(&options.password, "password"), (&options.token, "token")] {
            if secret.as_deref() == Some("") {
                return Err(Error::new(format!("the {name} is empty")));
            }
        }
        let threads = options.engine.threads;
        let workers = statement_threads(threads)?;
        let (end, ending) = watch::channel(false);
        let open = |address: Option<SocketAddr>, protocol: &[u8]| {
            let tls = options
                .tls
                .as_ref()
                .map(|files| tls::acceptor(files, protocol));
            let tls = tls.transpose()?.map(Tls);
            address
                .map(|address| BoundListener::at(address, tls))
                .transpose()
        };
        let postgres = open(options.listen, b"postgresql")?;
        let http = open(options.http, b"http/1.1")?;
        let flight = open(options.flight, b"h2")?;
        let shared = Arc::new(Shared::new(options, workers.handle().clone(), ending)?);
        Ok(Self {
            shared,
            postgres,
            http,
            flight,
            end,
            workers: Workers(Some(workers)),
        })
    }

    /// The address of the PostgreSQL protocol.
    #[must_use]
    pub fn postgres(&self) -> Option<SocketAddr> {
        self.postgres.as_ref().map(|open| open.address)
    }

    /// The address of HTTP.
    #[must_use]
    pub fn http(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(|open| open.address)
    }

    /// The address of Arrow Flight SQL.
    #[must_use]
    pub fn flight(&self) -> Option<SocketAddr> {
        self.flight.as_ref().map(|open| open.address)
    }

    /// Whether TLS is mandatory.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.shared.options.tls.is_some()
    }

    /// Serves on a runtime as [`Server::run`] does. Work that does not check for the end by then, such as the parser of
    /// a long text, is abandoned with its thread.
    ///
    /// # Errors
    /// When the catalog cannot be made.
    pub fn run_on(self, runtime: Runtime, end: impl Future<Output = ()>) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let done = runtime.block_on(self.run(end));
        runtime.shutdown_timeout(THREADS_END);
        // Threads that still run keep the folders of uploads and spilled rows open, so these are removed here.
        if let Ok(uploads) = shared.uploads() {
            uploads.folder.remove();
        }
        done
    }

    /// Serves until `end` is done: connections get a message then, and statements that run have
    /// [`Limits::grace`](crate::Limits::grace) to finish. A runtime that is dropped waits for what cannot look up, and
    /// [`Server::run_on`] does not.
    ///
    /// # Errors
    /// When the catalog cannot be made.
    pub async fn run(self, end: impl Future<Output = ()>) -> Result<(), Error> {
        let failed = |failure: Failure| Error::new(failure.message);
        let listening =
            |error: std::io::Error| Error::new(format!("an address cannot be served: {error}"));
        let session = Session::of_lists(&self.shared).map_err(failed)?;
        let columns = Arc::new(Columns::new(&self.shared.files, Box::new(session)));
        let mut listeners = JoinSet::new();
        if let Some(open) = self.postgres {
            let tls = open.tls.map(|tls| tls.0);
            let pg = Arc::new(pg::PgProtocol::new(&self.shared, tls).map_err(failed)?);
            let listener = tokio::net::TcpListener::from_std(open.listener).map_err(listening)?;
            listeners.spawn(listener::serve(pg, listener));
        }
        if let Some(open) = self.http {
            let tls = open.tls.map(|tls| tls.0);
            let http = Arc::new(http::HttpProtocol::new(&self.shared, tls));
            let listener = tokio::net::TcpListener::from_std(open.listener).map_err(listening)?;
            listeners.spawn(listener::serve(http, listener));
        }
        if let Some(open) = self.flight {
            let tls = open.tls.map(|tls| tls.0);
            let flight =
                flight::FlightProtocol::new(&self.shared, &columns, tls).map_err(failed)?;
            let listener = tokio::net::TcpListener::from_std(open.listener).map_err(listening)?;
            listeners.spawn(listener::serve(Arc::new(flight), listener));
        }
        end.await;
        // The listeners end by it, unless all of them have ended already.
        let _ = self.end.send(true);
        while listeners.join_next().await.is_some() {}
        let grace = self.shared.options.limits.grace + Duration::from_secs(1);
        let open = || {
            let open = &self.shared.metrics.connections_open;
            open.load(std::sync::atomic::Ordering::Relaxed)
        };
        let empty = async {
            while open() > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let _ = tokio::time::timeout(grace, empty).await;
        drop(self.workers);
        Ok(())
    }
}

/// The threads that statements run on, so many of them.
pub(crate) fn statement_threads(threads: Option<usize>) -> Result<Runtime, Error> {
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    builder
        // Plans of many steps are walked recursively.
        .thread_stack_size(STACK_BYTES)
        .thread_name("weir-query")
        // The runtime drives deadlines and the pipes of processes.
        .enable_all()
        .build()
        .map_err(|error| Error::new(format!("cannot start threads: {error}")))
}

impl BoundListener {
    fn at(address: SocketAddr, tls: Option<Tls>) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::new(format!("{address}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self {
            listener,
            address,
            tls,
        })
    }
}

/// The time limit for the threads of connections to release their resources after the end of the server.
const THREADS_END: Duration = Duration::from_secs(1);
/// The stack of a thread that statements run on.
pub(crate) const STACK_BYTES: usize = 64 << 20;

/// The stack that a thread needs which serves connections: statements are parsed, walked through and let go there, as deep as they
/// may be. The runtime that a server is run on has threads with so much of it.
pub const CONNECTION_STACK_BYTES: usize = 16 << 20;
