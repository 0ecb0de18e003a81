/**
 *  @file recording_fixture.hpp
 *  @brief Recordings for tests of the audio verbs: files of test/cases, samples drawn here, and what a call answers.
 */
#pragma once
#include "picture_fixture.hpp"

namespace uform::test {

/** A small model with every surface and an audio entry. */
inline model_options_t recording_options(std::size_t context = 1024, audio_entry_t entry = {320, 16000}) {
    model_options_t options = picture_options(context, {});
    options.audio = entry;
    return options;
}

/** Samples of as many recordings, end to end. */
struct sample_tape_t {
    std::vector<float> data;
    std::vector<std::size_t> offsets {0};

    explicit sample_tape_t(std::vector<std::vector<float>> const &items) {
        for (auto const &item : items)
            data.insert(data.end(), item.begin(), item.end()), offsets.push_back(data.size());
    }
    uform_tape_view_t view() const { return {data.data(), offsets.data(), uform_scalar_f32_k}; }
    std::size_t count() const { return offsets.size() - 1; }
};

/** Noise of [-1, 1]. */
inline std::vector<float> drawn_samples(std::size_t count, std::uint32_t state) {
    std::vector<float> samples(count);
    for (float &sample : samples)
        state = state * 1664525u + 1013904223u, sample = float(std::int32_t(state)) * 0x1p-31f;
    return samples;
}

/** A WAV of 32-bit floats, written out by hand. */
inline std::string wav_of(std::vector<float> const &samples, std::uint32_t rate, std::uint16_t channels = 1) {
    auto const number = [](std::uint32_t value, int bytes) {
        std::string text;
        for (; bytes > 0; --bytes, value >>= 8) text += char(value & 0xff);
        return text;
    };
    std::string const data(reinterpret_cast<char const *>(samples.data()), samples.size() * 4);
    std::string const format = number(3, 2) + number(channels, 2) + number(rate, 4) + number(rate * channels * 4, 4) +
                               number(channels * 4u, 2) + number(32, 2);
    std::string const chunks = "WAVEfmt " + number(16, 4) + format + "data" + number(std::uint32_t(data.size()), 4);
    return "RIFF" + number(std::uint32_t(chunks.size() + data.size()), 4) + chunks + data;
}

/** A model, and calls over it that answer each item's bytes. */
class recording_caller_t : public caller_t {
  public:
    uform_model_t model;
    picture_outputs_t outputs;

    recording_caller_t(checkpoint_fixture_t const &checkpoint, std::size_t threads = 0,
                       uform_cpu_class_t cpu_class = uform_cpu_class_derived_k,
                       uform_scalar_t quantization = uform_scalar_default_k)
        : caller_t(threads, cpu_class), model(checkpoint.load(executor, cpu_class, quantization)) {}
    ~recording_caller_t() { uform_model_free(model); }

    bool encode(std::vector<std::string> const &files, uform_limits_t limits = {}, int surfaces = all_k) {
        text_tape_t const tape(files);
        uform_audio_encode_t call {};
        outputs.ask(call, model, surfaces);
        call.files = tape.view(), call.count = tape.count(), call.limits = limits;
        return make(uform_audio_encode, call);
    }
    bool encode(std::vector<std::vector<float>> const &recordings, std::size_t sample_rate = 0) {
        sample_tape_t const tape(recordings);
        uform_audio_encode_samples_t call {};
        outputs.ask(call, model);
        call.samples = tape.view(), call.count = tape.count(), call.sample_rate = sample_rate;
        return make(uform_audio_encode_samples, call);
    }
    /** Bits of each item. */
    std::vector<std::string> bits(std::vector<std::string> const &files) { return answered(encode(files)); }
    std::vector<std::string> bits(std::vector<std::vector<float>> const &recordings, std::size_t sample_rate = 0) {
        return answered(encode(recordings, sample_rate));
    }
    std::string bits(std::string const &file) {
        std::vector<std::string> const all = bits(std::vector {file});
        return all.empty() ? "" : all[0];
    }
    std::string bits(std::vector<float> const &samples, std::size_t sample_rate = 0) {
        std::vector<std::string> const all = bits(std::vector<std::vector<float>> {samples}, sample_rate);
        return all.empty() ? "" : all[0];
    }

  private:
    std::vector<std::string> answered(bool success) {
        EXPECT_TRUE(success) << outcome.message << ": " << outcome.detail << " of item " << outcome.item;
        std::vector<std::string> bits;
        for (std::size_t i = 0; success && i < outputs.embeddings.count; ++i) bits.push_back(outputs.bytes(i, i + 1));
        return bits;
    }
};

} // namespace uform::test
