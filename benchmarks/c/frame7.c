/* frame7: of one message type, two streams of IP packets in different encapsulations; of each the
 * protocol and the length of the packet; both together counted and summed.
 * SELECT count(*), sum(length) FROM (
 *     SELECT ip.proto, ip.len AS length WHERE message type = 0 AND IPv4 behind NLPID 0xCC
 *     UNION ALL SELECT ip.proto, ip.len WHERE message type = 0 AND IPv4 behind SNAP) */
#include "capture.h"

static uint64_t count, sum;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    uint64_t packets = 0, total = 0;
    struct erf_frame frame;
    while (erf_next(bytes, len, &at, &frame)) {
        const uint8_t *ip;
        size_t ip_len;
        if (message_type(&frame) != 0 || frame_relay_ip(&frame, &ip, &ip_len) == NOT_IP)
            continue;
        /* Nothing above asks for the protocol, so a hard-wired program need not load it. */
        packets += 1;
        total += be16(ip + 2);
    }
    count += packets;
    sum += total;
    return at;
}

static void report(void) {
    puts("count,sum");
    print_row((uint64_t[]){count, sum}, 2);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
