//! The chores of the program, and their usage.

pub(crate) const USAGE: &str = "\
cargo xtask test [--busy] [--at-once N] [ARGS…]
                                     all tests, each program within a limit; ARGS go to cargo test. --busy has four
                                     programs take what they get of the processor meanwhile, --at-once runs N programs
                                     side by side (half as many as there are cores)
cargo xtask peers --anew [ARGS…]     the tests that ask peers (tshark), which are asked again; ARGS go to cargo test
cargo xtask ci                       what a change has to pass: fmt, tidy, clippy, tests, Python, the page
cargo xtask ci --full                the whole gate: documents, licences, packages, sanitizers and fuzzing as well
cargo xtask ci [--full] --from STEP  the gate from a step on, which had failed before
cargo xtask tidy                     rules on the sources that no other tool knows
cargo xtask tidy --dialect [CRATE]   the phrases that xtask/dialect.txt counts, with their places
cargo xtask tidy --messages          every message that users can read, as xtask/messages.txt has them
cargo xtask fuzz [--minutes N] [TARGET…]
                                     every fuzz target: its corpus, and N minutes (2) of free seeds on all cores
cargo xtask sanitize                 the dictionary's tests under address sanitizer, valgrind and miri
cargo xtask python                   the extension module for Python: pytest, mypy, stubtest (WEIR_PYTHON names a python)
cargo xtask python --pack            a wheel of the dev profile, and the README's examples from it
cargo xtask python --wheel            the wheel as users get it, and the README's examples in environments that have nothing else
cargo xtask python --asan [ARGS…]     the extension module's tests under the address sanitizer; ARGS go to pytest
cargo xtask page [--double] [--shots DIR]
                                     the page of weir serve in a real browser: every view, keys, axe-core, no request away
cargo xtask web-vendor [--check]     the files of others in the page of weir serve, from npm; or compare them with it
cargo xtask untidy [--runs N] [--seed S] [--capture FILE] [--program FILE]
                                     captures with packets lost, late, doubled, cut, in pieces …: whether tables say of them
                                     what they say of the tidy ones
cargo xtask docs                     the documents as a site, by mdBook; every link of it is followed
cargo xtask publish                  the libraries packed and built as `cargo publish` would, without uploading
cargo xtask dist [--target TRIPLE]… [--binary PATH] [--out DIR] [--check]
                                     what people install: archives, Debian package, RPM, wheel, formula, image, checksums, SBOM;
                                     --binary takes a program that is there, --check installs all of it where nothing else is
cargo xtask trace KIND BYTES PATH    make a seeded trace: ethernet, frame-relay, atm or atm-erf
cargo xtask bench [NAME]             run a benchmark beside its peers; without NAME, list them
";

/// The chores by their first word, which documents may name.
pub(crate) const CHORES: &[&str] = &[
    "test",
    "peers",
    "ci",
    "tidy",
    "fuzz",
    "sanitize",
    "python",
    "page",
    "web-vendor",
    "docs",
    "publish",
    "dist",
    "trace",
    "untidy",
    "bench",
];
