#!/bin/sh
# Fuzzes every target for a few seconds each: about a minute in all, when everything is built.
#
#     fuzz/smoke.sh [SECONDS]      # in all, 60 by default
#
# Ends with 0 when nothing was found, 1 when an input breaks a promise (it is then under
# fuzz/artifacts/), 2 when fuzzing is not possible here.
set -eu

cd "$(dirname "$0")"
seconds=${1:-60}
toolchain=${FUZZ_TOOLCHAIN:-nightly}

if ! rustup run "$toolchain" rustc --version >/dev/null 2>&1; then
    echo "error: fuzzing needs a nightly compiler, and \`$toolchain\` is not installed" >&2
    echo "hint: rustup toolchain install nightly --profile minimal" >&2
    exit 2
fi
if ! command -v cargo-fuzz >/dev/null 2>&1; then
    echo "installing cargo-fuzz"
    # Not into the target directory of what is fuzzed, which its caller may cache and prune.
    env -u CARGO_TARGET_DIR cargo "+$toolchain" install --quiet --locked cargo-fuzz || exit 2
fi

# Beside the directory of the stable compiler: the two would throw each other's work away.
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}-fuzz"
export CARGO_TARGET_DIR
# Freed memory that is kept to find uses of it counts as memory in use.
ASAN_OPTIONS="quarantine_size_mb=32:${ASAN_OPTIONS:-}"
export ASAN_OPTIONS

# Target, longest input, dictionary.
targets='
capture_pcap 4096 capture
capture_pcapng 4096 capture
capture_erf 4096 capture
capture_compressed 2048 compressed
capture_structured 2048 -
packet_decode 512 packet
packet_stream 2048 packet
layout_parse 4096 layout
layout_records 1024 -
table_scan 1024 capture
dict_operations 1024 -
flow_reassemble 1024 -
flow_packets 2048 packet
flow_fragments 1024 -
flow_sctp 256 -
flow_payloads 2048 packet
sip_message 2048 -
messages_dns 1024 -
messages_tls 2048 -
messages_http 2048 -
sip_stream 4096 -
websocket_frames 2048 -
websocket_negotiation 512 -
websocket_input 2048 -
websocket_inflate 2048 -
websocket_study 4096 -
clf_read 4096 -
clf_write 2048 -
clf_sidecar 2048 -
h248_text 1024 -
h248_ber 1024 -
h248_per 512 -
h248_erl 2048 -
'

echo "building the targets"
cargo "+$toolchain" fuzz build

count=$(echo "$targets" | grep -c .)
each=$((seconds / count))
[ "$each" -ge 1 ] || each=1
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
failed=

run() {
    target=$1 len=$2 dictionary=$3
    set -- -seed=1 -runs=3000 -max_total_time="$each" -max_len="$len" -timeout=5 -rss_limit_mb=512 \
        -malloc_limit_mb=64 -print_final_stats=1
    [ "$dictionary" = - ] || set -- "$@" -dict="dictionaries/$dictionary.dict"
    # A target without a corpus begins with nothing.
    mkdir -p "$found/$target" "corpus/$target"
    # New inputs go to the first directory, so that the corpus of the repository stays as it is.
    if cargo "+$toolchain" fuzz run "$target" "$found/$target" "corpus/$target" -- "$@" \
        >"$found/$target.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$target.log")
        peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$found/$target.log")
        echo "ok      $target: $runs inputs in $each s, at most ${peak} MiB"
    else
        echo "FAILED  $target" >"$found/$target.failed"
    fi
}

echo "fuzzing $count targets for $each s each"
# No pipe: a subshell could not tell what failed.
while read -r target len dictionary; do
    [ -n "$target" ] || continue
    run "$target" "$len" "$dictionary" </dev/null
    if [ -e "$found/$target.failed" ]; then
        failed="$failed $target"
        echo "FAILED  $target"
        # The message and the input last: a reader may see only the end of the log.
        grep -v '^#' "$found/$target.log" | tail -n 60 | grep -v '^    #'
        grep -A 6 "panicked at" "$found/$target.log" | cut -c 1-1000 || true
        grep "^Base64:" "$found/$target.log" || true
    fi
done <<LIST
$targets
LIST

if [ -n "$failed" ]; then
    echo "error: inputs were found that break promises:$failed" >&2
    echo "hint: the inputs are under fuzz/artifacts/; fuzz/README.md says what to do with them" >&2
    exit 1
fi
