/**
 *  @file clip_fixture.hpp
 *  @brief Clips for tests of the video verb: files of the fuzzer's corpus, which test/media/clips.py made, and calls.
 */
#pragma once
#include "picture_fixture.hpp"

namespace uform::test {

inline std::string clip_file(std::string const &name) {
    std::string const bytes =
        uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/video/" + name);
    EXPECT_FALSE(bytes.empty()) << name;
    return bytes;
}

/** Every clip of the corpus that is whole. */
inline std::vector<std::string> whole_clips() {
    std::vector<std::string> files;
    for (char const *name : {"h264.mp4", "h264_front.mp4", "h264_fragments.mp4", "h264_odd.mp4", "h264_one.mp4",
                             "h264.mkv", "h264_turned.mp4", "h265.mp4", "mpeg4.mp4", "vp8.webm", "vp9.webm", "av1.mp4"})
        files.push_back(clip_file(name));
    return files;
}

/** A small model with every surface and a video entry. */
inline model_options_t clip_options(std::size_t context = 1024, video_entry_t entry = {16, 2, 1}) {
    model_options_t options;
    options.geometry = {128, 2, context};
    options.token_width = 32, options.video = entry;
    return options;
}

/** A model, and calls over it that answer each clip's bytes. */
class clip_caller_t : public caller_t {
  public:
    uform_model_t model;
    picture_outputs_t outputs;

    clip_caller_t(checkpoint_fixture_t const &checkpoint, std::size_t threads = 0,
                  uform_scalar_t quantization = uform_scalar_default_k)
        : caller_t(threads), model(checkpoint.load(executor, uform_cpu_class_derived_k, quantization)) {}
    ~clip_caller_t() { uform_model_free(model); }

    bool encode(std::vector<std::string> const &files, uform_limits_t limits = {}, int surfaces = all_k,
                uform_completion_t completion = uform_completion_blocking_k) {
        text_tape_t const tape(files);
        uform_video_encode_t call {};
        outputs.ask(call, model, surfaces);
        call.files = tape.view(), call.count = tape.count(), call.limits = limits;
        return make(uform_video_encode, call, completion);
    }
    std::vector<std::string> bits(std::vector<std::string> const &files) {
        EXPECT_TRUE(encode(files)) << outcome.message << ": " << outcome.detail << " of item " << outcome.item;
        std::vector<std::string> bits;
        for (std::size_t i = 0; i < files.size() && outcome.status == uform_status_success_k; ++i)
            bits.push_back(outputs.bytes(i, i + 1));
        return bits;
    }
    std::string bits(std::string const &file) {
        std::vector<std::string> const all = bits(std::vector<std::string> {file});
        return all.empty() ? "" : all[0];
    }
};

} // namespace uform::test
