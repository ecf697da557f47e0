//! Servers on this machine that objects are read from: one with chosen faults, and a stand-in of S3.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{Limited as _, until};

/// The faults and features of the server's answers.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The delay before the first byte of each answer.
    pub delay: Duration,
    /// Every so many bodies ends in its middle, with the connection; 0 for none.
    pub break_every: usize,
    /// The server supports range requests.
    pub ranges: bool,
    /// Answers say which version they are of.
    pub e_tags: bool,
    /// The server honours `If-Match` (RFC 9110, 13.1.1).
    pub if_match: bool,
    /// All answers have this status.
    pub status: Option<u16>,
    /// The target of redirects.
    pub location: Option<String>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            break_every: 0,
            ranges: true,
            e_tags: true,
            if_match: true,
            status: None,
            location: None,
        }
    }
}

/// A server of objects over HTTP/1.1, on a port of this machine. It ends when it is dropped.
#[derive(Debug)]
pub struct WebServer {
    address: String,
    shared: Arc<ServerState>,
    /// The thread that accepts connections.
    listening: Option<JoinHandle<()>>,
}

/// The bytes of an object, and its version.
type Object = (Arc<Vec<u8>>, u64);

#[derive(Debug, Default)]
struct ServerState {
    objects: Mutex<HashMap<String, Object>>,
    faults: Mutex<Faults>,
    requests: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    bodies: AtomicUsize,
    bytes: AtomicU64,
    /// All request lines and headers.
    request_heads: Mutex<String>,
    is_over: AtomicBool,
}

impl WebServer {
    /// Starts one without objects.
    ///
    /// # Panics
    /// When the machine has no port to give.
    #[must_use]
    pub fn start(faults: Faults) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(ServerState::default());
        *lock(&shared.faults) = faults;
        let of_thread = Arc::clone(&shared);
        let listening = thread::spawn(move || {
            for stream in listener.incoming() {
                if of_thread.is_over.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&of_thread);
                if let Ok(stream) = stream {
                    thread::spawn(move || serve(&stream, &shared));
                }
            }
        });
        Self {
            address: address.to_string(),
            shared,
            listening: Some(listening),
        }
    }

    /// The host and port of the server.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.address
    }

    /// The address of an object.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// Makes the object of this name be these bytes, as another version than before.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut objects = lock(&self.shared.objects);
        let version = objects.get(name).map_or(1, |(_, version)| version + 1);
        objects.insert(name.to_owned(), (Arc::new(bytes), version));
    }

    /// Removes an object.
    pub fn remove(&self, name: &str) {
        lock(&self.shared.objects).remove(name);
    }

    /// Answers in another way from now on.
    pub fn set(&self, faults: Faults) {
        *lock(&self.shared.faults) = faults;
    }

    /// Requests so far.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// The maximum number of requests at one time whose responses had not been sent.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.shared.most_under_way.load(Ordering::Relaxed)
    }

    /// Waits until every request that came has its answer, or a client that left it.
    ///
    /// # Panics
    /// When that is not so after [`LIFE`](crate::LIFE).
    pub fn until_idle(&self) {
        until("the answers of the web server", || {
            self.shared.under_way.load(Ordering::Relaxed) == 0
        });
    }

    /// Bytes of bodies that were sent so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// The request lines and headers so far.
    #[must_use]
    pub fn request_heads(&self) -> String {
        lock(&self.shared.request_heads).clone()
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // The accepting thread waits for a connection, so this one wakes it. The port is free when the thread has ended.
        let is_called = TcpStream::connect(&self.address).is_ok();
        if let Some(listening) = self.listening.take().filter(|_| is_called) {
            let _ = listening.join();
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that has no whole answer yet.
struct UnderWay<'a>(&'a ServerState);

impl<'a> UnderWay<'a> {
    fn new(shared: &'a ServerState) -> Self {
        let now = shared.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        shared.most_under_way.fetch_max(now, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One connection, until it ends.
fn serve(stream: &TcpStream, shared: &ServerState) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        loop {
            let before = head.len();
            match reader.read_line(&mut head) {
                Ok(read) if read > 0 => {}
                _ => return,
            }
            if head
                .get(before..)
                .is_some_and(|line| line.trim().is_empty())
            {
                break;
            }
        }
        shared.requests.fetch_add(1, Ordering::Relaxed);
        let _under_way = UnderWay::new(shared);
        lock(&shared.request_heads).push_str(&head);
        let faults = lock(&shared.faults).clone();
        thread::sleep(faults.delay);
        if answer(stream, shared, &faults, &head).is_none() {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Answers one request; `None` when that ends the connection.
fn answer(mut stream: &TcpStream, shared: &ServerState, faults: &Faults, head: &str) -> Option<()> {
    let target = head.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let name = path.trim_start_matches('/');
    let plain = |status: &str, more: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{more}\r\n{body}")
    };
    if let Some(location) = &faults.location {
        let more = format!("Location: {location}\r\n");
        return stream
            .write_all(plain("302 Found", &more, "").as_bytes())
            .ok();
    }
    if let Some(status) = faults.status {
        let body = "<Error><Code>AccessDenied</Code><StringToSign>SECRET</StringToSign></Error>";
        let status = format!("{status} Status");
        return stream.write_all(plain(&status, "", body).as_bytes()).ok();
    }
    let found = lock(&shared.objects).get(name).cloned();
    let Some((bytes, version)) = found else {
        return stream
            .write_all(plain("404 Not Found", "", "SECRET").as_bytes())
            .ok();
    };
    let tag = format!("\"{version}\"");
    let header = |wanted: &str| {
        head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    if faults.if_match && header("if-match").is_some_and(|wanted| wanted != tag) {
        return stream
            .write_all(plain("412 Precondition Failed", "", "").as_bytes())
            .ok();
    }
    let size = bytes.len();
    let range = header("range").filter(|_| faults.ranges);
    let range = range.and_then(|range| {
        let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
        let start: usize = start.parse().ok()?;
        let end = end.parse::<usize>().map_or(size, |end| end + 1);
        Some((start, end.min(size)))
    });
    let mut more = String::new();
    if faults.e_tags {
        more += &format!("ETag: {tag}\r\n");
    }
    more += &format!("Last-Modified: Mon, 23 Nov 2026 07:00:{version:02} GMT\r\n");
    let (status, start, end) = match range {
        Some((start, end)) if start < end => {
            let last = end - 1;
            more += &format!("Content-Range: bytes {start}-{last}/{size}\r\n");
            ("206 Partial Content", start, end)
        }
        Some(_) => {
            let more = format!("Content-Range: bytes */{size}\r\n");
            let text = plain("416 Range Not Satisfiable", &more, "");
            return stream.write_all(text.as_bytes()).ok();
        }
        None => ("200 OK", 0, size),
    };
    let length = end - start;
    let head_text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{more}\r\n");
    stream.write_all(head_text.as_bytes()).ok()?;
    if head.starts_with("HEAD") {
        return Some(());
    }
    send_body(stream, shared, faults, bytes.get(start..end)?)
}

/// Sends a body, or half of one that breaks; `None` when that ends the connection.
fn send_body(
    mut stream: &TcpStream,
    shared: &ServerState,
    faults: &Faults,
    body: &[u8],
) -> Option<()> {
    let number = shared.bodies.fetch_add(1, Ordering::Relaxed) + 1;
    let breaks = faults.break_every > 0 && number.is_multiple_of(faults.break_every);
    let given = if breaks { body.len() / 2 } else { body.len() };
    for piece in body.get(..given)?.chunks(64 << 10) {
        stream.write_all(piece).ok()?;
        shared
            .bytes
            .fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    (!breaks).then_some(())
}

/// moto, a stand-in of S3 in Python (`pip install 'moto[server]'`), with one bucket. It ends when it is dropped.
#[derive(Debug)]
pub struct Moto {
    child: Child,
    address: String,
}

impl Moto {
    /// Starts it; `None` where it is not installed.
    ///
    /// # Panics
    /// When it is, and does not answer.
    #[must_use]
    pub fn start() -> Option<Self> {
        let known = Command::new("python3")
            .args(["-c", "import moto.server"])
            .stderr(Stdio::null())
            .status_limited();
        if !known.is_ok_and(|status| status.success()) {
            return None;
        }
        let mut moto = Self::on_a_free_port();
        until("moto", || {
            // Another program may have taken the port meanwhile.
            if moto.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                moto = Self::on_a_free_port();
            }
            let answer = moto.request("PUT", "bucket", &[]);
            answer.is_some_and(|status| status == 200)
        });
        Some(moto)
    }

    fn on_a_free_port() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let address = free.local_addr().expect("it is bound");
        drop(free);
        let child = Command::new("python3")
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p"])
            .arg(address.port().to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn_limited()
            .expect("it was found");
        Self {
            child,
            address: address.to_string(),
        }
    }

    /// The URL of the server.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The environment variables that point client programs to this server.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", self.endpoint()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", "KEYOFTHEBUCKET".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "SECRETOFTHEBUCKET".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    /// Makes an object of `bucket`.
    ///
    /// # Panics
    /// When it is not taken.
    pub fn put(&self, key: &str, bytes: &[u8]) {
        let status = self.request("PUT", &format!("bucket/{key}"), bytes);
        assert_eq!(status, Some(200), "{key}");
    }

    /// Returns true when `bucket` has an object of this key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.request("HEAD", &format!("bucket/{key}"), &[]) == Some(200)
    }

    /// The number of unfinished multipart uploads in `bucket`.
    ///
    /// # Panics
    /// When it does not say.
    #[must_use]
    pub fn uploads(&self) -> usize {
        let answer = self.answer("GET", "bucket?uploads", &[]);
        let answer = answer.expect("it lists what is under way");
        answer.matches("<UploadId>").count()
    }

    fn request(&self, method: &str, path: &str, body: &[u8]) -> Option<u16> {
        let answer = self.answer(method, path, body)?;
        answer.split(' ').nth(1)?.parse().ok()
    }

    fn answer(&self, method: &str, path: &str, body: &[u8]) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let (host, length) = (&self.address, body.len());
        // The stand-in takes the name of the key, and does not check the signature.
        let head = format!(
            "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=KEYOFTHEBUCKET/20261123/us-east-1/s3/aws4_request, \
             SignedHeaders=host, Signature=0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_under_way_are_counted_until_they_have_their_answers() {
        let server = WebServer::start(Faults::default());
        // The body is larger than the send buffers of the system for a client that does not read.
        server.put("a", vec![7; 64 << 20]);
        let ask = || {
            let mut stream = TcpStream::connect(server.host()).unwrap();
            stream
                .write_all(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
                .unwrap();
            stream
        };
        assert_eq!(server.most_at_once(), 0);
        let both = [ask(), ask()];
        until("both requests", || server.most_at_once() == 2);
        drop(both);
        server.until_idle();
        let third = ask();
        until("the third request", || server.requests() == 3);
        drop(third);
        server.until_idle();
        assert_eq!(server.most_at_once(), 2);
    }

    #[test]
    fn the_port_of_a_server_that_was_dropped_is_free() {
        let server = WebServer::start(Faults::default());
        let address = server.host().to_owned();
        drop(server);
        assert!(TcpStream::connect(&address).is_err());
    }
}
