/* frame5: IP only, by source and destination port: count and sum of lengths.
 * SELECT port.src, port.dst, count(*), sum(frame.len) WHERE IPv4 behind NLPID 0xCC or SNAP
 *     AND port.src IS NOT NULL GROUP BY 1, 2 */
#include "capture.h"

static struct groups groups;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    struct erf_frame frame;
    while (erf_next(bytes, len, &at, &frame)) {
        const uint8_t *ip;
        size_t ip_len;
        struct transport transport;
        if (frame_relay_ip(&frame, &ip, &ip_len) == NOT_IP || !ipv4_transport(ip, ip_len, &transport))
            continue;
        if (transport.protocol != PROTO_TCP && transport.protocol != PROTO_UDP)
            continue;
        if (transport.len < 8)
            continue;
        groups_add(&groups, be32(transport.bytes), frame.wire_len);
    }
    return at;
}

static void print(const struct group *group) {
    print_row((uint64_t[]){group->key >> 16, group->key & 0xffff, group->count, group->sum}, 4);
}

static void report(void) {
    puts("src_port,dst_port,count,sum");
    groups_each(&groups, print);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
