/**
 *  @file decode_audio.cpp
 *  @brief Recordings of ten seconds: files → mono samples at 16 kHz, beside FFmpeg's own program, one thread each.
 *
 *  FFmpeg reads all files of a codec in one process, through its concatenating demuxer, so that its start is paid once;
 *  ours opens each anew. Samples of the first are compared before anything is timed. Recordings are drawn by the same
 *  program into `build/recordings`: noise and a sweep, stereo at 44.1 kHz, Opus at 48. `--count N` draws another number.
 */
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <uform/media/audio.hpp>

#include "bench.hpp"
#include "towers.hpp"

namespace {

using namespace bench;

constexpr std::size_t rate_k = 16000, seconds_k = 10, samples_k = rate_k * seconds_k;

struct codec_t {
    char const *suffix, *arguments;
    double least_decibels; // of ours over its difference from FFmpeg's
};
constexpr codec_t codecs_k[] = {{"wav", "-c:a pcm_s16le", 60},
                                {"flac", "-c:a flac", 60},
                                {"mp3", "-c:a libmp3lame -b:a 160k", 60},
                                {"opus", "-c:a libopus -b:a 128k", 60}};

[[noreturn]] void end(std::string const &what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

void run(std::string const &command) {
    if (std::system(command.c_str())) end("failed: " + command);
}

/** Draws recordings that are not there, and the list that FFmpeg reads them by. */
std::vector<std::string> recordings(codec_t const &codec, std::filesystem::path const &folder, std::size_t count) {
    std::filesystem::create_directories(folder);
    std::vector<std::string> paths;
    std::ofstream list(folder / (codec.suffix + std::string(".list")));
    for (std::size_t i = 0; i < count; ++i) {
        std::string const path = std::filesystem::absolute(folder / (std::to_string(i) + "." + codec.suffix)).string();
        std::string const rate = codec.suffix == std::string("opus") ? "48000" : "44100";
        std::string const source = "aevalsrc='0.3*sin(2*PI*(200+" + std::to_string(20 * i) +
                                   "*t)*t)+0.1*(random(0)-0.5)|" +
                                   "0.3*sin(2*PI*(300+90*t)*t)+0.1*(random(1)-0.5)':s=" + rate + ":d=10";
        if (!std::filesystem::exists(path))
            run("ffmpeg -loglevel error -f lavfi -i \"" + source + "\" " + codec.arguments + " " + path);
        list << "file '" << path << "'\n";
        paths.push_back(path);
    }
    return paths;
}

std::string bytes_of(std::string const &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t decode(std::string const &path, std::vector<float> &samples) {
    std::string const bytes = bytes_of(path);
    file_t const file(reinterpret_cast<unsigned char const *>(bytes.data()), bytes.size());
    sound_t sound;
    failure_t const failure = decode_audio({file, {}, rate_k, {}}, samples, sound);
    if (failure) end(path + ": " + failure.message);
    return sound.samples;
}

/** FFmpeg's program over a list of files, its samples into a file. */
std::string ffmpeg(codec_t const &codec, std::filesystem::path const &folder, std::string const &target) {
    return "ffmpeg -loglevel error -y -threads 1 -f concat -safe 0 -i " + (folder / codec.suffix).string() +
           ".list -af 'pan=mono|c0=0.5*c0+0.5*c1' -ar 16000 -f f32le " + target;
}

/** Ends the program where the first file's samples are not FFmpeg's. */
void compare(codec_t const &codec, std::filesystem::path const &folder, std::string const &first) {
    std::vector<float> ours(samples_k), theirs(samples_k);
    std::string const answer = (folder / "answer").string();
    std::size_t const count = decode(first, ours);
    run("ffmpeg -loglevel error -y -threads 1 -i " + first + " -af 'pan=mono|c0=0.5*c0+0.5*c1' -ar 16000 -f f32le " + answer);
    std::string const bytes = bytes_of(answer);
    std::memcpy(theirs.data(), bytes.data(), std::min(bytes.size(), samples_k * sizeof(float)));
    double signal = 0, noise = 0;
    for (std::size_t i = 0; i < count; ++i)
        signal += double(ours[i]) * ours[i], noise += double(ours[i] - theirs[i]) * (ours[i] - theirs[i]);
    double const decibels = 10 * std::log10(signal / std::max(noise, 1e-30));
    std::fprintf(stderr, "%s: %.0f dB over the difference from FFmpeg's samples\n", codec.suffix, decibels);
    if (!(decibels >= codec.least_decibels)) end("which is too far");
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    std::size_t files = 40;
    for (int i = 1; i + 1 < count; i += 2)
        if (!std::strcmp(values[i], "--count")) files = std::max(1ul, std::strtoul(values[i + 1], nullptr, 10));
    if (std::system("ffmpeg -version >/dev/null 2>&1")) end("needs FFmpeg's program (Debian: ffmpeg)");
    std::filesystem::path const folder = "build/recordings";
    std::string json = "[";
    std::printf("%-28s %14s %14s %12s\n", "work", "recordings/s", "FFmpeg's", "ours / it");
    for (codec_t const &codec : codecs_k) {
        std::vector<std::string> const paths = recordings(codec, folder, files);
        compare(codec, folder, paths.front());
        std::vector<float> samples(samples_k);
        std::vector<double> ours, theirs, ratios;
        for (std::size_t round = 0; round < arguments.rounds; ++round) {
            double const start = wall_now();
            for (std::string const &path : paths) (void)decode(path, samples);
            double const between = wall_now();
            run(ffmpeg(codec, folder, "/dev/null"));
            ours.push_back(between - start), theirs.push_back(wall_now() - between);
            ratios.push_back(theirs.back() / ours.back());
        }
        double const amount = double(files);
        std::printf("decode 10 s, %-15s %14.1f %14.1f %12.2f\n", codec.suffix, amount / median(ours),
                    amount / median(theirs), median(ratios));
        json += (json.size() > 1 ? ",\n" : "\n") + std::string("{\"work\": \"decode_") + codec.suffix +
                "\", \"threads\": 1, \"seconds\": " + std::to_string(median(ours)) +
                ", \"peers\": {\"ffmpeg\": " + std::to_string(median(ratios)) + "}}";
    }
    json += "\n]\n";
    if (!arguments.json) return 0;
    std::FILE *const out = std::fopen(arguments.json, "w");
    return out && std::fputs(json.c_str(), out) >= 0 && std::fclose(out) == 0 ? 0 : 1;
}
