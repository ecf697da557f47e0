/* SELECT count(*), sum(frame.len) over a pcap file of Ethernet frames. */
#include "capture.h"

static uint64_t count, sum;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = pcap_file_header(bytes, len);
    uint64_t records = 0, total = 0;
    struct frame frame;
    while (pcap_next(bytes, len, &at, &frame)) {
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
