//! `weir clf tail`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use weir_clf::{Follower, Form, Found, Scratch, SearchOptions, Searched, Searcher};

use super::args::Tail;
use super::log::Damages;
use super::search::{Output, close};
use crate::failure::Failure;
use crate::message::Messages;
use crate::progress::Progress;

/// The interval between checks of a log that did not grow.
const PATIENCE: Duration = Duration::from_millis(100);

pub(super) fn run(tail: &Tail, messages: Messages) -> Result<ExitCode, Failure> {
    let query = tail.filter.query()?;
    let failed = |error: std::io::Error| Failure::file(&tail.log, &error);
    // Opened before the last records are looked for: what is written meanwhile is given twice rather
    // than not at all, which the comparison of offsets below prevents. What nothing follows is read to its end, also where
    // the last line has none.
    let mut last: VecDeque<(Form, Vec<u8>)> = VecDeque::new();
    let mut follower = Follower::open(&tail.log, !tail.follow).map_err(failed)?;
    let until = match tail.follow {
        true => follower.offset(),
        false => u64::MAX,
    };
    let mut searched = Searched::default();
    if tail.records > 0 && (tail.log.exists() || !tail.follow) {
        let searcher = Searcher::open(&[&tail.log], SearchOptions::default())
            .map_err(|error| Failure::environment(error.to_string()))?;
        let outcome = searcher.search(&query, &mut |found| {
            if found.offset >= until {
                return ControlFlow::Break(());
            }
            if last.len() == tail.records {
                last.pop_front();
            }
            last.push_back((found.form, found.written.to_vec()));
            ControlFlow::Continue(())
        });
        searched = outcome.map_err(failed)?;
    }
    let out = RefCell::new(Output::new(tail.form.form(), None, Progress::none()));
    let mut scratch = Scratch::default();
    for (form, written) in &last {
        if let Ok((record, _)) = form.decode(written, &mut scratch) {
            let _ = out.borrow_mut().give(&record, written, *form);
        }
    }
    let mut damages = Damages::default();
    let mut gone = !tail.follow;
    while !gone {
        gone = !out.borrow_mut().flushed();
        let mut each = |found: Found<'_>| {
            if query.matches(&found.record, found.written) {
                gone |= out.borrow_mut().push(&found).is_break();
            }
        };
        let count = follower
            .poll(&mut each, &mut |damage| {
                damages.report(&tail.log, &damage, messages);
            })
            .map_err(failed)?;
        if count == 0 && !gone {
            std::thread::sleep(PATIENCE);
        }
    }
    out.into_inner().finish()?;
    if !tail.follow {
        return Ok(close(searched, messages));
    }
    Ok(damages.close(messages))
}
