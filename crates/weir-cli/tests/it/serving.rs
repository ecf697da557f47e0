//! Tests of the allocator settings that `weir serve` and executors start with.

#[cfg(all(feature = "serve", target_os = "linux", target_env = "gnu"))]
#[test]
fn a_server_has_two_heaps_and_its_processes_as_many_as_they_take() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use weir_testkit::Limited as _;
    let folder = tempfile::tempdir().unwrap();
    let server = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .current_dir(folder.path())
        .env_remove("GLIBC_TUNABLES")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn_limited();
    let mut server = Ended(server.unwrap());
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    for scheme in ["postgresql:", "http:"] {
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(scheme), "{line}");
    }
    let process = server.0.id();
    let has_settings = |process: u32| has_heaps(process, 2);
    assert!(has_settings(process));
    let children = || {
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let children = threads.filter_map(|thread| {
            let children = thread.unwrap().path().join("children");
            std::fs::read_to_string(children).ok()
        });
        let children = children.collect::<Vec<_>>().join(" ");
        let children = children.split_whitespace().map(str::parse::<u32>);
        children.collect::<Result<Vec<_>, _>>().unwrap()
    };
    weir_testkit::until("a process of statements without them", || {
        let children = children();
        !children.is_empty() && !children.into_iter().any(has_settings)
    });
}

#[cfg(all(feature = "cluster", target_os = "linux", target_env = "gnu"))]
#[test]
fn an_executor_has_as_many_heaps_as_tasks() {
    use std::process::{Command, Stdio};

    use weir_testkit::Limited as _;
    let folder = tempfile::tempdir().unwrap();
    // No scheduler listens at this port, and the executor waits for it.
    let executor = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["cluster", "executor", "--scheduler", "127.0.0.1:1"])
        .args(["--no-token", "--cores", "3", "--work-dir", "."])
        .current_dir(folder.path())
        .env_remove("GLIBC_TUNABLES")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn_limited();
    let executor = Ended(executor.unwrap());
    weir_testkit::until("three heaps", || has_heaps(executor.0.id(), 3));
}

/// Whether a process was started with so many heaps.
#[cfg(all(
    any(feature = "cluster", feature = "serve"),
    target_os = "linux",
    target_env = "gnu"
))]
fn has_heaps(process: u32, heaps: usize) -> bool {
    let given = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let expected = format!("GLIBC_TUNABLES=glibc.malloc.arena_max={heaps}");
    // Some versions of glibc end each setting with an octet 0 when they read it.
    given.split(|octet| *octet == 0).any(|one| {
        let rest = one.strip_prefix(expected.as_bytes());
        rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_digit))
    })
}

/// A process that ends with this.
#[cfg(all(
    any(feature = "cluster", feature = "serve"),
    target_os = "linux",
    target_env = "gnu"
))]
struct Ended(std::process::Child);

#[cfg(all(
    any(feature = "cluster", feature = "serve"),
    target_os = "linux",
    target_env = "gnu"
))]
impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
