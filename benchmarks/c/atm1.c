/* atm1: count the cells of each VCI.
 * SELECT atm.vci, count(*) GROUP BY 1 */
#include "capture.h"

static uint64_t cells[1 << 16];

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    for (; len - at >= CELL_RECORD; at += CELL_RECORD)
        cells[cell_vci(be32(bytes + at + CELL_HEADER_AT))] += 1;
    return at;
}

static void report(void) {
    puts("vci,count");
    for (uint64_t vci = 0; vci < 1 << 16; vci++)
        if (cells[vci] != 0)
            print_row((uint64_t[]){vci, cells[vci]}, 2);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
