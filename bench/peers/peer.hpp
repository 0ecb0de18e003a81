/**
 *  @file peer.hpp
 *  @brief The peers' side of bench/peers.hpp, for those that multiply matrices through a C or C++ library.
 */
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace peer {

struct product_t {
    std::string folder;
    std::size_t rows = 0, depth = 0, columns = 0, threads = 0;
    std::vector<std::uint16_t> a, w; // [64, depth], over and over; [columns, depth]
};

/** BFloat16 bits, and back with ties to even. */
inline float widen(std::uint16_t bits) {
    std::uint32_t const wide = std::uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
}
inline std::uint16_t narrow(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return std::uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline std::vector<std::uint16_t> read(std::string const &path) {
    std::vector<std::uint16_t> values;
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file) std::perror(path.c_str()), std::exit(2);
    std::uint16_t block[4096];
    for (std::size_t count; (count = std::fread(block, 2, 4096, file)) > 0;)
        values.insert(values.end(), block, block + count);
    std::fclose(file);
    return values;
}
/** The first 64 rows of the answer. */
inline void write_answer(product_t const &work, std::vector<std::uint16_t> const &y) {
    std::FILE *file = std::fopen((work.folder + "/answer").c_str(), "wb");
    std::size_t const count = 64 * work.columns;
    if (!file || std::fwrite(y.data(), 2, count, file) != count || std::fclose(file))
        std::perror("answer"), std::exit(2);
}

inline double seconds_of(std::function<void()> const &body, double least) {
    using clock = std::chrono::steady_clock;
    std::size_t repeats = 0;
    double spent = 0;
    for (auto const start = clock::now(); spent < least; ++repeats)
        body(), spent = std::chrono::duration<double>(clock::now() - start).count();
    return spent / double(repeats);
}

/** Answers lines until there are no more. `prepare` leaves the answer in the folder and returns one run of the work. */
inline int serve(char const *name, std::function<std::function<void()>(product_t const &)> const &prepare) {
    std::function<void()> body;
    std::printf("%s\n", name), std::fflush(stdout);
    for (char line[512]; std::fgets(line, sizeof(line), stdin);) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (product_t work; verb == "go") {
            double least = 0;
            words >> least;
            std::printf("%.9g\n", seconds_of(body, least));
        } else if (verb == "product" &&
                   words >> work.folder >> work.rows >> work.depth >> work.columns >> work.threads) {
            work.a = read(work.folder + "/a"), work.w = read(work.folder + "/w");
            body = nullptr; // frees the last work before the next one allocates
            body = prepare(work);
            std::printf("ready\n");
        } else
            std::printf("skip %s is not for it\n", verb.c_str());
        std::fflush(stdout);
    }
    return 0;
}

} // namespace peer
