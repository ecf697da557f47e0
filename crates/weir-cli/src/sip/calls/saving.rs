//! Writing the packets of a call, while the screens go on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::spool::Spool;
use crate::args::Global;
use crate::message::Messages;

/// The store from which packets of calls can be read again.
#[derive(Clone)]
pub(super) enum Store {
    /// The captures that were named.
    Captures(Vec<String>),
    /// The packets that were kept from a source that cannot be read again.
    Spool(Arc<Spool>),
}

/// Saves calls, each on a thread of its own, and reports the outcomes.
pub(super) struct Saving {
    store: Store,
    global: Global,
    outcomes: (Sender<StatusLine>, Receiver<StatusLine>),
    /// The number of calls whose outcome has not come yet.
    pub(super) under_way: usize,
}

/// A text for the last line of the screen, and whether it is an error.
pub(super) type StatusLine = (String, bool);

impl Saving {
    pub(super) fn new(store: Store, global: Global) -> Self {
        Self {
            store,
            global,
            outcomes: channel(),
            under_way: 0,
        }
    }

    /// Begins to write the call. A file that exists already is left alone.
    pub(super) fn begin(&mut self, call_id: &[u8], path: PathBuf) -> StatusLine {
        let shown = path.display().to_string();
        if path.exists() && !self.global.overwrite {
            return (
                format!("{shown} already exists, and is not replaced: use another name"),
                true,
            );
        }
        let Ok(call_id) = String::from_utf8(call_id.to_vec()) else {
            return (
                "the Call-ID is not valid UTF-8, and its packets cannot be selected".to_owned(),
                true,
            );
        };
        let captures = match &self.store {
            Store::Captures(captures) => Ok(captures.clone()),
            Store::Spool(spool) => spool.captures().map(|paths| {
                let paths = paths.into_iter();
                paths.map(|path| path.display().to_string()).collect()
            }),
        };
        let captures = match captures {
            Ok(captures) => captures,
            Err(error) => {
                return (
                    format!("the packets stored on disk cannot be written out: {error}"),
                    true,
                );
            }
        };
        let (sender, mut global) = (self.outcomes.0.clone(), self.global);
        global.quiet = true;
        self.under_way = self.under_way.saturating_add(1);
        thread::spawn(move || {
            let outcome = write(&captures, &call_id, &path, global);
            // Sending fails when the receiver was dropped, and then the outcome is of no use any more.
            let _ = sender.send(outcome);
        });
        (format!("writing {shown} …"), false)
    }

    /// The outcome of a call whose writing has ended since the last look, if there is one.
    pub(super) fn finished(&mut self) -> Option<StatusLine> {
        let outcome = self.outcomes.1.try_recv().ok()?;
        self.under_way = self.under_way.saturating_sub(1);
        Some(outcome)
    }
}

/// Writes the packets of a call as `weir carve` does.
fn write(captures: &[String], call_id: &str, path: &Path, global: Global) -> StatusLine {
    let shown = path.display();
    let outcome = crate::filter::call(captures, call_id, path, global, Messages::silent());
    match outcome {
        // Status 1 is damage in the captures. The book has its messages, which are printed when the screens are left.
        Ok(code) if code == ExitCode::SUCCESS || code == ExitCode::from(1) => {
            (format!("{} packets are in {shown}", counted(path)), false)
        }
        Ok(_) => (format!("{shown} was not written"), true),
        Err(failure) => (failure.to_string(), true),
    }
}

fn counted(path: &Path) -> u64 {
    let mut count = 0;
    if let Ok(mut reader) = weir_capture::open(path) {
        while let Ok(Some(_)) = reader.next() {
            count += 1;
        }
    }
    count
}
