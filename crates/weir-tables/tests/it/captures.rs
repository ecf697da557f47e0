//! The captures that are compared: those beside the checkout that are listed, and generated ones.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use weir_testkit::Limited as _;
use weir_testkit::demo::write_demo;
use weir_testkit::trace;

/// A capture, under a name that is the same on every machine.
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Capture {
    /// This capture, named by its path from the folder above `folder`.
    pub(crate) fn within(mut self, folder: &str) -> Self {
        self.name = format!("{folder}/{}", self.name);
        self
    }

    /// Size of the file.
    pub(crate) fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}

/// The captures beside the checkout that are listed below `folder` of `../shared/data`, named by their path in it, in
/// the order of their names.
pub(crate) fn listed(folder: &str) -> Vec<Capture> {
    let files = weir_testkit::captures::listed(folder).into_iter();
    files
        .map(|file| Capture {
            name: file.name,
            path: file.path,
        })
        .collect()
}

/// All captures under `folder`, named by their path in it, in the order of their names.
pub(crate) fn in_folder(folder: &Path) -> Vec<Capture> {
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<Capture>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(root, &path, found);
        } else if weir_capture::sniff_path(&path).is_ok_and(|kind| kind.is_some()) {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            found.push(Capture { name, path });
        }
    }
}

/// The sample captures of the demo and the first part of each trace of the benchmarks, written
/// into `folder`.
pub(crate) fn generated(folder: &Path) -> Vec<Capture> {
    write_demo(folder).unwrap();
    let file = |name: &str| File::create(folder.join(name)).unwrap();
    trace::ethernet_pcap(file("trace-ethernet.pcap"), 1, TRACE_BYTES).unwrap();
    trace::frame_relay_erf(file("trace-frame-relay.erf"), 1, TRACE_BYTES).unwrap();
    trace::atm_erf(file("trace-atm.erf"), 1, TRACE_BYTES).unwrap();
    in_folder(folder)
        .into_iter()
        .map(|capture| capture.within("generated"))
        .collect()
}

/// Frames for columns that no captured traffic at hand fills, made by another program: see
/// `tests/frames/make.py`.
pub(crate) fn frames() -> Vec<Capture> {
    in_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frames"))
        .into_iter()
        .map(|capture| capture.within("frames"))
        .collect()
}

/// Messages of protocols that no capture at hand has, made by another program: see `tests/messages/make.py`.
pub(crate) fn messages() -> Vec<Capture> {
    in_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages"))
        .into_iter()
        .map(|capture| capture.within("messages"))
        .collect()
}

#[test]
fn frames_and_messages_are_what_their_programs_make() {
    for folder in ["tests/frames", "tests/messages"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        made_by_its_program(&folder);
    }
}

fn made_by_its_program(folder: &Path) {
    let python = |arguments: &[&str]| {
        let mut python = std::process::Command::new("python3");
        let output = python.args(arguments).current_dir(folder).output_limited();
        output.ok().filter(|output| output.status.success())
    };
    let version = python(&[
        "-c",
        "import scapy, h2; print(scapy.VERSION, h2.__version__)",
    ]);
    // Other versions may fill in other values.
    if version.is_none_or(|version| version.stdout.trim_ascii() != MAKERS.as_bytes()) {
        weir_testkit::missing("scapy", "whether captures are what their programs make");
        return;
    }
    assert!(
        python(&["make.py", "--check"]).is_some(),
        "run make.py in {}",
        folder.display()
    );
}

/// The versions of scapy and h2 that made the captures.
const MAKERS: &str = "2.8.0 4.4.1";

/// The size is enough for each kind of packet of a trace to occur several times.
const TRACE_BYTES: u64 = 500_000;
