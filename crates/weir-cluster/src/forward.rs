//! Private sockets, behind which the connections of Ballista's scheduler to executors are made.
//!
//! Ballista connects by an `Endpoint` of tonic, whose TLS has no place for a proof. So it is given the path of a Unix socket, in a
//! directory that only this user can enter, and the connection behind it is made by [`Dial`], as all others are. Plans of tasks go
//! this way, and no rows.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{copy, split};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};
use tonic::codegen::http::Uri;

use crate::dial::Dial;
use crate::work::WorkFolder;

/// A socket for each executor.
pub(crate) struct Forwarder {
    dial: Dial,
    /// The sockets, the oldest first. They go before their directory.
    sockets: Mutex<Vec<Socket>>,
    made: AtomicU64,
    folder: WorkFolder,
}

/// A socket, which is removed when this is dropped, with its connections.
struct Socket {
    to: Uri,
    path: PathBuf,
    forwarding: JoinHandle<()>,
    /// The socket, its task, and each of its connections have one.
    open: Arc<()>,
}

impl fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Forwarder({})", self.folder.path().display())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.forwarding.abort();
        // The directory goes at the end in any case.
        let _ = fs::remove_file(&self.path);
    }
}

impl Forwarder {
    /// Sockets in a directory below this one.
    ///
    /// # Errors
    /// When the directory cannot be created, or its name is not that of a socket.
    pub(crate) fn create_in(parent: &Path, dial: Dial) -> io::Result<Self> {
        let folder = WorkFolder::of_scheduler(parent)?;
        // A path of a socket has about a hundred bytes at most.
        SocketAddr::from_pathname(folder.path().join(u64::MAX.to_string()))?;
        Ok(Self {
            dial,
            sockets: Mutex::default(),
            made: AtomicU64::new(0),
            folder,
        })
    }

    /// The socket behind which connections to this host and port are made.
    ///
    /// # Errors
    /// When there is no room for another socket.
    pub(crate) fn socket(&self, to: &Uri) -> io::Result<PathBuf> {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = sockets.iter().find(|socket| socket.to == *to) {
            return Ok(known.path.clone());
        }
        // The sockets of executors that have ended are closed. An executor that comes back finds another one.
        let is_idle = |socket: &Socket| Arc::strong_count(&socket.open) <= OPEN_OF_IDLE;
        if sockets.iter().filter(|socket| is_idle(socket)).count() >= IDLE_MAX
            && let Some(oldest) = sockets.iter().position(is_idle)
        {
            sockets.remove(oldest);
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(number.to_string());
        let listener = UnixListener::bind(&path)?;
        let open = Arc::new(());
        let forwarding = tokio::spawn(forward(
            listener,
            self.dial.clone(),
            to.clone(),
            Arc::clone(&open),
        ));
        sockets.push(Socket {
            to: to.clone(),
            path: path.clone(),
            forwarding,
            open,
        });
        Ok(path)
    }
}

/// Forwards the connections of a socket, until it is dropped.
async fn forward(listener: UnixListener, dial: Dial, to: Uri, open: Arc<()>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((near, _)) => {
                let (dial, to, open) = (dial.clone(), to.clone(), Arc::clone(&open));
                connections.spawn(async move {
                    relay(near, dial, to).await;
                    drop(open);
                });
            }
            // The process has no free file descriptor.
            Err(_) => tokio::time::sleep(ROOM_WITHIN).await,
        }
    }
}

/// Forwards one connection. Where there is none to the executor, that of Ballista is closed, which then takes the executor for lost.
async fn relay(near: UnixStream, dial: Dial, to: Uri) {
    let Ok(far) = dial.connect(to).await else {
        return;
    };
    let (mut from_near, mut to_near) = split(near);
    let (mut from_far, mut to_far) = split(far);
    // HTTP/2 has no half-open connections: when one side closes, the other has nothing more to send.
    tokio::select! {
        _ = copy(&mut from_near, &mut to_far) => {}
        _ = copy(&mut from_far, &mut to_near) => {}
    }
}

/// The number of sockets without a connection that are kept.
const IDLE_MAX: usize = 64;
const OPEN_OF_IDLE: usize = 2;
const ROOM_WITHIN: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(test);
    }

    fn at(number: usize) -> Uri {
        format!("http://127.0.0.1:{}", 40_000 + number)
            .parse()
            .unwrap()
    }

    #[test]
    fn sockets_are_private_and_go_with_their_scheduler() {
        run(async {
            let parent = tempfile::tempdir().unwrap();
            let forwarder = Forwarder::create_in(parent.path(), Dial::new(None)).unwrap();
            let path = forwarder.socket(&at(0)).unwrap();
            let folder = path.parent().unwrap();
            // A directory whose name is too long is an error at once, and leaves nothing.
            let long = parent.path().join("x".repeat(100));
            fs::create_dir(&long).unwrap();
            assert!(Forwarder::create_in(&long, Dial::new(None)).is_err());
            fs::remove_dir(long).unwrap();
            let mode = fs::metadata(folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
            assert_eq!(forwarder.socket(&at(0)).unwrap(), path);
            assert_ne!(forwarder.socket(&at(1)).unwrap(), path);
            // The sockets of executors that have ended do not add up.
            for number in 2..=IDLE_MAX {
                forwarder.socket(&at(number)).unwrap();
            }
            assert!(!path.exists());
            // The sockets, and the mark of their scheduler.
            assert_eq!(fs::read_dir(folder).unwrap().count(), IDLE_MAX + 1);
            drop(forwarder);
            assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        });
    }

    #[test]
    fn a_socket_leads_to_its_executor() {
        run(async {
            let parent = tempfile::tempdir().unwrap();
            let forwarder = Forwarder::create_in(parent.path(), Dial::new(None)).unwrap();
            let executor = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let to = format!("http://{}", executor.local_addr().unwrap());
            let path = forwarder.socket(&to.parse().unwrap()).unwrap();
            let mut near = UnixStream::connect(&path).await.unwrap();
            near.write_all(b"tasks").await.unwrap();
            let (mut far, _) = executor.accept().await.unwrap();
            let mut received = [0; 5];
            far.read_exact(&mut received).await.unwrap();
            assert_eq!(&received, b"tasks");
            far.write_all(b"taken").await.unwrap();
            near.read_exact(&mut received).await.unwrap();
            assert_eq!(&received, b"taken");
            // A socket in use stays, however many others there are.
            for number in 0..=IDLE_MAX {
                forwarder.socket(&at(number)).unwrap();
            }
            assert!(path.exists());
            // One side that hangs up ends the connection of the other one.
            let second = UnixStream::connect(&path).await.unwrap();
            let (mut far_of_second, _) = executor.accept().await.unwrap();
            drop(second);
            assert_eq!(far_of_second.read(&mut received).await.unwrap(), 0);
            drop((far, executor));
            assert_eq!(near.read(&mut received).await.unwrap(), 0);
            let mut near = UnixStream::connect(&path).await.unwrap();
            assert_eq!(near.read(&mut received).await.unwrap(), 0);
        });
    }
}
