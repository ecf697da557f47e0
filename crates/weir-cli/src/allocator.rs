//! The settings of the allocator of glibc for a process that runs for a long time.
//!
//! It has eight heaps for each core, and each keeps what the largest texts of statements took in it: a server that has parsed some of a megabyte holds
//! hundreds of megabytes for good, beside what its limit of memory counts.

use std::ffi::OsStr;

/// The tunables that the allocator reads when a program starts: two heaps, which return free memory at their ends, and separate
/// mappings for large blocks.
const SETTINGS: &str = "glibc.malloc.arena_max=2:glibc.malloc.trim_threshold=1048576:\
     glibc.malloc.mmap_threshold=262144:glibc.malloc.top_pad=131072";
/// The variable of the environment that it reads them from.
const VARIABLE: &str = "GLIBC_TUNABLES";

/// Starts this program anew in this process with settings of its allocator, unless it has some already.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn start_with_settings() {
    use std::os::unix::process::CommandExt as _;
    let mut words = std::env::args_os();
    let (Some(name), Ok(program)) = (words.next(), std::env::current_exe()) else {
        return;
    };
    if std::env::var_os(VARIABLE).is_none() {
        let mut command = std::process::Command::new(program);
        // `exec` returns only when the program file no longer exists: this process then continues with the default settings.
        let _ = command
            .arg0(name)
            .args(words)
            .env(VARIABLE, SETTINGS)
            .exec();
    }
}

/// Allocators of other systems have other settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) const fn start_with_settings() {}

/// The variable that processes which compute are to have no longer: many threads of theirs allocate at once.
pub(crate) fn variable() -> Option<&'static str> {
    let given = std::env::var_os(VARIABLE)?;
    (given == OsStr::new(SETTINGS)).then_some(VARIABLE)
}
