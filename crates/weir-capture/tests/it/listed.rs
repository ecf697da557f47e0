//! The list of captures that tests read, in `weir-testkit`, and the captures that lie beside the checkout.

use std::fs;
use std::path::Path;

use weir_capture::{is_capture_name, sniff_path};
use weir_testkit::captures::{self, List};

fn is_capture(path: &Path) -> bool {
    sniff_path(path).is_ok_and(|found| found.is_some())
}

/// Each capture of the list is one, and no other file of the list is. Captures that the list lacks are reported without a
/// failure; `WEIR_BLESS=1` writes a new list.
#[test]
fn captures_are_listed() {
    let data = captures::data();
    if !captures::FOLDERS
        .iter()
        .any(|folder| data.join(folder).is_dir())
    {
        weir_testkit::missing("captures", &data.display().to_string());
        return;
    }
    if std::env::var_os("WEIR_BLESS").is_some() {
        let list = List::of(&data, is_capture, is_capture_name).unwrap();
        fs::write(captures::list_path(), list.to_string()).unwrap();
        return;
    }
    weir_testkit::unlisted(&List::load().unlisted(&data, is_capture).unwrap());
    let files = captures::FOLDERS.map(captures::listed_by_name).concat();
    let wrong: Vec<_> = files
        .iter()
        .filter(|file| is_capture(&file.path) != file.is_capture)
        .collect();
    assert!(
        wrong.is_empty(),
        "the list says the opposite: {wrong:#?}\nWEIR_BLESS=1 writes what is there"
    );
}
