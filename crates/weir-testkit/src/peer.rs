//! A cache of the answers of peer programs: each question about a file's content runs the program once.
//!
//! tshark takes minutes to repeat its answers about several hundred captures. A [`Question`] is a program, its version,
//! and its arguments with the content of each file in place of its path; its [`PeerAnswer`] is stored under the hash of these, in
//! `${XDG_CACHE_HOME:-$HOME/.cache}/weir/peers`. `WEIR_PEERS=anew` runs the programs again for every question.
//!
//! The answer may depend on nothing else. So the program runs in an environment of its own, without a home folder and in UTC,
//! and a command that captures from an interface or writes files is no question.

mod cache;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use self::cache::AnswerCache;
use crate::Limited as _;

/// A question to a program, put together as a [`Command`] is.
///
/// ```no_run
/// use weir_testkit::peer::Question;
///
/// let mut tshark = Question::to("tshark");
/// tshark.args(["-n", "-T", "fields", "-e", "ip.src", "-r"]).file("trace.pcap");
/// let answer = tshark.answer()?;
/// assert!(answer.is_success());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Question {
    program: OsString,
    words: Vec<Word>,
}

/// An argument.
#[derive(Clone, Debug)]
enum Word {
    Plain(OsString),
    /// A file that the program reads, and what stands before its path in the argument.
    File(OsString, PathBuf),
}

/// The answer of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerAnswer {
    /// The exit status; `None` when a signal ended the program.
    pub code: Option<i32>,
    /// The bytes of standard output.
    pub stdout: Vec<u8>,
    /// The bytes of standard error. A path in it may name another file with the same content.
    pub stderr: Vec<u8>,
}

impl PeerAnswer {
    /// Returns true when the exit status is 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Standard output as text; what is no UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns true when the next run would give the same answer. A program that a signal ended, or that failed without output,
    /// may have lacked memory or open files.
    fn is_lasting(&self) -> bool {
        self.is_success() || (self.code.is_some() && !self.stdout.is_empty())
    }
}

impl Question {
    /// A question to `program`, without arguments.
    #[must_use]
    pub fn to(program: impl Into<OsString>) -> Self {
        let program = program.into();
        let words = Vec::new();
        Self { program, words }
    }

    /// Adds an argument that names no file.
    pub fn arg(&mut self, word: impl Into<OsString>) -> &mut Self {
        self.words.push(Word::Plain(word.into()));
        self
    }

    /// Adds arguments that name no files.
    pub fn args<T: Into<OsString>>(&mut self, words: impl IntoIterator<Item = T>) -> &mut Self {
        let words = words.into_iter().map(|word| Word::Plain(word.into()));
        self.words.extend(words);
        self
    }

    /// Adds the path of a file that the program reads.
    pub fn file(&mut self, path: impl Into<PathBuf>) -> &mut Self {
        self.file_behind("", path)
    }

    /// Adds an argument that ends with the path of a file that the program reads, as in `lua_script:PATH`.
    pub fn file_behind(
        &mut self,
        before: impl Into<OsString>,
        path: impl Into<PathBuf>,
    ) -> &mut Self {
        self.words.push(Word::File(before.into(), path.into()));
        self
    }

    /// The answer: the cached one, or that of a run of the program.
    ///
    /// # Errors
    /// The program is not there or cannot be started, or a file cannot be read.
    ///
    /// # Panics
    /// When this is no pure question: an argument without [`Question::file`] names a file, or the program would capture or
    /// write files.
    pub fn answer(&self) -> io::Result<PeerAnswer> {
        Peers::of_user().answer(self)
    }

    /// The hash of everything but the program's version that the answer depends on.
    fn key(&self, version: &str) -> io::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        let mut part = |kind: u8, bytes: &[u8]| {
            hasher.update(&[kind]);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(b'a', ASKED_AS.as_bytes());
        part(b'p', self.program.as_encoded_bytes());
        part(b'v', version.as_bytes());
        for word in &self.words {
            match word {
                Word::Plain(word) => part(b'w', word.as_encoded_bytes()),
                Word::File(before, path) => {
                    // Wireshark tries formats in an order that the extension decides.
                    let extension = path.extension().unwrap_or_default();
                    part(b'b', before.as_encoded_bytes());
                    part(b'e', extension.as_encoded_bytes());
                    part(b'c', content(path)?.as_bytes());
                }
            }
        }
        Ok(hasher.finalize())
    }

    fn put(&self) -> io::Result<PeerAnswer> {
        let mut command = alone(&self.program);
        for word in &self.words {
            match word {
                Word::Plain(word) => command.arg(word),
                Word::File(before, path) => {
                    let mut word = before.clone();
                    word.push(path);
                    command.arg(word)
                }
            };
        }
        let output = command.output_limited()?;
        Ok(PeerAnswer {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }

    fn assert_pure(&self) {
        for word in &self.words {
            let Word::Plain(word) = word else { continue };
            let text = word.to_string_lossy();
            let does_more = DO_MORE.iter().any(|option| text.starts_with(option));
            assert!(!does_more, "{text} makes this more than a question");
            let paths = [Some(&*text), text.split_once(':').map(|(_, path)| path)];
            let is_file = paths.iter().flatten().any(|path| Path::new(path).is_file());
            assert!(
                !is_file,
                "{text} names a file, on whose content the answer depends: Question::file takes it"
            );
        }
    }
}

/// The output of `program --version`, and for tshark also its preferences; `None` when the program is not installed.
#[must_use]
pub fn version(program: &str) -> Option<String> {
    Peers::of_user().version(program.as_ref()).ok()
}

/// The peers as one process asks them.
struct Peers {
    cache: AnswerCache,
    /// The versions of programs, by their names.
    versions: Mutex<HashMap<OsString, String>>,
}

impl Peers {
    fn of_user() -> &'static Self {
        static PEERS: OnceLock<Peers> = OnceLock::new();
        PEERS.get_or_init(|| {
            let is_anew = match std::env::var("WEIR_PEERS").as_deref() {
                Ok("anew") => true,
                Ok("") | Err(std::env::VarError::NotPresent) => false,
                other => panic!("WEIR_PEERS is {other:?}: it may be anew, or not be there"),
            };
            Self::new(AnswerCache::new(cache::folder(), cache::BYTES_MAX, is_anew))
        })
    }

    fn new(cache: AnswerCache) -> Self {
        let versions = Mutex::default();
        Self { cache, versions }
    }

    fn answer(&self, question: &Question) -> io::Result<PeerAnswer> {
        question.assert_pure();
        let version = self.version(&question.program)?;
        let key = question.key(&version)?;
        if let Some(answer) = self.cache.find(&key) {
            return Ok(answer);
        }
        let answer = question.put()?;
        if answer.is_lasting() {
            self.cache.keep(&key, &answer);
        }
        Ok(answer)
    }

    fn version(&self, program: &OsStr) -> io::Result<String> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = versions.get(program) {
            return Ok(version.clone());
        }
        let said = |words: &[&str]| {
            let output = alone(program).args(words).output_limited()?;
            match output.status.success() {
                true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
                false => Err(io::Error::other(format!(
                    "{} {} failed",
                    program.to_string_lossy(),
                    words.join(" ")
                ))),
            }
        };
        let mut version = said(&["--version"])?;
        if program == "tshark" {
            // The preferences are the system's, since there is no home folder.
            version.push_str(&said(&["-G", "currentprefs"])?);
        }
        versions.insert(program.to_owned(), version.clone());
        Ok(version)
    }
}

/// A command whose environment is the same for everyone.
fn alone(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in HANDED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("HOME", "/nonexistent")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC");
    command
}

fn content(path: &Path) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(named)?;
    hasher.update_reader(file).map_err(named)?;
    Ok(hasher.finalize())
}

/// The version of the environment that [`alone`] sets and of the parts of a key: a change here makes all older answers
/// unreachable.
const ASKED_AS: &str = "1";

/// Variables by which programs and their libraries are found, and where they may put what is not there afterwards.
const HANDED_ON: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "TMPDIR"];

/// Prefixes of tshark's options that capture from an interface or write files.
const DO_MORE: [&str; 4] = ["-w", "-i", "--interface", "--export-objects"];
