/**
 *  @file checkpoint.hpp
 *  @brief Named tensors and string metadata in one safetensors file: a reader that trusts nothing, an atomic writer.
 *
 *      8 bytes       header_bytes bytes                       the rest
 *      header_bytes  {"__metadata__": {…}, "name": {…}, …}    data, covered by the tensors without overlap or gap
 *
 *  Used by loads, the trainer's saves and the tools; knows nothing of models, only of tensors. Whatever is wrong with a
 *  file is `malformed` with the tensor and the values in the detail; what the system refuses is `io`.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <uform/utilities/buffer.hpp>
#include <uform/utilities/file.hpp>
#include <uform/utilities/json.hpp>
#include <uform/utilities/scalar.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

/** What tensors hold: weights alone, so the other scalars of the format are refused. */
enum class dtype_t : std::uint8_t { bf16_k, f32_k };

constexpr std::size_t bytes_of(dtype_t dtype) noexcept { return dtype == dtype_t::f32_k ? 4 : 2; }
constexpr char const *name_of(dtype_t dtype) noexcept { return dtype == dtype_t::f32_k ? "F32" : "BF16"; }

/** A tensor's place in a checkpoint, row-major; `data` is aligned to its scalar. */
struct tensor_t {
    static constexpr std::size_t rank_limit_k = 8;

    std::string_view name;
    dtype_t dtype = dtype_t::bf16_k;
    std::size_t rank = 0; // zero is a scalar
    std::size_t shape[rank_limit_k] = {};
    std::span<std::byte const> data;

    std::size_t elements() const noexcept { return data.size() / bytes_of(dtype); }
    bf16_t const *bf16() const noexcept { return reinterpret_cast<bf16_t const *>(data.data()); }
    float const *f32() const noexcept { return reinterpret_cast<float const *>(data.data()); }
};

/** The index of a tensor's first infinity or NaN; its count of elements where all are finite. One pass, vectorized. */
std::size_t first_non_finite(tensor_t const &tensor) noexcept;

/** Success, or `malformed` naming the tensor and the element. Loads call it on every tensor they use. */
failure_t refuse_non_finite(tensor_t const &tensor) noexcept;

/** A shape as a failure's detail shows it: "[3, 4]", "[1, 2, 3, ...]". */
struct shown_shape_t {
    char text[96] = {}; // three numbers of 20 digits at most
    explicit shown_shape_t(std::span<std::size_t const> shape) noexcept;
};

class checkpoint_t {
  public:
    /** A header larger than this is refused. Ours take 0.1 MiB; parsing takes 15 times the header, and this bounds it.
     */
    static constexpr std::size_t header_limit_k = std::size_t(1) << 20;
    static constexpr std::size_t tensors_limit_k = 16384;

    /** Maps the file; reads it instead where its data would lie misaligned. On failure the checkpoint stays empty. */
    failure_t open(std::string_view path) noexcept;
    /** Borrows the bytes, which must outlive the checkpoint; copies them where the data would lie misaligned. */
    failure_t from_bytes(std::span<std::byte const> bytes) noexcept;

    /** In the order of their data. */
    std::span<tensor_t const> tensors() const noexcept { return tensors_.span(); }
    /** Null where there is none of that name. */
    tensor_t const *find(std::string_view name) const noexcept;
    std::optional<std::string_view> metadata(std::string_view key) const noexcept;

  private:
    friend class header_reader_t;
    struct metadata_t {
        std::string_view key, value;
    };
    input_file_t file_;
    buffer_t<std::byte> copy_; // of borrowed bytes that are misaligned
    buffer_t<char> text_;      // every name, key and value
    buffer_t<tensor_t> tensors_;
    buffer_t<metadata_t> metadata_;
};

/** A tensor about to be written. */
struct tensor_layout_t {
    std::string_view name; // UTF-8 without NUL
    dtype_t dtype = dtype_t::bf16_k;
    std::size_t rank = 0;
    std::size_t shape[tensor_t::rank_limit_k] = {};
};
struct metadata_entry_t {
    std::string_view key, value; // UTF-8
};

/**
 *  Writes a checkpoint whose data streams in: `begin`, then `append` with the bytes of the tensors in their order, in
 *  pieces of any size, then `commit`. Any failure removes the temporary file; the file at `path` is the old one or the
 *  new one, whole. Data starts at a multiple of 64 bytes.
 */
class checkpoint_writer_t {
    replacing_file_t file_;
    std::size_t missing_ = 0; // bytes of data still to come

  public:
    failure_t begin(std::string_view path, std::span<tensor_layout_t const> tensors,
                    std::span<metadata_entry_t const> metadata) noexcept;
    failure_t append(std::span<std::byte const> bytes) noexcept;
    failure_t commit() noexcept;
    bool renamed() const noexcept { return file_.renamed(); }
};

} // namespace uform
