/* atm5: count the cells of one VCI.
 * SELECT count(*) WHERE atm.vci = 40 */
#include "capture.h"

static uint64_t count;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    uint64_t cells = 0;
    for (; len - at >= CELL_RECORD; at += CELL_RECORD)
        cells += cell_vci(be32(bytes + at + CELL_HEADER_AT)) == 40;
    count += cells;
    return at;
}

static void report(void) {
    puts("count");
    print_row(&count, 1);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
