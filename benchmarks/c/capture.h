/* What the stand-alone programs share: a file handed over in large pieces by mmap or by read,
 * bounds-checked loads, walks over the headers of pcap, ERF and 64-byte ATM records, and a table of
 * groups.
 *
 * A program defines
 *
 *     static size_t walk(const uint8_t *bytes, size_t len);   // whole records; returns bytes used
 *     static void report(void);                               // prints CSV
 *
 * and its main is `return run(argc, argv, walk, report);`. With mmap, walk is called once; with
 * read, once for each MiB, and what it leaves over is put in front of the next piece.
 *
 * Exit codes: 0 done, 1 the file is cut or damaged (the good records are reported all the same),
 * 2 usage or environment.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

/* Set by a walk that met a record it cannot believe; the run stops there. */
static bool damaged;

/* ---- loads; the caller has checked the bounds ---- */

static inline uint16_t be16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}

static inline uint32_t be32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}

static inline uint32_t le32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the loads above are written for a little-endian machine"
#endif

/* ---- the file ---- */

typedef size_t (*walk_fn)(const uint8_t *bytes, size_t len);

static int run_mmap(int file, walk_fn walk, size_t *left) {
    struct stat status;
    if (fstat(file, &status) != 0) {
        perror("fstat");
        return 2;
    }
    size_t len = (size_t)status.st_size;
    *left = 0;
    if (len == 0)
        return 0;
    const uint8_t *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    madvise((void *)bytes, len, MADV_SEQUENTIAL);
    *left = len - walk(bytes, len);
    return 0;
}

static int run_read(int file, walk_fn walk, size_t *left) {
    /* Reads always land on the second half; the rest of a record is moved in front of it. */
    uint8_t *buffer = aligned_alloc(4096, 2 * PIECE_BYTES);
    if (buffer == NULL) {
        perror("aligned_alloc");
        return 2;
    }
    uint8_t *const piece = buffer + PIECE_BYTES;
    size_t carried = 0;
    for (;;) {
        ssize_t got = read(file, piece, PIECE_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            perror("read");
            return 2;
        }
        if (got == 0)
            break;
        const uint8_t *start = piece - carried;
        size_t len = carried + (size_t)got;
        size_t used = walk(start, len);
        carried = len - used;
        if (damaged || carried > PIECE_BYTES)
            break;
        memmove(piece - carried, start + used, carried);
    }
    free(buffer);
    *left = carried;
    return 0;
}

static int run(int argc, char **argv, walk_fn walk, void (*report)(void)) {
    if (argc != 3 || (strcmp(argv[1], "mmap") != 0 && strcmp(argv[1], "read") != 0)) {
        fprintf(stderr, "usage: %s mmap|read FILE\n", argv[0]);
        return 2;
    }
    int file = open(argv[2], O_RDONLY);
    if (file < 0) {
        perror(argv[2]);
        return 2;
    }
    size_t left = 0;
    int code = argv[1][0] == 'm' ? run_mmap(file, walk, &left) : run_read(file, walk, &left);
    close(file);
    if (code != 0)
        return code;
    report();
    if (fflush(stdout) != 0)
        return 2;
    if (damaged || left != 0) {
        fprintf(stderr, "%s: %zu bytes at the end are not a whole record\n", argv[2], left);
        return 1;
    }
    return 0;
}

/* ---- pcap: little-endian, microseconds or nanoseconds, Ethernet ---- */

enum { PCAP_FILE_HEADER = 24, PCAP_RECORD_HEADER = 16, PCAP_CAPTURED_MAX = 256 << 10 };

/* Bytes of the file header that stand at the start of this piece: 24 once, then 0. */
static inline size_t pcap_file_header(const uint8_t *bytes, size_t len) {
    static bool seen;
    if (seen)
        return 0;
    if (len < PCAP_FILE_HEADER) {
        damaged = true;
        return 0;
    }
    seen = true;
    uint32_t magic = le32(bytes);
    if ((magic != 0xa1b2c3d4u && magic != 0xa1b23c4du) || le32(bytes + 20) != 1) {
        fprintf(stderr, "not a little-endian pcap file of Ethernet frames\n");
        exit(2);
    }
    return PCAP_FILE_HEADER;
}

struct frame {
    const uint8_t *bytes;
    uint32_t captured;
    uint32_t wire_len;
};

/* The record at `*at`, or false when the piece does not hold all of it. */
static inline bool pcap_next(const uint8_t *bytes, size_t len, size_t *at, struct frame *frame) {
    if (len - *at < PCAP_RECORD_HEADER)
        return false;
    const uint8_t *header = bytes + *at;
    uint32_t captured = le32(header + 8);
    if (captured > PCAP_CAPTURED_MAX) {
        damaged = true;
        return false;
    }
    if (len - *at - PCAP_RECORD_HEADER < captured)
        return false;
    frame->bytes = header + PCAP_RECORD_HEADER;
    frame->captured = captured;
    frame->wire_len = le32(header + 12);
    *at += PCAP_RECORD_HEADER + captured;
    return true;
}

/* ---- Ethernet and IP ---- */

enum { PROTO_TCP = 6, PROTO_UDP = 17 };

/* Where the transport header starts, and its protocol. */
struct transport {
    const uint8_t *bytes;
    size_t len;
    uint8_t protocol;
};

/* False for what is no IPv4, is cut, or is a later fragment, which has no transport header. */
static inline bool ipv4_transport(const uint8_t *ip, size_t len, struct transport *out) {
    if (len < 20 || ip[0] >> 4 != 4)
        return false;
    size_t header = (size_t)(ip[0] & 0x0f) * 4;
    if (header < 20 || header > len || (be16(ip + 6) & 0x1fff) != 0)
        return false;
    *out = (struct transport){ip + header, len - header, ip[9]};
    return true;
}

static inline bool ipv6_transport(const uint8_t *ip, size_t len, struct transport *out) {
    if (len < 40 || ip[0] >> 4 != 6)
        return false;
    uint8_t next = ip[6];
    size_t at = 40;
    for (;;) {
        size_t header;
        switch (next) {
        case 0: case 43: case 60: case 135: /* hop-by-hop, routing, destination, mobility */
            if (len - at < 8)
                return false;
            header = 8 + (size_t)ip[at + 1] * 8;
            break;
        case 44: /* fragment */
            if (len - at < 8 || (be16(ip + at + 2) & 0xfff8) != 0)
                return false;
            header = 8;
            break;
        case 51: /* authentication */
            if (len - at < 8)
                return false;
            header = 8 + (size_t)ip[at + 1] * 4;
            break;
        default:
            *out = (struct transport){ip + at, len - at, next};
            return true;
        }
        if (header > len - at)
            return false;
        next = ip[at];
        at += header;
    }
}

/* Through any number of VLAN tags to the transport header. */
static inline bool ethernet_transport(const struct frame *frame, struct transport *out) {
    const uint8_t *bytes = frame->bytes;
    size_t len = frame->captured, at = 14;
    if (len < at)
        return false;
    uint16_t type = be16(bytes + 12);
    while (type == 0x8100 || type == 0x88a8) {
        if (len - at < 4)
            return false;
        type = be16(bytes + at + 2);
        at += 4;
    }
    if (type == 0x0800)
        return ipv4_transport(bytes + at, len - at, out);
    if (type == 0x86dd)
        return ipv6_transport(bytes + at, len - at, out);
    return false;
}

/* ---- ERF: multi-channel HDLC records of frame relay ---- */

enum { ERF_HEADER = 16, ERF_MC_HDLC = 5, MC_HEADER = 4 };

struct erf_frame {
    uint8_t flags;        /* low two bits: board; high four bits: message type */
    uint16_t connection;  /* T1 line in bits 5 to 9, channel in bits 0 to 4 */
    uint32_t wire_len;
    const uint8_t *bytes; /* the frame relay frame */
    uint32_t captured;
};

/* The next record of type MC_HDLC; others are stepped over. False at the end of the piece. */
static inline bool erf_next(const uint8_t *bytes, size_t len, size_t *at, struct erf_frame *out) {
    while (len - *at >= ERF_HEADER) {
        const uint8_t *record = bytes + *at;
        size_t record_len = be16(record + 10);
        if (record_len < ERF_HEADER) {
            damaged = true;
            return false;
        }
        if (len - *at < record_len)
            return false;
        *at += record_len;
        uint8_t type = record[8];
        if ((type & 0x7f) != ERF_MC_HDLC)
            continue;
        size_t header = ERF_HEADER;
        while (type & 0x80) { /* extension headers, eight bytes each */
            if (record_len - header < 8)
                break;
            type = record[header];
            header += 8;
        }
        if (record_len - header < MC_HEADER)
            continue;
        uint32_t wire_len = be16(record + 14);
        uint32_t captured = (uint32_t)(record_len - header - MC_HEADER);
        out->flags = record[9];
        out->connection = (uint16_t)(be32(record + header) & 0x3ff);
        out->wire_len = wire_len;
        out->bytes = record + header + MC_HEADER;
        out->captured = captured < wire_len ? captured : wire_len; /* the rest is padding */
        return true;
    }
    return false;
}

static inline uint8_t message_type(const struct erf_frame *frame) { return frame->flags >> 4; }
static inline uint8_t board(const struct erf_frame *frame) { return frame->flags & 3; }
static inline uint8_t interface(const struct erf_frame *frame) { return (uint8_t)(frame->connection >> 5); }
static inline uint8_t channel(const struct erf_frame *frame) { return frame->connection & 0x1f; }

/* What follows a frame relay address of two to four bytes: control and NLPID. */
struct frame_relay {
    uint8_t control, nlpid;
    size_t payload; /* offset behind the NLPID */
};

static inline bool frame_relay_header(const struct erf_frame *frame, struct frame_relay *out) {
    size_t at = 2;
    if (frame->captured < 4)
        return false;
    if (!(frame->bytes[1] & 1))
        at = frame->bytes[2] & 1 ? 3 : 4;
    if (frame->captured < at + 2)
        return false;
    out->control = frame->bytes[at];
    at += 1;
    if (frame->bytes[at] == 0) { /* a pad byte */
        at += 1;
        if (frame->captured <= at)
            return false;
    }
    out->nlpid = frame->bytes[at];
    out->payload = at + 1;
    return true;
}

enum carried { NOT_IP, IP_NLPID, IP_SNAP };

/* IPv4 behind NLPID 0xCC, or behind NLPID 0x80 and a SNAP header of ethertype 0x0800. */
static inline enum carried frame_relay_ip(const struct erf_frame *frame, const uint8_t **ip, size_t *len) {
    struct frame_relay header;
    if (!frame_relay_header(frame, &header) || header.control != 0x03)
        return NOT_IP;
    size_t at = header.payload;
    enum carried carried = NOT_IP;
    if (header.nlpid == 0xcc) {
        carried = IP_NLPID;
    } else if (header.nlpid == 0x80 && frame->captured - at >= 5) {
        static const uint8_t snap_ip[5] = {0, 0, 0, 0x08, 0x00};
        if (memcmp(frame->bytes + at, snap_ip, 5) == 0) {
            carried = IP_SNAP;
            at += 5;
        }
    }
    *ip = frame->bytes + at;
    *len = frame->captured - at;
    if (carried == NOT_IP || *len < 20 || (*ip)[0] >> 4 != 4)
        return NOT_IP;
    return carried;
}

/* ---- ATM: records of 64 bytes: timestamp 8, CRC 4, cell header 4, payload 48 ---- */

enum { CELL_RECORD = 64, CELL_HEADER_AT = 12 };

static inline uint8_t cell_vpi(uint32_t header) { return (uint8_t)(header >> 20); }
static inline uint16_t cell_vci(uint32_t header) { return (uint16_t)(header >> 4); }

/* ---- groups: open addressing with linear probing, at most half full ---- */

struct group {
    uint32_t key;
    uint32_t unused;
    uint64_t count; /* 0: the place is free */
    uint64_t sum;
};

struct groups {
    struct group *places;
    size_t mask;
    size_t used;
    unsigned shift;
};

static inline size_t group_hash(const struct groups *groups, uint32_t key) {
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> groups->shift);
}

static void groups_resize(struct groups *groups, unsigned bits) {
    struct groups bigger = {0};
    bigger.places = calloc((size_t)1 << bits, sizeof *bigger.places);
    if (bigger.places == NULL) {
        perror("calloc");
        exit(2);
    }
    bigger.mask = ((size_t)1 << bits) - 1;
    bigger.shift = 64 - bits;
    bigger.used = groups->used;
    for (size_t i = 0; groups->places != NULL && i <= groups->mask; i++) {
        struct group group = groups->places[i];
        if (group.count == 0)
            continue;
        size_t place = group_hash(&bigger, group.key);
        while (bigger.places[place].count != 0)
            place = (place + 1) & bigger.mask;
        bigger.places[place] = group;
    }
    free(groups->places);
    *groups = bigger;
}

static inline void groups_add(struct groups *groups, uint32_t key, uint64_t value) {
    if (groups->places == NULL)
        groups_resize(groups, 12);
    size_t place = group_hash(groups, key);
    for (;;) {
        struct group *group = &groups->places[place];
        if (group->count != 0 && group->key == key) {
            group->count += 1;
            group->sum += value;
            return;
        }
        if (group->count == 0) {
            *group = (struct group){key, 0, 1, value};
            groups->used += 1;
            if (groups->used * 2 > groups->mask)
                groups_resize(groups, 64 - groups->shift + 1);
            return;
        }
        place = (place + 1) & groups->mask;
    }
}

/* Calls `print` for every group, in no particular order. */
static inline void groups_each(const struct groups *groups, void (*print)(const struct group *)) {
    for (size_t i = 0; groups->places != NULL && i <= groups->mask; i++)
        if (groups->places[i].count != 0)
            print(&groups->places[i]);
}

/* ---- CSV ---- */

/* A row of numbers. printf would cost more than the grouping when there are many rows. */
static inline void print_row(const uint64_t *numbers, size_t count) {
    char row[256], *at = row;
    for (size_t i = 0; i < count && i < 8; i++) {
        char digits[20];
        size_t len = 0;
        uint64_t number = numbers[i];
        do {
            digits[len++] = (char)('0' + number % 10);
            number /= 10;
        } while (number != 0);
        if (i != 0)
            *at++ = ',';
        while (len != 0)
            *at++ = digits[--len];
    }
    *at++ = '\n';
    fwrite_unlocked(row, 1, (size_t)(at - row), stdout);
}

#endif
