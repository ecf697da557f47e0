//! Reading from a server with chosen faults.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::time::{Duration, Instant};

use weir_capture::Object as _;
use weir_remote::{ErrorKind, StoreOptions, Stores};
use weir_testkit::web::{Faults, WebServer};
use weir_testkit::{Rng, until};

use crate::{bytes, one, stores, whole};

#[test]
fn bytes_come_in_their_order_from_any_place() {
    let server = WebServer::start(Faults::default());
    let content = bytes(21 << 20, 1);
    server.put("a.pcap", content.clone());
    let stores = stores();
    let object = one(&stores, &server.url("a.pcap"));
    assert_eq!(object.len(), Some(21 << 20));
    assert!(whole(&object).unwrap() == content);
    let mut rng = Rng::new(2);
    let mut reader = object.open(0..0).unwrap();
    for _ in 0..20 {
        let place = rng.below(21 << 20);
        reader.seek(SeekFrom::Start(place)).unwrap();
        let count = 1 + rng.below(1 << 20);
        let mut read = Vec::new();
        reader.by_ref().take(count).read_to_end(&mut read).unwrap();
        let place = usize::try_from(place).unwrap();
        let end = (place + usize::try_from(count).unwrap()).min(content.len());
        assert!(read == content[place..end], "{place} {count}");
    }
}

#[test]
fn objects_of_all_small_sizes_are_read_whole() {
    let server = WebServer::start(Faults::default());
    for size in [
        0,
        1,
        65_535,
        65_536,
        65_537,
        (64 << 10) + (256 << 10),
        1 << 20,
    ] {
        let content = bytes(size, size as u64);
        server.put("x", content.clone());
        for ranges in [true, false] {
            server.set(Faults {
                ranges,
                ..Faults::default()
            });
            let object = one(&stores(), &server.url("x"));
            assert!(whole(&object).unwrap() == content, "{size} {ranges}");
        }
    }
}

#[test]
fn every_fifth_body_broken_gives_the_same_bytes() {
    let content = bytes(24 << 20, 3);
    for (ranges, e_tags) in [(true, true), (true, false), (false, true)] {
        let server = WebServer::start(Faults {
            break_every: if ranges { 5 } else { 2 },
            ranges,
            e_tags,
            ..Faults::default()
        });
        server.put("a", content.clone());
        // Without ranges, the first body is the one that opening the object reads.
        let object = one(&stores(), &server.url("a"));
        assert!(whole(&object).unwrap() == content, "{ranges} {e_tags}");
    }
}

#[test]
fn a_server_whose_every_body_breaks_at_its_beginning_is_an_error_soon() {
    let server = WebServer::start(Faults {
        break_every: 1,
        ..Faults::default()
    });
    server.put("a", vec![7]);
    let object = one(&stores(), &server.url("a"));
    let begun = Instant::now();
    let error = whole(&object).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(
        error.to_string().contains("the connection broke"),
        "{error}"
    );
}

#[test]
fn ranges_of_a_large_object_are_fetched_several_at_once() {
    let server = WebServer::start(Faults {
        delay: Duration::from_millis(100),
        ..Faults::default()
    });
    let content = bytes(64 << 20, 4);
    server.put("a", content.clone());
    let read = |options: &StoreOptions| {
        let stores = Stores::new(options).unwrap();
        let object = one(&stores, &server.url("a"));
        assert!(whole(&object).unwrap() == content);
        server.until_idle();
    };
    let mut options = StoreOptions::default();
    options.limits.ranges_max = 1;
    read(&options);
    // A request may come before the answer that its client has is counted as given.
    assert!(server.most_at_once() <= 2, "{}", server.most_at_once());
    read(&StoreOptions::default());
    // The server holds each answer back for 100 ms, in which other requests arrive.
    assert!(server.most_at_once() >= 3, "{}", server.most_at_once());
}

#[test]
fn a_reader_of_few_bytes_fetches_few() {
    let server = WebServer::start(Faults::default());
    server.put("a", bytes(96 << 20, 5));
    let object = one(&stores(), &server.url("a"));
    let mut reader = object.open(0..u64::MAX).unwrap();
    reader.read_exact(&mut vec![0; 100 << 10]).unwrap();
    drop(reader);
    server.until_idle();
    assert!(server.bytes() < 64 << 20, "{}", server.bytes());
}

#[test]
fn memory_is_bounded_by_what_may_be_under_way() {
    let server = WebServer::start(Faults::default());
    server.put("a", bytes(96 << 20, 6));
    let mut options = StoreOptions::default();
    options.limits.ahead_bytes_max = 8 << 20;
    let stores = Stores::new(&options).unwrap();
    let object = one(&stores, &server.url("a"));
    // One reader that continues and then waits: the maximum number of ranges, and the current one.
    let mut reader = object.open(0..u64::MAX).unwrap();
    reader.read_exact(&mut vec![0; 40 << 20]).unwrap();
    server.until_idle();
    let most = (40 << 20) + (8 << 20) + (4 << 20) + (4 << 20);
    assert!(server.bytes() < most, "{}", server.bytes());
    // Many readers: what they share, and one range for each, which begins small.
    let before = server.bytes();
    let mut readers: Vec<_> = (0..30).map(|_| object.open(0..u64::MAX).unwrap()).collect();
    for reader in &mut readers {
        reader.read_exact(&mut vec![0; 100 << 10]).unwrap();
    }
    server.until_idle();
    let fetched = server.bytes() - before;
    assert!(fetched <= (8 << 20) + 30 * (256 << 10), "{fetched}");
    // None waits for another for ever.
    for reader in &mut readers {
        reader.read_exact(&mut vec![0; 2 << 20]).unwrap();
    }
}

#[test]
fn an_object_that_changes_while_it_is_read_is_an_error_that_says_so() {
    for (if_match, e_tags, ranges) in [
        (true, true, true),
        (false, true, true),
        (false, false, true),
    ] {
        let server = WebServer::start(Faults {
            if_match,
            e_tags,
            ranges,
            ..Faults::default()
        });
        server.put("a", bytes(48 << 20, 7));
        let object = one(&stores(), &server.url("a"));
        let mut reader = object.open(0..u64::MAX).unwrap();
        reader.read_exact(&mut vec![0; 1 << 20]).unwrap();
        server.put("a", bytes(48 << 20, 8));
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("it has changed"), "{error}");
        // Found again, it is the new one.
        let object = one(&stores(), &server.url("a"));
        assert!(whole(&object).unwrap() == bytes(48 << 20, 8));
        server.remove("a");
        let error = whole(&object).unwrap_err();
        assert!(error.to_string().contains("it was removed"), "{error}");
    }
}

#[test]
fn what_cannot_be_had_is_one_line_without_secrets() {
    let server = WebServer::start(Faults::default());
    let signed = server.url("a?signature=SECRET");
    let status = |status: u16| {
        server.set(Faults {
            status: Some(status),
            ..Faults::default()
        });
        let begun = Instant::now();
        let error = stores().expand(&signed).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(60));
        error
    };
    let cases = [
        (status(403), ErrorKind::Denied, "access is denied (403)"),
        (
            status(401),
            ErrorKind::Denied,
            "credentials are required (401)",
        ),
        (status(404), ErrorKind::NotFound, "there is no such object"),
        (status(500), ErrorKind::Server, "the server answers 500"),
    ];
    for (error, kind, what) in cases {
        assert_eq!(error.kind(), kind);
        let told = format!("{error} {error:?} {:?}", error.hint());
        assert!(told.contains(what), "{told}");
        assert!(!told.contains("SECRET"), "{told}");
        assert!(told.contains("/a?…"), "{told}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let host = server.host().to_owned();
    drop(server);
    until("the port to be closed", || {
        std::net::TcpStream::connect(&host).is_err()
    });
    let error = stores()
        .expand(&format!("http://me:SECRET@{host}/a"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
    let error = stores()
        .expand("http://no.such.host.invalid/a")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}

#[test]
fn signatures_and_passwords_reach_the_server_and_no_name() {
    let server = WebServer::start(Faults::default());
    server.put("day/a%20b.pcap", vec![1; 100]);
    let host = server.host();
    let stores = stores();
    let address = format!("http://me:SECRET@{host}/day/a%20b.pcap?signature=SECRET");
    let object = one(&stores, &address);
    assert_eq!(whole(&object).unwrap(), vec![1; 100]);
    assert_eq!(object.name(), format!("http://{host}/day/a%20b.pcap?…"));
    assert!(!format!("{object:?} {stores:?}").contains("SECRET"));
    let heads = server.request_heads();
    assert!(
        heads.contains("/day/a%20b.pcap?signature=SECRET"),
        "{heads}"
    );
    assert!(heads.contains("Basic bWU6U0VDUkVU"), "{heads}");
    // Another signature is another object, and has another name.
    let other = one(&stores, &address.replace("=SECRET", "=OTHER"));
    assert_ne!(other.name(), object.name());
}

#[test]
fn redirects_are_followed_unless_places_are_named() {
    let to = WebServer::start(Faults::default());
    to.put("a", vec![3; 1000]);
    let from = WebServer::start(Faults {
        location: Some(to.url("a")),
        ..Faults::default()
    });
    let object = one(&stores(), &from.url("b"));
    assert_eq!(whole(&object).unwrap(), vec![3; 1000]);
    let mut options = StoreOptions::default();
    options.allowed = Some(vec![from.url("")]);
    let kept = Stores::new(&options).unwrap();
    assert!(kept.expand(&from.url("b")).is_err());
    let error = kept.expand(&to.url("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(
        kept.create("s3://b/k").unwrap_err().kind(),
        ErrorKind::Refused
    );
}
