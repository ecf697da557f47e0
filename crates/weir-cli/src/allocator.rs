//! The settings of the allocator of glibc for a process that runs for a long time.
//!
//! It has eight heaps for each core, and each keeps what the largest texts of statements took in it: a server that has parsed some of a megabyte holds
//! hundreds of megabytes for good, beside what its limit of memory counts. An executor of two cores with a limit of 300 MB held 360 MB after groups,
//! windows and joins, and with as many heaps as tasks 220 MB (6.8 s of processor time instead of 6.5).

/// The least number of heaps, which a server has.
#[cfg(any(feature = "serve", all(target_os = "linux", target_env = "gnu")))]
pub(crate) const HEAPS_MIN: usize = 2;
/// The variable of the environment that the allocator reads its settings from.
#[cfg(any(feature = "serve", all(target_os = "linux", target_env = "gnu")))]
const VARIABLE: &str = "GLIBC_TUNABLES";

/// The tunables that the allocator reads when a program starts: so many heaps, which return free memory at their ends, and separate
/// mappings for large blocks.
#[cfg(any(feature = "serve", all(target_os = "linux", target_env = "gnu")))]
fn settings(heaps: usize) -> String {
    format!(
        "glibc.malloc.arena_max={heaps}:glibc.malloc.trim_threshold=1048576:\
         glibc.malloc.mmap_threshold=262144:glibc.malloc.top_pad=131072"
    )
}

/// Starts this program anew in this process with settings of its allocator, unless it has some already.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn start_with_settings(heaps: usize) {
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
            .env(VARIABLE, settings(heaps.max(HEAPS_MIN)))
            .exec();
    }
}

/// Allocators of other systems have other settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) const fn start_with_settings(_heaps: usize) {}

/// The variable that processes which compute for a server are to have no longer: many threads of theirs allocate at once.
#[cfg(feature = "serve")]
pub(crate) fn variable() -> Option<&'static str> {
    let given = std::env::var_os(VARIABLE)?;
    (given.to_str() == Some(settings(HEAPS_MIN).as_str())).then_some(VARIABLE)
}
