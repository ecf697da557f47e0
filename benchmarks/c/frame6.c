/* frame6: IP only, by board, interface and channel: count and sum of lengths.
 * SELECT board, interface, channel, count(*), sum(frame.len) WHERE IPv4 behind NLPID 0xCC or SNAP
 *     GROUP BY 1, 2, 3 */
#include "capture.h"

/* Two bits of board and ten of connection number: a plain table has room for every channel. */
static struct {
    uint64_t count, sum;
} channels[1 << 12];

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    struct erf_frame frame;
    while (erf_next(bytes, len, &at, &frame)) {
        const uint8_t *ip;
        size_t ip_len;
        if (frame_relay_ip(&frame, &ip, &ip_len) == NOT_IP)
            continue;
        size_t place = (size_t)board(&frame) << 10 | frame.connection;
        channels[place].count += 1;
        channels[place].sum += frame.wire_len;
    }
    return at;
}

static void report(void) {
    puts("board,interface,channel,count,sum");
    for (uint64_t i = 0; i < 1 << 12; i++)
        if (channels[i].count != 0)
            print_row((uint64_t[]){i >> 10, (i >> 5) & 0x1f, i & 0x1f, channels[i].count,
                                   channels[i].sum}, 5);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
