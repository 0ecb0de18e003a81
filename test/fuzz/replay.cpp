/**
 *  @file replay.cpp
 *  @brief Runs a fuzz target over every file of some folders, without libFuzzer: what the committed corpus found once
 *  stays found, with any compiler and under any sanitizer.
 */
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size);

namespace {

/** A vector's spare room would hide a read past the input from a sanitizer, so the bytes get a block of their size. */
void replay(std::filesystem::path const &path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> const bytes {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::vector<std::uint8_t> const exact(bytes.begin(), bytes.end());
    std::printf("%s\n", path.filename().c_str()), std::fflush(stdout); // a crash comes after its input's name
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

} // namespace

int main(int count, char **arguments) {
    std::vector<std::filesystem::path> inputs;
    for (int i = 1; i < count; ++i) {
        std::error_code error;
        for (auto const &entry : std::filesystem::directory_iterator(arguments[i], error))
            if (entry.is_regular_file()) inputs.push_back(entry.path());
        if (error) return std::fprintf(stderr, "replay: %s: %s\n", arguments[i], error.message().c_str()), 2;
    }
    if (inputs.empty()) return std::fprintf(stderr, "replay: no inputs; usage: %s FOLDER...\n", arguments[0]), 2;
    std::sort(inputs.begin(), inputs.end());
    for (std::filesystem::path const &input : inputs) replay(input);
    std::printf("replayed %zu inputs\n", inputs.size());
    return 0;
}
