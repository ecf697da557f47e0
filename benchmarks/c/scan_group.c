/* SELECT port.src, port.dst, count(*), sum(frame.len) WHERE port.src IS NOT NULL GROUP BY 1, 2:
 * ports of TCP and UDP together, through VLAN tags, IPv4 options and IPv6 extension headers. */
#include "capture.h"

static struct groups groups;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = pcap_file_header(bytes, len);
    struct frame frame;
    while (pcap_next(bytes, len, &at, &frame)) {
        struct transport transport;
        if (!ethernet_transport(&frame, &transport))
            continue;
        if (transport.protocol != PROTO_TCP && transport.protocol != PROTO_UDP)
            continue;
        if (transport.len < 8)
            continue;
        /* Both ports are one number of 32 bits, source first. */
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
