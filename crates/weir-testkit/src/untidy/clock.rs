//! Clocks that are set.

use std::collections::BTreeSet;

use super::{Account, Capture};

/// Gives the frames of each burst the time of its first one.
pub(super) fn equal(capture: &mut Capture, account: &mut Account, within_us: u16) {
    let within_ns = u64::from(within_us) * 1_000;
    let mut first_ns: Option<u64> = None;
    let mut seen = BTreeSet::new();
    for frame in &mut capture.frames {
        let own_ns = frame.time_ns;
        let is_of_burst = |first: &u64| {
            own_ns
                .checked_sub(*first)
                .is_some_and(|behind| behind <= within_ns)
        };
        let time_ns = first_ns.filter(is_of_burst).unwrap_or(own_ns);
        first_ns = Some(time_ns);
        frame.time_ns = time_ns;
        // The difference of a frame is that of the first one that was made of it.
        if let Some(origin) = frame.origin
            && seen.insert(origin)
            && time_ns != own_ns
        {
            let difference = time_ns.wrapping_sub(own_ns).cast_signed();
            *account.times.entry(origin).or_default() += difference;
        }
    }
}

/// Sets the clock from some frame on.
pub(super) fn step(
    tidy: &Capture,
    capture: &mut Capture,
    account: &mut Account,
    (at_per_mille, by_ms): (u16, i64),
) {
    // The frames of the tidy capture set the moment, so that it does not depend on what other doses left out.
    let at = tidy.frames.len() * usize::from(at_per_mille) / 1_000;
    let Some(first) = tidy.frames.get(at).and_then(|frame| frame.origin) else {
        return;
    };
    let by_ns = by_ms.saturating_mul(1_000_000);
    let from = capture
        .frames
        .iter()
        .position(|frame| frame.origin >= Some(first));
    let Some(from) = from else {
        return;
    };
    // The step of a frame is that of the first one that was made of it: a copy may come behind the moment.
    let before = capture.frames[..from].iter();
    let mut stepped_already: BTreeSet<usize> = before.filter_map(|frame| frame.origin).collect();
    for frame in &mut capture.frames[from..] {
        let stepped = frame.time_ns.saturating_add_signed(by_ns);
        let difference = stepped.wrapping_sub(frame.time_ns) as i64;
        frame.time_ns = stepped;
        if let Some(origin) = frame.origin
            && stepped_already.insert(origin)
        {
            *account.times.entry(origin).or_default() += difference;
        }
    }
}
