//! Configurations run as they are written.

use std::io::Write;
use std::process::{Command, Stdio};

use weir_ws::{Library, Setting, snippet};

fn has(module: &str) -> bool {
    Command::new("python3")
        .args(["-c", &format!("import {module}")])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// What a server with the configuration and a client agree on.
fn run(library: &str, code: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snippets.py");
    let mut child = Command::new("python3")
        .args([script, library])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(code.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{library}:\n{code}\n{said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn pythons_websockets_takes_the_configuration_and_agrees_on_it() {
    if !has("websockets.asyncio.server") {
        eprintln!("SKIPPED: python's websockets is not installed (pip install websockets aiohttp)");
        return;
    }
    for (window_bits, takeover, level, mem_level) in
        [(9, true, 1, 1), (12, true, 6, 5), (15, false, 9, 8)]
    {
        let setting = Setting {
            takeover,
            window_bits,
            level,
            mem_level,
        };
        let code = snippet(Library::PythonWebsockets, setting, 0).code;
        let no = if takeover { "False" } else { "True" };
        let expected = format!("{window_bits} {window_bits} {no} {no} {level} {mem_level}");
        assert_eq!(run("websockets", &code), expected, "{setting}");
    }
}

#[test]
fn aiohttp_takes_the_configuration() {
    if !has("websockets.asyncio.client") || !has("aiohttp") {
        eprintln!("SKIPPED: python's aiohttp is not installed (pip install websockets aiohttp)");
        return;
    }
    let snippet = snippet(Library::Aiohttp, Setting::ZLIB, 0);
    // The warnings say that it follows the client, which asks for 12 bits at the server here.
    let found = run("aiohttp", &snippet.code);
    assert!(found.ends_with("False False - -"), "{found}");
    assert!(
        snippet
            .warnings
            .iter()
            .any(|warning| warning.contains("takeover"))
    );
}
