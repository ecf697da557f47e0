//! The list of captures that tests read, over folders of other files.

use std::fs;
use std::path::Path;

use weir_testkit::captures::{List, Listed};

use crate::scratch::Scratch;

/// A capture of this test starts with the word `capture`.
fn is_capture(path: &Path) -> bool {
    fs::read(path).unwrap().starts_with(b"capture")
}

fn put(data: &Scratch, name: &str, content: &str) {
    let path = data.0.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn names(files: &[Listed]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}

const LIST: &str = "\
# A comment.
captures/found/a.pcap
captures/found/b.pcap
! captures/found/link.pcap
captures/z.pcap
sip/call.pcap
";

/// The folders at the time when the list is made.
fn folders(name: &str) -> Scratch {
    let data = Scratch::new(name);
    for name in ["captures/found/a.pcap", "captures/found/b.pcap"] {
        put(&data, name, "capture");
    }
    put(&data, "captures/found/link.pcap", "../a.pcap");
    put(&data, "captures/z.pcap", "capture");
    put(&data, "captures/README.md", "words");
    put(&data, "sip/call.pcap", "capture");
    // No test walks this folder.
    put(&data, "reports/one.pcap", "capture");
    data
}

#[test]
fn a_capture_more_is_named_and_changes_nothing() {
    let data = folders("captures-more");
    let list = List::parse(LIST).unwrap();
    let before = list.below(&data.0, "captures");
    assert_eq!(
        names(&before.0),
        ["found/a.pcap", "found/b.pcap", "found/link.pcap", "z.pcap"]
    );
    let are_captures: Vec<bool> = before.0.iter().map(|file| file.is_capture).collect();
    assert_eq!(are_captures, [true, true, false, true]);
    assert!(before.1.is_empty());
    let none = list.unlisted(&data.0, is_capture).unwrap();
    assert!(none.is_empty(), "{none:?}");

    put(&data, "captures/found/aa.pcap", "capture");
    put(&data, "captures/new/0.pcap", "capture");
    put(&data, "captures/found/notes.txt", "words");
    assert_eq!(list.below(&data.0, "captures"), before);
    assert_eq!(
        list.unlisted(&data.0, is_capture).unwrap(),
        ["captures/found/aa.pcap", "captures/new/0.pcap"]
    );
}

#[test]
fn a_capture_less_is_named_as_missing() {
    let data = folders("captures-less");
    let list = List::parse(LIST).unwrap();
    fs::remove_file(data.0.join("captures/found/b.pcap")).unwrap();
    let (there, gone) = list.below(&data.0, "captures");
    assert_eq!(names(&there), ["found/a.pcap", "found/link.pcap", "z.pcap"]);
    assert_eq!(gone, ["captures/found/b.pcap"]);
    let (there, gone) = list.below(&data.0, "captures/found");
    assert_eq!(names(&there), ["a.pcap", "link.pcap"]);
    assert_eq!(gone, ["captures/found/b.pcap"]);
    let (there, gone) = list.below(&data.0, "sip");
    assert_eq!(names(&there), ["call.pcap"]);
    assert_eq!(there[0].path, data.0.join("sip/call.pcap"));
    assert!(gone.is_empty());
}

#[test]
fn a_renewed_list_has_what_is_there() {
    let data = folders("captures-renewed");
    let list = List::of(&data.0, is_capture, |name| name.ends_with(".pcap")).unwrap();
    assert_eq!(list, List::parse(LIST).unwrap());
    let text = list.to_string();
    assert!(text.starts_with("# "), "{text}");
    assert_eq!(List::parse(&text).unwrap(), list);
    // A capture without a capture's name is listed, too.
    put(&data, "sip/call", "capture");
    let more = List::of(&data.0, is_capture, |name| name.ends_with(".pcap")).unwrap();
    assert_eq!(names(&more.below(&data.0, "sip").0), ["call", "call.pcap"]);
}

#[test]
fn a_list_is_sorted_and_names_nothing_twice() {
    for text in ["sip/b\n! sip/a\n", "sip/a\n! sip/a\n"] {
        let fault = List::parse(text).unwrap_err();
        assert!(fault.starts_with("sip/a is not behind sip/"), "{fault}");
    }
}
