#!/bin/sh
# Runs the dictionary's tests under the address sanitizer, under valgrind and, where it is installed,
# under miri.
#
#     crates/weir-dict/scripts/sanitize.sh [address|valgrind|miri]...     # all by default
#
# Ends with 0 when all that could run found nothing, with 1 when one found something, with 2 when one
# that was asked for by name is not installed.
set -eu

cd "$(dirname "$0")/../../.."
toolchain=${SANITIZE_TOOLCHAIN:-nightly}
target=$(rustc -vV | sed -n 's/^host: //p')
dir=${CARGO_TARGET_DIR:-$PWD/target}
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
        missing "the address sanitizer needs the toolchain $toolchain"
        return
    fi
    # The allocator of the tests is in the way of no check: it hands on to the system's.
    RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR="$dir-address" \
        cargo "+$toolchain" test -p weir-dict --lib --tests --target "$target"
}

valgrind_run() {
    if ! command -v valgrind >/dev/null 2>&1; then
        missing "valgrind is not installed"
        return
    fi
    # Fewer cases: valgrind is fifty times slower.
    PROPTEST_CASES=2 \
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite" \
        cargo test -p weir-dict --test it -- \
        --test-threads 1 model::a_ behaviour::entries behaviour::owning behaviour::what flood::keys bytes expiry \
        arena:: panics::a_value
}

miri() {
    if ! cargo "+$toolchain" miri --version >/dev/null 2>&1; then
        missing "miri is not installed for $toolchain"
        return
    fi
    # Without vector instructions, which miri does not know.
    PROPTEST_CASES=1 MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR="$dir-miri" \
        cargo "+$toolchain" miri test -p weir-dict --lib --test it -- \
        segment arena behaviour::entries behaviour::owning behaviour::collections
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
