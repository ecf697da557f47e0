// absl's and boost's tables on the same keys: insertions and searches of one dictionary of each size.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <array>
#include <vector>

#ifdef PEER_BOOST
#include <boost/unordered/unordered_flat_map.hpp>
#define NAME "boost"
template <class K, class V, class H> using Table = boost::unordered_flat_map<K, V, H>;
#else
#include <absl/container/flat_hash_map.h>
#define NAME "absl"
template <class K, class V, class H> using Table = absl::flat_hash_map<K, V, H>;
#endif

using Key = std::array<unsigned char, 38>;

static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

struct Hash {
    using is_avalanching = void;
    size_t operator()(const Key &key) const {
        uint64_t state = 0x123456789abcdef1 + 38, w[2];
        for (size_t at : {0, 16, 22}) {
            memcpy(w, key.data() + at, 16);
            state = fold(w[0] ^ 0x783d30de6d66d3f8, w[1] ^ state);
        }
        return state;
    }
};

static Key key(uint64_t number) {
    uint64_t mixed = number * 0x9e3779b97f4a7c15;
    Key key{};
    key[10] = key[11] = key[26] = key[27] = 0xff;
    key[12] = 10;
    key[13] = number >> 24, key[14] = number >> 16, key[15] = number >> 8;
    key[28] = 192, key[29] = 168, key[30] = mixed >> 32, key[31] = number;
    uint16_t port = (uint16_t)(mixed >> 40) | 1024;
    key[32] = port >> 8, key[33] = port, key[34] = 443 >> 8, key[35] = 443 & 255, key[36] = 6;
    return key;
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int, char **arguments) {
    size_t max = strtoull(arguments[1], nullptr, 10);
    for (size_t size : {1000, 10000, 100000, 147695, 1000000, 10000000}) {
        if (size > max) break;
        Table<Key, uint64_t, Hash> table;
        double start = now();
        for (size_t number = 0; number < size; number++) table.emplace(key(number), number);
        double insert = (now() - start) / size;
        std::vector<Key> present, absent;
        uint64_t state = 1;
        for (size_t query = 0; query < 400000; query++) {
            state = state * 6364136223846793005 + 1442695040888963407;
            uint64_t at = (unsigned __int128)state * size >> 64;
            present.push_back(key(at));
            absent.push_back(key(size + at));
        }
        double times[2];
        uint64_t sum = 0;
        for (int miss = 0; miss < 2; miss++) {
            start = now();
            for (const Key &query : miss ? absent : present) {
                auto found = table.find(query);
                sum += found == table.end() ? 1 : found->second;
            }
            times[miss] = (now() - start) / 400000;
        }
        printf("%s, %zu entries: insert %.1f, hit %.1f, miss %.1f ns (%llu)\n", NAME, size, insert,
               times[0], times[1], (unsigned long long)sum % 10);
    }
}
