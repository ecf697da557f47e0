/* frame8: as frame7, by board and channel.
 * SELECT board, channel, count(*), sum(length) FROM (... UNION ALL ...) GROUP BY 1, 2 */
#include "capture.h"

static struct {
    uint64_t count, sum;
} channels[4][32];

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    struct erf_frame frame;
    while (erf_next(bytes, len, &at, &frame)) {
        const uint8_t *ip;
        size_t ip_len;
        if (message_type(&frame) != 0 || frame_relay_ip(&frame, &ip, &ip_len) == NOT_IP)
            continue;
        channels[board(&frame)][channel(&frame)].count += 1;
        channels[board(&frame)][channel(&frame)].sum += be16(ip + 2);
    }
    return at;
}

static void report(void) {
    puts("board,channel,count,sum");
    for (uint64_t b = 0; b < 4; b++)
        for (uint64_t c = 0; c < 32; c++)
            if (channels[b][c].count != 0)
                print_row((uint64_t[]){b, c, channels[b][c].count, channels[b][c].sum}, 4);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
