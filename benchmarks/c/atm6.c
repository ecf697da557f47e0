/* atm6: count the cells of one VPI and VCI.
 * SELECT count(*) WHERE atm.vpi = 1 AND atm.vci = 40 */
#include "capture.h"

static uint64_t count;

static size_t walk(const uint8_t *bytes, size_t len) {
    size_t at = 0;
    uint64_t cells = 0;
    for (; len - at >= CELL_RECORD; at += CELL_RECORD) {
        uint32_t header = be32(bytes + at + CELL_HEADER_AT);
        cells += cell_vpi(header) == 1 && cell_vci(header) == 40;
    }
    count += cells;
    return at;
}

static void report(void) {
    puts("count");
    print_row(&count, 1);
}

int main(int argc, char **argv) { return run(argc, argv, walk, report); }
