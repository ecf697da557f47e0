/* frame1: count all records of the frame relay trace and sum their lengths.
 * SELECT count(*), sum(frame.len) */
#include "capture.h"

static uint64_t count, sum;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    uint64_t records = 0, total = 0;
    struct erf_frame frame;
    while (erf_next(bytes, len, &at, &frame)) {
        records += 1;
        total += frame.wire_len;
    }
    count += records;
    sum += total;
    return at;
}

static void report(void) {
    puts("count,sum");
    print_row((uint64_t[]){count, sum}, 2);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
