//! The output files that the user names, for every command that writes one.
//!
//! A file takes its name when it is whole (weir-file says what is promised), and a capture is not
//! replaced unless the user says so.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use weir_capture::{is_remote, redacted};
use weir_engine::NewOutput;
use weir_file::{GrowingFile, NewFile, folder_hint};

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;

/// A file that a command writes. A clone writes to the same file; one of them says at the end that it is whole.
#[derive(Clone)]
pub(crate) struct Target {
    path: PathBuf,
    state: Arc<Mutex<TargetState>>,
}

enum TargetState {
    New(BufWriter<NewOutput>),
    /// The file is created with its first byte, so that a query that fails earlier leaves no file.
    Waiting,
    Growing(BufWriter<GrowingFile>),
    Done,
}

impl Target {
    /// The file at `path`, once it is whole.
    pub(crate) fn new(path: &Path, global: Global) -> Result<Self, Failure> {
        if let Some(address) = path.to_str().filter(|path| is_remote(path)) {
            let mut options = weir_engine::Options::default();
            options.overwrite = global.overwrite;
            let object = NewOutput::object(address, &options)?;
            return Ok(Self::with(path, TargetState::New(BufWriter::new(object))));
        }
        guard(path, global)?;
        let file = NewOutput::file(path).map_err(|error| unmade(path, &error))?;
        Ok(Self::with(path, TargetState::New(BufWriter::new(file))))
    }

    /// The file at `path`, if there is one.
    pub(crate) fn optional(path: Option<&Path>, global: Global) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::new(path, global)).transpose()
    }

    /// A writer to the file, or to standard output where there is none.
    pub(crate) fn writer(target: Option<&Self>) -> Box<dyn Write + Send> {
        match target {
            Some(target) => Box::new(target.clone()),
            None => Box::new(io::stdout()),
        }
    }

    /// The file at `path`, which others may see growing, and whose beginning is worth keeping.
    pub(crate) fn growing(path: &Path, global: Global) -> Result<Self, Failure> {
        if let Some(address) = path.to_str().filter(|path| is_remote(path)) {
            let address = redacted(address);
            let message =
                format!("{address}: rows without an end can be written only to a local file");
            return Err(Failure::environment(message).with_hint(
                "a store has an object only when it is complete: copy the file there at the end",
            ));
        }
        guard(path, global)?;
        // Whether it can be written is known before anything is read. A pipe is opened once.
        let file = NewFile::create(path).map_err(|error| unmade(path, &error))?;
        Ok(match file.is_direct() {
            true => Self::with(path, TargetState::New(BufWriter::new(file.into()))),
            false => Self::with(path, TargetState::Waiting),
        })
    }

    fn with(path: &Path, state: TargetState) -> Self {
        Self {
            path: path.to_owned(),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The output is whole: it takes its name.
    pub(crate) fn keep(&self) -> Result<(), Failure> {
        let state = self.with_state(|state| std::mem::replace(state, TargetState::Done));
        let kept = match state {
            TargetState::New(file) => into_inner(file).and_then(NewOutput::keep),
            TargetState::Growing(file) => into_inner(file).and_then(GrowingFile::keep),
            TargetState::Waiting => NewFile::create(&self.path).and_then(NewFile::keep),
            TargetState::Done => Ok(()),
        };
        kept.map_err(|error| Failure::written(&self.path, &error))
    }

    /// Gives the output up, which is not whole. A note names the file in which a part of it remains.
    pub(crate) fn give_up(&self, messages: Messages) {
        let state = self.with_state(|state| std::mem::replace(state, TargetState::Done));
        if let TargetState::Growing(mut file) = state {
            let _ = file.flush();
            if let Some(hidden) = file.get_ref().hidden() {
                let (path, hidden) = (self.path.display(), hidden.display());
                messages.note(&format!(
                    "{path} was not replaced; the rows that arrived are in {hidden}"
                ));
            }
        }
    }

    /// Writes all of it, and gives it its name.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.clone().write_all(bytes);
        written.map_err(|error| Failure::written(&self.path, &error))?;
        self.keep()
    }

    fn with_state<T>(&self, work: impl FnOnce(&mut TargetState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let path = &self.path;
        self.with_state(|state| {
            if matches!(state, TargetState::Waiting) && !bytes.is_empty() {
                *state = TargetState::Growing(BufWriter::new(GrowingFile::create(path)?));
            }
            match state {
                TargetState::New(file) => file.write(bytes),
                TargetState::Growing(file) => file.write(bytes),
                TargetState::Waiting => Ok(0),
                TargetState::Done => Err(io::Error::other("the file has been closed")),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with_state(|state| match state {
            TargetState::New(file) => file.flush(),
            TargetState::Growing(file) => file.flush(),
            TargetState::Waiting | TargetState::Done => Ok(()),
        })
    }
}

fn into_inner<W: Write>(file: BufWriter<W>) -> io::Result<W> {
    file.into_inner().map_err(io::IntoInnerError::into_error)
}

/// The failure of a file that cannot be made.
fn unmade(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::file(path, error);
    match folder_hint(path, error) {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Writes a file whole, as one of many: it is not waited for until the disk has it.
pub(crate) fn put_one_of_many(path: &Path, bytes: &[u8], global: Global) -> Result<(), Failure> {
    guard(path, global)?;
    let mut file = NewFile::create(path).map_err(|error| unmade(path, &error))?;
    file.write_all(bytes)
        .and_then(|()| file.keep_unsynced())
        .map_err(|error| Failure::written(path, &error))
}

/// Refuses to replace a capture: packets cannot be had again.
pub(crate) fn guard(path: &Path, global: Global) -> Result<(), Failure> {
    if global.overwrite || !weir_capture::is_capture_at(path) {
        return Ok(());
    }
    let path = path.display();
    Err(
        Failure::environment(format!("{path} is a capture, and is not replaced"))
            .with_hint("use --overwrite to replace it, or another name to keep both"),
    )
}
