/* SELECT count(*), sum(frame.len) WHERE udp.dstport = 53, through VLAN tags, IPv4 options and IPv6
 * extension headers; later fragments have no ports. */
#include "capture.h"

static uint64_t count, sum;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = pcap_file_header(bytes, len);
    uint64_t records = 0, total = 0;
    struct frame frame;
    while (pcap_next(bytes, len, &at, &frame)) {
        struct transport transport;
        if (!ethernet_transport(&frame, &transport) || transport.protocol != PROTO_UDP)
            continue;
        if (transport.len < 8 || be16(transport.bytes + 2) != 53)
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
