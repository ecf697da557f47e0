//! Writing the packets of a call, while the screens go on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::spool::Spool;
use crate::args::Global;
use crate::message::Messages;

/// Where the packets of calls can be had again.
#[derive(Clone)]
pub(super) enum Store {
    /// The captures that were named.
    Captures(Vec<String>),
    /// What was kept of packets that come once.
    Spool(Arc<Spool>),
}

/// Saves calls, one after the other, and tells how it went.
pub(super) struct Saving {
    store: Store,
    global: Global,
    told: (Sender<Told>, Receiver<Told>),
    /// Those that are not done.
    pub(super) under_way: usize,
}

/// What is to be said, and whether it is an error.
pub(super) type Told = (String, bool);

impl Saving {
    pub(super) fn new(store: Store, global: Global) -> Self {
        Self {
            store,
            global,
            told: channel(),
            under_way: 0,
        }
    }

    /// Begins to write the call; what is there stays.
    pub(super) fn begin(&mut self, call_id: &[u8], path: PathBuf) -> Told {
        let shown = path.display().to_string();
        if path.exists() && !self.global.overwrite {
            return (
                format!("{shown} is there already, and stays: take another name"),
                true,
            );
        }
        let Ok(call_id) = String::from_utf8(call_id.to_vec()) else {
            return (
                "a Call-ID that is no UTF-8 cannot be looked for".to_owned(),
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
            Err(error) => return (format!("packets cannot be had again: {error}"), true),
        };
        let (sender, mut global) = (self.told.0.clone(), self.global);
        global.quiet = true;
        self.under_way = self.under_way.saturating_add(1);
        thread::spawn(move || {
            let told = write(&captures, &call_id, &path, global);
            // Who has left does not wait for it.
            let _ = sender.send(told);
        });
        (format!("writing {shown} …"), false)
    }

    /// How a call went that is written, if one is.
    pub(super) fn told(&mut self) -> Option<Told> {
        let told = self.told.1.try_recv().ok()?;
        self.under_way = self.under_way.saturating_sub(1);
        Some(told)
    }
}

/// Writes the packets of a call as `weir carve` does.
fn write(captures: &[String], call_id: &str, path: &Path, global: Global) -> Told {
    let shown = path.display();
    let outcome = crate::filter::call(captures, call_id, path, global, Messages::silent());
    match outcome {
        // Damage of the captures is told at the end, once.
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
