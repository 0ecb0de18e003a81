/**
 *  @file checkpoint.hpp
 *  @brief Safetensors files of UForm 4: read whole into memory and checked, described by their metadata, written.
 *
 *  A reader of its own, which refuses what the engine's refuses: `io` for what the system will not read, `malformed`
 *  for everything else, down to a weight that is not finite. The list of a model's tensors is `tensors_of`.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <uform/model.h>

#include "json.hpp"

namespace uform_stub {

struct tensor_t {
    std::string name;
    bool is_f32 = false; // otherwise BF16
    std::vector<std::size_t> shape;
    std::string_view data; // inside the checkpoint's bytes
};

class checkpoint_t {
    std::string bytes_;
    std::vector<tensor_t> tensors_;
    std::map<std::string, std::string, std::less<>> metadata_;

  public:
    /** Takes the bytes of a whole file. */
    explicit checkpoint_t(std::string bytes);
    checkpoint_t(checkpoint_t const &) = delete;

    tensor_t const *find(std::string_view name) const;
    /** NULL where there is no such key. */
    std::string const *metadata(std::string_view key) const;
    std::string text(std::string_view key) const { return metadata(key) ? *metadata(key) : std::string(); }

  private:
    void read_tensor(std::string const &name, json_t const &entry, std::string_view data);
    void read_metadata(json_t const &entry);
    void check_layout(std::string_view data);
};

/** What a model is made of; a zero means that the head is absent. */
struct sizes_t {
    std::size_t hidden = 0, depth = 0, context = 0;
    uform_image_shape_t image {};
    uform_video_shape_t video {};
    uform_audio_shape_t audio {};
    std::size_t token_values[3] = {}; // of the entries above, in their order
    bool reconstructs[3] = {};        // heads for their masked tokens
    std::size_t token_width = 0, choice_groups = 0, contrastive_groups = 0, late_interaction_groups = 0;
    bool decoder = false;

    bool enters(std::size_t medium) const noexcept {
        return medium == 0 ? image.patch_side : medium == 1 ? video.patch_side : audio.chunk_samples;
    }
};

struct spec_t {
    std::string name;
    bool is_f32;
    std::vector<std::size_t> shape;

    std::size_t bytes() const;
};

/** The bytes of a file; `io` where the system refuses. */
std::string read_file(std::string_view path);

/** What metadata says of entries, zeros of those that are absent. */
std::vector<std::pair<char const *, std::size_t>> entries_of(sizes_t sizes);
/** Fills `token_values` from the shapes. */
void count_token_values(sizes_t &sizes);
/** A model's tensors in the order of its file. */
std::vector<spec_t> tensors_of(sizes_t const &sizes);
/** Refuses sizes that no checkpoint may have, with this status. */
void check_sizes(sizes_t const &sizes, std::int32_t status);
/** The sizes a checkpoint tells of, once its format, its version and its tensors' shapes are checked. */
sizes_t read_sizes(checkpoint_t const &checkpoint);
/** `malformed` where a tensor holds infinity or NaN. */
void check_finite(tensor_t const &tensor);
/** A metadata field as a whole number; `missing` where it is absent, `malformed` where that is NULL or it is no number. */
std::uint64_t count_in(checkpoint_t const &checkpoint, char const *key, std::uint64_t const *missing = nullptr);

/** The length and the header of a file with metadata, padded so that data starts at a multiple of 64 bytes. */
std::string header_of(std::vector<spec_t> const &tensors,
                      std::vector<std::pair<std::string, std::string>> const &metadata);

} // namespace uform_stub
