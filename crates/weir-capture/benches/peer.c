/* The hand-written peer of the `read` bench: walks the records of a little-endian pcap file and
 * sums their lengths.
 *
 *   peer read BYTES FILE    read() of BYTES into one buffer
 *   peer mmap 0 FILE        a fresh map of the whole file
 *
 * Prints records, bytes on the wire, and CPU microseconds of one pass. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static long cpu_us(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000L + r.ru_utime.tv_usec +
           r.ru_stime.tv_usec;
}

static uint32_t number(const unsigned char *at) {
    uint32_t n;
    memcpy(&n, at, sizeof n);
    return n;
}

static uint64_t records, wire_bytes;

/* Walks the whole records in [at, end); gives where the first one that is cut begins. */
static const unsigned char *walk(const unsigned char *at, const unsigned char *end) {
    while (end - at >= 16) {
        uint32_t captured = number(at + 8);
        if ((uint64_t)(end - at) < 16 + (uint64_t)captured) break;
        records++;
        wire_bytes += number(at + 12);
        at += 16 + captured;
    }
    return at;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    long before = cpu_us();
    int file = open(argv[3], O_RDONLY);
    if (file < 0) return 1;
    if (argv[1][0] == 'm') {
        struct stat s;
        if (fstat(file, &s)) return 1;
        unsigned char *all = mmap(0, s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (all == MAP_FAILED) return 1;
        walk(all + 24, all + s.st_size);
    } else {
        size_t size = strtoul(argv[2], 0, 10), held = 0;
        unsigned char *buffer = malloc(size);
        ssize_t got;
        if (!buffer || read(file, buffer, 24) != 24) return 1;
        while ((got = read(file, buffer + held, size - held)) > 0) {
            const unsigned char *end = buffer + held + got;
            const unsigned char *rest = walk(buffer, end);
            held = end - rest;
            memmove(buffer, rest, held);
        }
    }
    printf("%llu %llu %ld\n", (unsigned long long)records, (unsigned long long)wire_bytes,
           cpu_us() - before);
    return 0;
}
