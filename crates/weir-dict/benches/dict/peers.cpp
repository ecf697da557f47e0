// absl's and boost's tables: the same keys, hash function and measurements as main.rs has, one table a
// process. Prints figures only.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <malloc.h>
#include <algorithm>
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
    template <size_t N> size_t operator()(const std::array<unsigned char, N> &key) const {
        uint64_t state = 0x123456789abcdef1 + N, w[2];
        if constexpr (N == 38) {
            for (size_t at : {0, 16, 22}) {
                memcpy(w, key.data() + at, 16);
                state = fold(w[0] ^ 0x783d30de6d66d3f8, w[1] ^ state);
            }
        } else {
            memcpy(w, key.data(), 8);
            state = fold(w[0] ^ 0x783d30de6d66d3f8, w[0] ^ state);
        }
        return state;
    }
};

// What malloc gives: the block and its header.
static size_t live;
void *operator new(size_t size) {
    void *block = malloc(size);
    if (!block) abort();
    live += malloc_usable_size(block) + 8;
    return block;
}
void operator delete(void *block) noexcept {
    if (block) live -= malloc_usable_size(block) + 8;
    free(block);
}
void operator delete(void *block, size_t) noexcept { operator delete(block); }

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

static std::array<unsigned char, 8> eight(uint64_t number) {
    uint64_t mixed = __builtin_bswap64(number * 0x9e3779b97f4a7c15);
    std::array<unsigned char, 8> key;
    memcpy(key.data(), &mixed, 8);
    return key;
}

static double clock_ns(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}
static double now() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

static uint64_t state = 1;
static uint64_t below(uint64_t bound) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return (unsigned __int128)(mixed ^ (mixed >> 31)) * bound >> 64;
}

using Map = Table<Key, uint64_t, Hash>;
static volatile uint64_t sink;

static void by_size(size_t size) {
    const size_t count = std::max<size_t>(1, 100000 / size), lookups = 400000;
    const size_t rounds = size > 1000000 ? 1 : 5;
    std::vector<double> figures[7];
    for (size_t round = 0; round < rounds; round++) {
        std::vector<Key> keys;
        for (size_t number = 0; number < size; number++) keys.push_back(key(number));
        std::vector<Map> maps(count);
        size_t before = live;
        double start = now();
        for (Map &map : maps)
            for (size_t number = 0; number < size; number++) map[keys[number]] = number;
        figures[0].push_back((now() - start) / (count * size));
        figures[6].push_back((double)(live - before) / (count * size) + (double)sizeof(Map) / size);
        const size_t turn = std::min(size, lookups);
        // As in main.rs: three passes of searches where there is one round.
        for (int pass = 0; pass < (rounds == 1 ? 3 : 1); pass++) {
            std::vector<Key> queries[2];
            for (size_t from : {(size_t)0, size})
                for (size_t at = 0; at < lookups; at++) queries[from > 0].push_back(key(from + below(size)));
            for (int miss = 0; miss < 2; miss++) {
                uint64_t sum = 0;
                start = now();
                for (size_t at = 0; at < lookups; at += turn) {
                    const Map &map = maps[at / turn % count];
                    for (size_t own = at; own < std::min(at + turn, lookups); own++) {
                        auto found = map.find(queries[miss][own]);
                        sum += found == map.end() ? 1 : found->second;
                    }
                }
                sink = sum;
                figures[1 + miss].push_back((now() - start) / lookups);
                // They have no batches: the same searches one after another.
                figures[3 + miss].push_back(figures[1 + miss].back());
            }
        }
        start = now();
        for (Map &map : maps)
            for (const Key &own : keys) map.erase(own);
        figures[5].push_back((now() - start) / (count * size));
    }
    for (auto &figure : figures) {
        std::sort(figure.begin(), figure.end());
        printf("%f ", figure[figure.size() / 2]);
    }
}

template <class K> static void small(K (*key)(uint64_t)) {
    const size_t counts[9][2] = {{0, 424433}, {1, 303966}, {2, 31444}, {3, 8227}, {4, 775},
                                 {5, 957},    {6, 319},    {7, 27},    {20, 315}};
    std::vector<size_t> sizes;
    for (auto &row : counts) sizes.insert(sizes.end(), row[1], row[0]);
    for (size_t at = sizes.size() - 1; at > 0; at--) std::swap(sizes[at], sizes[below(at + 1)]);
    size_t before = live;
    double start = now();
    std::vector<Table<K, uint64_t, Hash>> maps;
    maps.reserve(sizes.size());
    uint64_t number = 0;
    for (size_t size : sizes) {
        maps.emplace_back();
        for (size_t at = 0; at < size; at++, number++) maps.back()[key(number)] = number;
    }
    double build = (now() - start) / sizes.size(), memory = (live - before) / 1e6;
    std::vector<std::pair<size_t, uint64_t>> firsts;
    number = 0;
    for (size_t at = 0; at < sizes.size(); number += sizes[at++])
        if (sizes[at] > 0) firsts.push_back({at, number});
    std::vector<std::pair<size_t, K>> queries;
    for (size_t at = 0; at < 1000000; at++) {
        auto &own = firsts[below(firsts.size())];
        queries.push_back({own.first, key(own.second)});
    }
    start = now();
    uint64_t sum = 0;
    for (auto &query : queries) sum += maps[query.first].find(query.second)->second;
    sink = sum;
    printf("%f %f %f", memory, (now() - start) / queries.size(), build);
}

static void worst(size_t size) {
    std::vector<uint32_t> times(size, UINT32_MAX);
    for (int round = 0; round < 3; round++) {
        Map map;
        double last = clock_ns(CLOCK_MONOTONIC);
        for (size_t number = 0; number < size; number++) {
            map[key(number)] = 0;
            double time = clock_ns(CLOCK_MONOTONIC);
            times[number] = std::min<uint32_t>(times[number], time - last);
            last = time;
        }
    }
    std::sort(times.begin(), times.end());
    for (double part : {1.0, 0.9999, 0.99}) printf("%f ", times[(size - 1) * part] / 1000.0);
}

static double walk(const Map &map, size_t entries) {
    size_t rounds = std::max<size_t>(1, 2000000 / entries);
    double start = now();
    for (size_t round = 0; round < rounds; round++) {
        uint64_t sum = 0;
        for (auto &entry : map) sum += entry.second;
        sink = sum;
    }
    return (now() - start) / (rounds * entries);
}

static void iterate(size_t size) {
    size_t before = live;
    Map map;
    for (size_t number = 0; number < size; number++) map[key(number)] = number;
    double full = walk(map, size);
    for (size_t number = 0; number < size; number++)
        if (number % 100) map.erase(key(number));
    size_t left = (size + 99) / 100;
    double after = walk(map, left);
    printf("%f %f %f", full, after, (double)(live - before) / left);
}

int main(int, char **arguments) {
    const char *what = arguments[1];
    size_t size = strtoull(arguments[2], nullptr, 10);
    if (!strcmp(what, "size")) by_size(size);
    if (!strcmp(what, "small")) size == 8 ? small(eight) : small(key);
    if (!strcmp(what, "worst")) worst(size);
    if (!strcmp(what, "iterate")) iterate(size);
}
