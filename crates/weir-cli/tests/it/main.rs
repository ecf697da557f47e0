//! The real program, as a shell runs it: what it writes, where, and how it ends.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod calls;
mod carve;
mod cases;
mod clf;
#[cfg(feature = "cluster")]
mod cluster;
mod documents;
mod hep;
mod live;
mod outputs;
mod progress;
#[cfg(feature = "remote")]
mod remote;
mod reports;
mod serving;
mod shell;
mod signals;
mod statuses;
mod terminal;
mod times;
mod transcript;
mod websocket;

/// A test for each file of `tests/transcripts`.
macro_rules! transcripts {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            #[cfg_attr(not(feature = "full"), ignore = "transcripts are of the program with all features")]
            fn $name() {
                transcript::check(stringify!($name));
            }
        )*

        #[test]
        fn every_transcript_is_run() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let run = [$(stringify!($name)),*];
                assert!(run.iter().any(|run| name == format!("{run}.txt")), "{name} is not run");
            }
        }
    };
}

transcripts!(
    clf, colour, damage, demo, failures, fields, files, filter, formats, help, pipes, plots, sip,
    stats, statements, usage, websocket, zones,
);
