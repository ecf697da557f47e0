//! Runs configurations as written.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use weir_testkit::Limited as _;
use weir_ws::{Library, Setting, snippet};

fn has(module: &str) -> bool {
    Command::new("python3")
        .args(["-c", &format!("import {module}")])
        .output_limited()
        .is_ok_and(|output| output.status.success())
}

/// The parameters that a server with the configuration and a client agree on.
fn run(library: &str, code: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snippets.py");
    run_with(Command::new("python3").args([script, library]), code)
}

/// The output of a program that gets the configuration on its standard input.
fn run_with(program: &mut Command, code: &str) -> String {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(code.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?}:\n{code}\n{errors}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn pythons_websockets_takes_the_configuration_and_agrees_on_it() {
    if !has("websockets.asyncio.server") {
        weir_testkit::missing(
            "python-websockets",
            "its configuration (pip install websockets)",
        );
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
        weir_testkit::missing(
            "python-websockets",
            "aiohttp's configuration (pip install aiohttp)",
        );
        return;
    }
    let snippet = snippet(Library::Aiohttp, Setting::ZLIB, 0);
    // It follows the client, which requests 12 bits at the server here, as a warning states.
    let found = run("aiohttp", &snippet.code);
    assert!(found.ends_with("False False - -"), "{found}");
    assert!(
        snippet
            .warnings
            .iter()
            .any(|warning| warning.contains("takeover"))
    );
}

#[test]
fn tornado_takes_the_configuration() {
    if !has("websockets.asyncio.client") || !has("tornado") {
        weir_testkit::missing(
            "python-websockets",
            "tornado's configuration (pip install tornado)",
        );
        return;
    }
    for (level, mem_level) in [(1, 1), (9, 8)] {
        let setting = Setting {
            level,
            mem_level,
            ..Setting::ZLIB
        };
        let found = run("tornado", &snippet(Library::Tornado, setting, 0).code);
        // The windows are those that the client requests, as a warning states.
        assert!(
            found.ends_with(&format!("False False {level} {mem_level}")),
            "{found}"
        );
    }
}

#[test]
fn ws_takes_the_configuration_and_agrees_on_it() {
    let node = |arguments: &[&str]| {
        let mut node = Command::new("node");
        node.args(arguments);
        node
    };
    let found = node(&["-e", "require('ws')"]).output_limited();
    if !found.is_ok_and(|output| output.status.success()) {
        weir_testkit::missing(
            "node-ws",
            "its configuration (npm install ws; NODE_PATH=node_modules)",
        );
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/snippets.cjs");
    for (window_bits, takeover, level, mem_level, threshold) in [
        (9, true, 1, 1, 0),
        (12, true, 6, 5, 40),
        (15, false, 9, 8, 1024),
    ] {
        let setting = Setting {
            takeover,
            window_bits,
            level,
            mem_level,
        };
        let code = snippet(Library::Ws, setting, threshold).code;
        let no = !takeover;
        let expected =
            format!("{window_bits} {window_bits} {no} {no} {level} {mem_level} {threshold}");
        assert_eq!(run_with(&mut node(&[script]), &code), expected, "{setting}");
    }
}

/// Builds and runs a program of Go around the configuration; `None` where Go or the library is not there. No packages
/// are fetched.
fn go(program: &str, module: &str, version: &str, code: &str) -> Option<String> {
    let name = module.replace('/', "-");
    let folder = std::env::temp_dir().join(format!("weir-ws-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = program.replace("CONFIGURATION", &code.replace('\n', "\n\t\t"));
    std::fs::write(folder.join("main.go"), program).unwrap();
    let requires = format!("module peer\n\ngo 1.23\n\nrequire {module} {version}\n");
    std::fs::write(folder.join("go.mod"), requires).unwrap();
    let output = run_go(&folder, &["mod", "download"])
        .filter(|output| output.status.success())
        .and_then(|_| run_go(&folder, &["run", "-mod=mod", "."]));
    std::fs::remove_dir_all(&folder).unwrap();
    let Some(output) = output else {
        weir_testkit::missing(
            "go-websocket",
            &format!("go mod download {module}@{version}"),
        );
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{module}:\n{code}\n{errors}");
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn run_go(folder: &Path, arguments: &[&str]) -> Option<std::process::Output> {
    Command::new("go")
        .args(arguments)
        .current_dir(folder)
        .env("GOPROXY", "off")
        .env("GOSUMDB", "off")
        .env("GOFLAGS", "")
        .output_limited()
        .ok()
}

#[test]
fn gorilla_takes_the_configuration() {
    for takeover in [true, false] {
        let setting = Setting {
            takeover,
            level: 9,
            ..Setting::ZLIB
        };
        let snippet = snippet(Library::Gorilla, setting, 0);
        let Some(found) = go(
            include_str!("snippets_gorilla.go"),
            "github.com/gorilla/websocket",
            "v1.5.3",
            &snippet.code,
        ) else {
            return;
        };
        // The library always negotiates no takeover, as a warning states.
        let expected = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        assert_eq!(found, expected);
        let warned = snippet
            .warnings
            .iter()
            .any(|warning| warning.contains("without takeover"));
        assert_eq!(warned, takeover);
    }
}

#[test]
fn coder_takes_the_configuration() {
    for takeover in [true, false] {
        let setting = Setting::ZLIB.with_takeover(takeover);
        let snippet = snippet(Library::Coder, setting, 16);
        let Some(found) = go(
            include_str!("snippets_coder.go"),
            "github.com/coder/websocket",
            "v1.8.15",
            &snippet.code,
        ) else {
            return;
        };
        assert_eq!(
            found.contains("server_no_context_takeover"),
            !takeover,
            "{found}"
        );
        assert_eq!(
            found.contains("client_no_context_takeover"),
            !takeover,
            "{found}"
        );
        assert!(found.starts_with("permessage-deflate"), "{found}");
    }
}
