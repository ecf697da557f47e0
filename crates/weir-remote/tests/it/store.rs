//! A stand-in of S3.

use std::io::Write as _;

use weir_capture::Object as _;
use weir_remote::{ErrorKind, Options, Stores};
use weir_testkit::web::Moto;

use crate::{bytes, one, whole};

fn stores(moto: &Moto) -> Stores {
    let mut options = Options::default();
    for (name, value) in moto.environment() {
        options.settings.push((name.to_owned(), value));
    }
    Stores::new(&options).unwrap()
}

#[test]
fn objects_of_s3_are_listed_read_and_written() {
    let Some(moto) = Moto::start() else {
        weir_testkit::missing("moto", "reading and writing S3");
        return;
    };
    let stores = stores(&moto);
    let large = bytes(20 << 20, 1);
    for (key, content) in [
        ("day/a.pcap", &large[..]),
        ("day/b.pcap", b"b"),
        ("day/b.txt", b"t"),
        ("day/x/c.pcap", b"c"),
        ("empty", b""),
    ] {
        moto.put(key, content);
    }
    let names = |pattern: &str| -> Vec<String> {
        let found = stores.expand(pattern).unwrap();
        found
            .iter()
            .map(|object| object.name().to_owned())
            .collect()
    };
    let day = "s3://bucket/day";
    assert_eq!(
        names("s3://bucket/day/*.pcap"),
        [format!("{day}/a.pcap"), format!("{day}/b.pcap")]
    );
    assert_eq!(names("s3://bucket/**/c.pcap"), [format!("{day}/x/c.pcap")]);
    assert!(whole(&one(&stores, "s3://bucket/day/a.pcap")).unwrap() == large);
    let listed = stores.expand("s3://bucket/day/*.pcap").unwrap();
    assert!(whole(&listed[0]).unwrap() == large);
    assert!(
        whole(&one(&stores, "s3://bucket/empty"))
            .unwrap()
            .is_empty()
    );
    // What a listing found and what is there now are held against each other.
    moto.put("day/a.pcap", &bytes(20 << 20, 2));
    let error = whole(&listed[0]).unwrap_err();
    assert!(error.to_string().contains("it has changed"), "{error}");
    for (address, kind) in [
        ("s3://bucket/none", ErrorKind::NotFound),
        ("s3://bucket/none/*", ErrorKind::NotFound),
        ("s3://no-such-bucket/x", ErrorKind::NotFound),
        ("s3://bucket/day/", ErrorKind::NotFound),
    ] {
        let error = stores.expand(address).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!format!("{error:?}").contains("SECRET"), "{error:?}");
    }
}

#[test]
fn an_object_is_there_when_it_is_whole_and_not_before() {
    let Some(moto) = Moto::start() else {
        weir_testkit::missing("moto", "reading and writing S3");
        return;
    };
    let stores = stores(&moto);
    for (key, size) in [("empty", 0), ("small", 1000), ("large", 30 << 20)] {
        let content = bytes(size, size as u64);
        let address = format!("s3://bucket/{key}");
        let mut file = stores.create(&address).unwrap();
        file.write_all(&content).unwrap();
        file.flush().unwrap();
        assert!(!moto.has(key), "{key}");
        drop(file);
        assert!(!moto.has(key), "{key}");
        let mut file = stores.create(&address).unwrap();
        file.write_all(&content).unwrap();
        file.keep().unwrap();
        assert!(moto.has(key), "{key}");
        assert!(whole(&one(&stores, &address)).unwrap() == content, "{key}");
        assert_eq!(stores.exists(&address).unwrap(), size > 0);
    }
    assert!(!stores.exists("s3://bucket/none").unwrap());
    let error = stores.create("https://host/x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let mut file = stores.create("s3://no-such-bucket/x").unwrap();
    file.write_all(b"x").unwrap();
    let error = file.keep().unwrap_err();
    assert!(
        error.to_string().contains("no such object: NoSuchBucket"),
        "{error}"
    );
}
