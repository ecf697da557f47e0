/* atm2: count the cells of each VPI and VCI.
 * SELECT atm.vpi, atm.vci, count(*) GROUP BY 1, 2 */
#include "capture.h"

/* 24 bits would make a table of 128 MiB, most of it never touched: use the hash table. */
static struct groups groups;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    for (; len - at >= CELL_RECORD; at += CELL_RECORD) {
        uint32_t header = be32(bytes + at + CELL_HEADER_AT);
        groups_add(&groups, (uint32_t)cell_vpi(header) << 16 | cell_vci(header), 0);
    }
    return at;
}

static void print(const struct group *group) {
    print_row((uint64_t[]){group->key >> 16, group->key & 0xffff, group->count}, 3);
}

static void report(void) {
    puts("vpi,vci,count");
    groups_each(&groups, print);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
