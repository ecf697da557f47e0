//! The shell at a pseudo-terminal, which `terminal.py` types at; and as a script.

use std::process::{Command, Stdio};

use weir_testkit::Limited as _;

use crate::shell::{folder, run};

#[test]
fn the_shell_at_a_terminal() {
    let folder = folder("terminal");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/terminal.py");
    let Ok(output) = Command::new("python3")
        .args([script, env!("CARGO_BIN_EXE_weir")])
        .arg(&folder)
        .stdin(Stdio::null())
        .output_limited()
    else {
        weir_testkit::missing("python3", "the shell at a terminal");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    let held = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{held}\n{errors}");
    assert!(held.contains("a dumb terminal will do"), "{held}");
}

#[test]
fn a_script_is_answered_up_to_its_first_failure() {
    let folder = folder("script");
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    // Scripts do not read the user's settings.
    put(".weirrc", "SELECT 'from home';");
    put(
        "good.sql",
        "-- two answers\nCREATE VIEW v AS SELECT 1 AS a;\nSELECT a + 1 AS b\nFROM v;\n.mode json\nSELECT b FROM _;\n.quit\nSELCT",
    );
    let ended = run("weir < good.sql", &folder);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout, "b\n2\n[\n{\"b\":2}\n]\n");
    put(
        "bad.sql",
        "SELECT 1 AS a;\n\nSELECT\n  x FROM nothing;\nSELECT 2;",
    );
    let ended = run("weir shell < bad.sql", &folder);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), "a\n1\n"));
    assert!(
        ended
            .stderr
            .starts_with("error: line 3: no table named nothing"),
        "{}",
        ended.stderr
    );
    let ended = run("echo .tabels | weir", &folder);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("did you mean .tables?"),
        "{}",
        ended.stderr
    );
    // Damage gives the exit status that it gives `weir query`.
    let ended = run(
        "echo \"SELECT count(*) AS n FROM 'cut.pcap'\" | weir",
        &folder,
    );
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    // An empty input is a usage error.
    let ended = run("weir < /dev/null", &folder);
    assert!(
        ended.code == Some(2) && ended.stderr.contains("Usage:"),
        "{ended:?}"
    );
    let commands = ".open demo/voip.pcap\n.once first.csv\nSELECT call.state FROM calls LIMIT 1;\n\
                    .output all.csv\nSELECT 1 AS a;\nSELECT 2 AS b;\n.output\n.output x.parquet\n";
    put("files.sql", commands);
    let ended = run("weir < files.sql", &folder);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("cannot be written to one parquet"),
        "{}",
        ended.stderr
    );
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("first.csv").starts_with("call.state\n"));
    assert_eq!(read("all.csv"), "a\n1\n\nb\n2\n");
    // A file that reads itself ends at the limit of nested files.
    put("self.sql", ".read self.sql\n");
    let ended = run("weir < self.sql", &folder);
    assert!(
        ended.code == Some(2) && ended.stderr.contains("16 levels"),
        "{}",
        ended.stderr
    );
}

/// Rows were written as CSV under the name of a picture where the screen had a format of its own.
#[test]
fn a_named_picture_is_written_whatever_the_terminal_has() {
    let folder = folder("pictures");
    std::fs::write(
        folder.join("pictures.sql"),
        ".mode csv\n.once a.svg\nSELECT 'x' AS name, 2 AS n;\n.once b.png\nSELECT 'x' AS name, 2 AS n;\n",
    )
    .unwrap();
    let ended = run("weir shell < pictures.sql", &folder);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let begins = |name: &str, with: &[u8]| {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        assert!(bytes.starts_with(with), "{name}");
    };
    begins("a.svg", b"<svg");
    begins("b.png", b"\x89PNG\r\n\x1a\n");
}
