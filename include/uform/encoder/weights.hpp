/**
 *  @file weights.hpp
 *  @brief THE list of a model's tensors, and what a checkpoint's metadata says of the model.
 *
 *  Names, shapes, order and scalars are written once, in weights.cpp; the loader, the initializer, the trainer and the
 *  saver all walk `for_each_tensor`. It must not know how a tensor is packed, nor which class computes with it.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <uform/encoder/geometry.hpp>
#include <uform/utilities/checkpoint.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

inline constexpr std::uint64_t checkpoint_version_k = 4;

/** What enters a tower by projection, in the order of the file. */
enum class medium_t : std::uint8_t { image_k, video_k, audio_k };
inline constexpr std::size_t media_k = 3;
inline constexpr char const *media_names_k[media_k] = {"image", "video", "audio"};

/** How pictures become tokens; a zero side means that the entry is absent. */
struct image_entry_t {
    std::size_t patch_side = 0; // pixels
    std::size_t channels = 0;   // of a pixel: RGB, or premultiplied RGB and alpha

    explicit operator bool() const noexcept { return patch_side != 0; }
    std::size_t token_values() const noexcept { return channels * patch_side * patch_side; }
};

/** How clips become tokens: tubes of a square patch through a few frames; a zero side means that the entry is absent. */
struct video_entry_t {
    static constexpr std::size_t channels = 3; // of a pixel: RGB

    std::size_t patch_side = 0;   // pixels
    std::size_t tube_frames = 0;  // sampled frames of a tube
    std::size_t frame_stride = 0; // every how-many-th frame is sampled

    explicit operator bool() const noexcept { return patch_side != 0; }
    std::size_t token_values() const noexcept { return channels * tube_frames * patch_side * patch_side; }
};

/** How recordings become tokens; a chunk of zero samples means that the entry is absent. */
struct audio_entry_t {
    std::size_t chunk_samples = 0; // of one token
    std::size_t sample_rate = 0;   // hertz

    explicit operator bool() const noexcept { return chunk_samples != 0; }
    std::size_t token_values() const noexcept { return chunk_samples; }
};

/** What a model is made of; a zero means that the head is absent. */
struct model_options_t {
    geometry_t geometry;
    image_entry_t image;
    video_entry_t video;
    audio_entry_t audio;
    bool reconstructs[media_k] = {}; // a head that reconstructs masked tokens, which training alone reads
    std::size_t token_width = 0; // columns of a token vector
    bool decoder = false;
    std::size_t choice_groups = 0;           // temperature groups of choices
    std::size_t contrastive_groups = 0;      // temperature groups of pooled pairs
    std::size_t late_interaction_groups = 0; // temperature groups of MaxSim pairs

    /** Values of one token of a medium; zero where the model has no such entry. */
    std::size_t token_values(medium_t medium) const noexcept {
        std::size_t const values[media_k] = {image.token_values(), video.token_values(), audio.token_values()};
        return values[std::size_t(medium)];
    }
    bool enters(medium_t medium) const noexcept {
        bool const entries[media_k] = {bool(image), bool(video), bool(audio)};
        return entries[std::size_t(medium)];
    }
};

enum class tensor_role_t : std::uint8_t {
    embedding_k,               // rows that enter the tower as they are: a byte's, or a MASK
    qkv_k,                     // a linear weight whose rows are q heads, k heads, v heads
    linear_k,                  // any other linear weight
    norm_k,                    // scales of an rmsnorm
    pool_query_k,
    pool_output_k,             // the linear weight that starts at zero
    bias_k,
    entry_bias_k,              // of a projection into the tower
    inverse_temperature_k,     // per group
    log_inverse_temperature_k, // per group
    pair_bias_k,               // per group, added to a pair's logit
};

struct tensor_spec_t {
    static constexpr std::size_t name_capacity_k = 48;

    char name_text[name_capacity_k] = {};
    std::size_t index = 0;   // place in the list, and in the file
    std::size_t rows = 0;    // 1 for a vector
    std::size_t columns = 0;
    std::size_t rank = 0;    // 2 for a matrix, 1 for a vector of `columns`
    std::size_t block = 0;   // of a tensor inside a block; zero outside
    tensor_role_t role = tensor_role_t::linear_k;
    dtype_t dtype = dtype_t::bf16_k;

    std::string_view name() const noexcept { return name_text; }
    bool is_matrix() const noexcept { return rank == 2; }
    bool is_of_block() const noexcept { return name().starts_with("blocks."); }
    bool is_f32() const noexcept { return dtype == dtype_t::f32_k; }
    std::size_t elements() const noexcept { return rows * columns; }
    std::size_t fan_in() const noexcept { return columns; } // of a linear weight [outputs, inputs]
    tensor_layout_t layout() const noexcept;
};

using tensor_visitor_t = void (*)(void *context, tensor_spec_t const &spec) noexcept;
void visit_tensors(model_options_t const &options, tensor_visitor_t visitor, void *context) noexcept;

/** Calls `body(spec)` for every tensor of the model in the order of the file. */
template <typename body_>
void for_each_tensor(model_options_t const &options, body_ &&body) noexcept {
    visit_tensors(
        options,
        [](void *context, tensor_spec_t const &spec) noexcept {
            (*static_cast<std::remove_reference_t<body_> *>(context))(spec);
        },
        &body);
}

std::size_t count_tensors(model_options_t const &options) noexcept;
std::size_t count_parameters(model_options_t const &options) noexcept;

/** What a checkpoint says beside its tensors; the views live as long as whoever gave them. */
struct model_notes_t {
    std::uint64_t step = 0, seed = 0;
    std::string_view objective, prefix_query, prefix_document;
    std::span<metadata_entry_t const> more; // written as they are; reading leaves it empty
};

/** Checks sizes given from outside: hidden a positive multiple of 128, all within what this engine ever runs. */
failure_t check_options(model_options_t const &options) noexcept;

/**
 *  Reads the options from a checkpoint's metadata and the heads it holds, and checks that every tensor they ask for is
 *  there with its shape and scalar. Tensors that no part asks for are let be. Weights are not read: see
 *  `refuse_non_finite`.
 */
failure_t read_options(checkpoint_t const &checkpoint, model_options_t &options) noexcept;
failure_t read_notes(checkpoint_t const &checkpoint, model_notes_t &notes) noexcept;

/** Begins a checkpoint of these options; the tensors' data then follows through `append`, in the list's order. */
failure_t begin_model(checkpoint_writer_t &writer, std::string_view path, model_options_t const &options,
                      model_notes_t const &notes) noexcept;

} // namespace uform
