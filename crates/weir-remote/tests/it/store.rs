//! A stand-in of S3.

use std::io::Write as _;

use weir_capture::Object as _;
use weir_remote::{ErrorKind, StoreOptions, Stores};
use weir_testkit::web::{Faults, Moto, WebServer};

use crate::{bytes, one, whole};

fn stores(moto: &Moto) -> Stores {
    let mut options = StoreOptions::default();
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
    // The reader compares an object with its entry in the listing.
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

/// A server with the answers of Google's and Azure's interfaces: the forms of their lists, and the addresses of their objects.
#[test]
fn objects_of_google_and_azure_are_listed_and_read() {
    let server = WebServer::start(Faults {
        break_every: 5,
        ..Faults::default()
    });
    let content = bytes(9 << 20, 7);
    let size = content.len();
    // Google's name of an object is one segment of the path, Azure's several.
    server.put("bucket/day%2Fa%2Epcap", content.clone());
    server.put("container/day/a.pcap", content.clone());
    server.put(
        "bucket",
        format!(
            "<?xml version='1.0'?><ListBucketResult><Name>bucket</Name><Prefix>day/</Prefix><KeyCount>2</KeyCount>\
             <IsTruncated>false</IsTruncated>\
             <Contents><Key>day/a.pcap</Key><LastModified>2026-11-23T07:00:01.000Z</LastModified><ETag>\"1\"</ETag>\
             <Size>{size}</Size></Contents>\
             <Contents><Key>day/a.txt</Key><LastModified>2026-11-23T07:00:01.000Z</LastModified><ETag>\"1\"</ETag>\
             <Size>7</Size></Contents></ListBucketResult>"
        )
        .into_bytes(),
    );
    let blob = |name: &str, size: usize| {
        format!(
            "<Blob><Name>{name}</Name><Properties><Last-Modified>Mon, 23 Nov 2026 07:00:01 GMT</Last-Modified>\
             <Etag>\"1\"</Etag><Content-Length>{size}</Content-Length><Content-Type>x</Content-Type></Properties></Blob>"
        )
    };
    server.put(
        "container",
        format!(
            "<?xml version=\"1.0\"?><EnumerationResults><Prefix>day/</Prefix><Blobs>{}{}</Blobs><NextMarker/></EnumerationResults>",
            blob("day/a.pcap", size),
            blob("day/a.txt", 7)
        )
        .into_bytes(),
    );
    let at = format!("http://{}", server.host());
    let mut options = StoreOptions::default();
    for (name, value) in [
        ("google_base_url", at.as_str()),
        ("google_skip_signature", "true"),
        ("azure_storage_account_name", "account"),
        ("azure_storage_endpoint", &at),
        ("azure_skip_signature", "true"),
        ("azure_allow_http", "true"),
    ] {
        options.settings.push((name.to_owned(), value.to_owned()));
    }
    let stores = Stores::new(&options).unwrap();
    for start in ["gs://bucket", "az://container"] {
        for name in ["day/a.pcap", "day/*.pcap"] {
            let object = one(&stores, &format!("{start}/{name}"));
            assert_eq!(object.name(), format!("{start}/day/a.pcap"));
            assert!(whole(&object).unwrap() == content, "{start}/{name}");
        }
        let error = stores.expand(&format!("{start}/none.pcap")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    // An object that changes while it is read.
    for (start, key) in [
        ("gs://bucket", "bucket/day%2Fa%2Epcap"),
        ("az://container", "container/day/a.pcap"),
    ] {
        let object = one(&stores, &format!("{start}/day/a.pcap"));
        server.put(key, bytes(size, 8));
        let error = whole(&object).unwrap_err();
        assert!(error.to_string().contains("it has changed"), "{error}");
    }
}
