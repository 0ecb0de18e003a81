/**
 *  @file picture_fixture.hpp
 *  @brief Pictures for tests of the image verbs: files of test/cases, pixels drawn here, and what a call answers.
 */
#pragma once
#include "caller_fixture.hpp"
#include "checkpoint_fixture.hpp"
#include "safetensors_bytes.hpp"

namespace uform::test {

inline std::string case_file(std::string const &name) {
    std::string const bytes = uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/cases/" + name);
    EXPECT_TRUE(!bytes.empty() || name == "bad/empty.jpg") << name;
    return bytes;
}

/** A small model with every surface and an image entry; the pool's weights are drawn, not zero. */
inline model_options_t picture_options(std::size_t context = 1024, image_entry_t entry = {16, 4}) {
    model_options_t options;
    options.geometry = {128, 2, context};
    options.token_width = 32, options.image = entry;
    return options;
}

/** 8-bit RGB pixels. */
struct picture_t {
    std::size_t height, width;
    std::string pixels; // [height, width, 3]
};
inline picture_t drawn_picture(std::size_t height, std::size_t width, std::uint32_t state) {
    picture_t picture {height, width, std::string(height * width * 3, 0)};
    for (char &value : picture.pixels) state = state * 1664525u + 1013904223u, value = char(state >> 24);
    return picture;
}

struct picture_outputs_t {
    uform_rows_t embeddings {};
    uform_rows_tape_t states {}, token_vectors {};
    uform_image_encode_stats_t stats {};

    template <typename call_>
    void ask(call_ &call, uform_model_t model, int surfaces = all_k) {
        call.model = model, call.stats = &stats;
        call.embeddings = surfaces & embeddings_k ? &embeddings : nullptr;
        call.states = surfaces & states_k ? &states : nullptr;
        call.token_vectors = surfaces & vectors_k ? &token_vectors : nullptr;
    }
    /** Everything of items `[first, last)`, as bytes. */
    std::string bytes(std::size_t first, std::size_t last) const {
        return bytes_of_rows(embeddings, first, last) +
               bytes_of_rows(states, states.offsets[first], states.offsets[last]) +
               bytes_of_rows(token_vectors, token_vectors.offsets[first], token_vectors.offsets[last]);
    }
};

/** A model, and calls over it that answer each item's bytes. */
class picture_caller_t : public caller_t {
  public:
    uform_model_t model;
    picture_outputs_t outputs;

    picture_caller_t(checkpoint_fixture_t const &checkpoint, std::size_t threads = 0,
                     uform_cpu_class_t cpu_class = uform_cpu_class_derived_k,
                     uform_scalar_t quantization = uform_scalar_default_k)
        : caller_t(threads, cpu_class), model(checkpoint.load(executor, cpu_class, quantization)) {}
    ~picture_caller_t() { uform_model_free(model); }

    bool encode(std::vector<std::string> const &files, uform_limits_t limits = {}, int surfaces = all_k) {
        text_tape_t const tape(files);
        uform_image_encode_t call {};
        outputs.ask(call, model, surfaces);
        call.files = tape.view(), call.count = tape.count(), call.limits = limits;
        return make(uform_image_encode, call);
    }
    bool encode(std::vector<picture_t> const &pictures) {
        text_tape_t tape;
        std::vector<std::size_t> heights, widths;
        for (picture_t const &picture : pictures)
            tape.append(picture.pixels), heights.push_back(picture.height), widths.push_back(picture.width);
        uform_image_encode_pixels_t call {};
        outputs.ask(call, model);
        call.pixels = tape.view(), call.count = tape.count(), call.heights = heights.data(),
        call.widths = widths.data();
        return make(uform_image_encode_pixels, call);
    }
    template <typename item_>
    std::vector<std::string> bits(std::vector<item_> const &items) {
        EXPECT_TRUE(encode(items)) << outcome.message << ": " << outcome.detail << " of item " << outcome.item;
        std::vector<std::string> bits;
        for (std::size_t i = 0; i < items.size() && outcome.status == uform_status_success_k; ++i)
            bits.push_back(outputs.bytes(i, i + 1));
        return bits;
    }
    std::string bits(std::string const &file) {
        std::vector<std::string> const all = bits(std::vector<std::string> {file});
        return all.empty() ? "" : all[0];
    }
    std::vector<float> embedding(std::size_t item) const {
        auto const *row = static_cast<float const *>(outputs.embeddings.data) + item * outputs.embeddings.columns;
        return {row, row + outputs.embeddings.columns};
    }
};

inline double cosine(std::vector<float> const &a, std::vector<float> const &b) {
    double dot = 0;
    for (std::size_t i = 0; i < a.size(); ++i) dot += double(a[i]) * b[i];
    return dot;
}

} // namespace uform::test
