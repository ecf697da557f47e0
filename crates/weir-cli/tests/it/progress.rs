//! The progress bar, as a pseudo-terminal shows it.

use std::process::{Command, Stdio};

use weir_testkit::Limited as _;

use crate::shell::{folder, run};

/// The work has no end within the test: what is read are files of a terabyte that are holes nearly all through.
#[test]
fn what_reads_for_long_shows_how_far_it_is() {
    let folder = folder("progress");
    for (name, begins_as) in [("hole.clf", "calls.clf"), ("hole.pcap", "call.pcap")] {
        std::fs::copy(folder.join(begins_as), folder.join(name)).unwrap();
        let mut options = std::fs::File::options();
        let file = options.write(true).open(folder.join(name)).unwrap();
        file.set_len(1 << 40).unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/progress.py");
    let Ok(output) = Command::new("python3")
        .args([script, env!("CARGO_BIN_EXE_weir")])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output_limited()
    else {
        weir_testkit::missing("python3", "progress at a terminal");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    let held = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{held}\n{errors}");
    assert_eq!(held.lines().count(), 4, "{held}");
}

#[test]
fn what_is_no_terminal_gets_no_bar() {
    let folder = folder("no-progress");
    let ended = run("weir clf search calls.clf", &folder);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let ended = run("weir clf index calls.clf", &folder);
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains('\r'), "{}", ended.stderr);
}
