/* frame3: as frame2, of one frame relay control and NLPID.
 * SELECT count(*), sum(frame.len) WHERE message type = 0 AND fr.control = 3 AND fr.nlpid = 0xCC */
#include "capture.h"

static uint64_t count, sum;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    uint64_t records = 0, total = 0;
    struct erf_frame frame;
    while (erf_next(bytes, len, &at, &frame)) {
        struct frame_relay header;
        if (message_type(&frame) != 0 || !frame_relay_header(&frame, &header))
            continue;
        if (header.control != 0x03 || header.nlpid != 0xcc)
            continue;
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
