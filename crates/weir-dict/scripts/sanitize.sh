#!/bin/sh
# Runs the tests of the dictionary and of compiled programs under the address sanitizer and valgrind, those of live
# interfaces under the address sanitizer and, where it is installed, the dictionary's under miri, which runs no machine
# code and knows no sockets. The gate runs it as `cargo xtask sanitize`.
#
#     crates/weir-dict/scripts/sanitize.sh [address|valgrind|miri]...     # all by default
#
# About two minutes when everything is built: PROPTEST_CASES, 16 by default, says how many cases of each
# property are tried (valgrind and miri, fifty times and more slower than the processor, try one or two).
# Under miri the dictionary compares tags without vector instructions: `cfg(miri)` in src/segment.rs and
# src/directory.rs, which is also what other processors than x86-64 run.
#
# Ends with 0 when all that could run found nothing, with 1 when one found something, with 2 when one
# that was asked for by name is not installed.
set -eu

cd "$(dirname "$0")/../../.."
toolchain=${SANITIZE_TOOLCHAIN:-nightly}
target=$(rustc -vV | sed -n 's/^host: //p')
# Beside the directory of other builds, whose features and flags are others.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}-sanitize"
asked=$*

missing() {
    if [ -n "$asked" ]; then
        echo "error: $1" >&2
        exit 2
    fi
    echo "SKIPPED: $1"
}

address() {
    if ! rustup run "$toolchain" rustc --version >/dev/null 2>&1; then
        missing "the address sanitizer needs the toolchain $toolchain (rustup toolchain install nightly)"
        return
    fi
    # The allocator of the tests is in the way of no check: it hands on to the system's.
    RUSTFLAGS=-Zsanitizer=address PROPTEST_CASES="${PROPTEST_CASES:-16}" \
        cargo "+$toolchain" test --quiet -p weir-dict -p weir-compile -p weir-live --lib --tests --target "$target"
}

valgrind_run() {
    if ! command -v valgrind >/dev/null 2>&1; then
        missing "valgrind is not installed"
        return
    fi
    PROPTEST_CASES=2 \
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite" \
        cargo test --quiet -p weir-dict --test it -- \
        --test-threads 1 model::a_ behaviour::entries behaviour::owning behaviour::what flood::keys bytes expiry \
        arena:: panics::a_value
    # Valgrind sees what machine code reads and writes, which the address sanitizer does not.
    PROPTEST_CASES=2 \
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=1" \
        cargo test --quiet -p weir-compile --test both -- --test-threads 1 random_programs every_operation
}

miri() {
    if ! cargo "+$toolchain" miri --version >/dev/null 2>&1; then
        missing "miri is not installed (rustup component add miri rust-src --toolchain $toolchain)"
        return
    fi
    # Miri writes down in which folder a test was built, and runs it there. The target directory may be
    # shared with another checkout, perhaps one that is gone, whose tests cargo takes for fresh.
    CARGO_TARGET_DIR="$CARGO_TARGET_DIR/miri" cargo "+$toolchain" clean --quiet -p weir-dict
    CARGO_TARGET_DIR="$CARGO_TARGET_DIR/miri" cargo "+$toolchain" clean --quiet -p weir-dict --target "$target"
    PROPTEST_CASES=1 MIRIFLAGS=-Zmiri-disable-isolation \
        cargo "+$toolchain" miri test --quiet -p weir-dict --lib --test it -- \
        segment word arena::tests arena::a_dictionary behaviour::collections behaviour::an_empty behaviour::a_dictionary_can \
        behaviour::entries_that_own allocation::an_insertion allocation::one_entry allocation::a_removal
}

for check in ${asked:-address valgrind miri}; do
    echo "== $check"
    case $check in
        address) address ;;
        valgrind) valgrind_run ;;
        miri) miri ;;
        *) echo "error: no check is called $check" >&2 && exit 2 ;;
    esac
done
