/**
 *  @file decoded_samples.cpp
 *  @brief Decodes the files named on its input, one a line, for audio_test.py to compare: each line is a sample rate, the
 *  most samples wanted and a path; each answer is a line of status, samples and whether there were more, then the
 *  samples as bytes of f32.
 */
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <uform/media/audio.hpp>
#include <uform/types.h>

int main() {
    std::string line, path;
    while (std::getline(std::cin, line)) {
        std::size_t wanted = 0;
        uform::recording_t recording;
        std::istringstream words(line);
        words >> recording.sample_rate >> wanted >> std::ws;
        std::getline(words, path);
        std::ifstream file(path, std::ios::binary);
        std::vector<char> const bytes {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        recording.file = {reinterpret_cast<std::uint8_t const *>(bytes.data()), bytes.size()};
        std::vector<float> samples(wanted);
        uform::sound_t sound;
        uform::failure_t const failure = decode_audio(recording, samples, sound);
        if (failure) sound = {};
        std::printf("%s %zu %d %s: %s\n", uform_status_name(failure.status), sound.samples, int(sound.has_more),
                    failure.message, failure.detail);
        std::fwrite(samples.data(), sizeof(float), sound.samples, stdout);
    }
    return 0;
}
