/**
 *  @file checkpoint_writer.cpp
 *  @brief The writer of checkpoints: a header in the given order, byte for byte the same for the same input.
 *
 *  The header is built twice by one function, first to count its bytes, then to fill them.
 */
#include <uform/utilities/checkpoint.hpp>

#include <charconv>
#include <cstring>

#include "checkpoint_header.hpp"

namespace uform {
namespace {

/** Appends to a buffer, or counts where there is none. */
class header_text_t {
    char *target_;
    std::size_t length_ = 0;

  public:
    explicit header_text_t(char *target) noexcept : target_(target) {}
    std::size_t length() const noexcept { return length_; }

    void put(std::string_view text) noexcept {
        if (target_ && !text.empty()) std::memcpy(target_ + length_, text.data(), text.size());
        length_ += text.size();
    }
    void put(std::size_t number) noexcept {
        char digits[24];
        put(std::string_view(digits, std::size_t(std::to_chars(digits, digits + sizeof(digits), number).ptr - digits)));
    }
    void put_quoted(std::string_view text) noexcept {
        static constexpr char hexadecimal[] = "0123456789abcdef";
        put("\"");
        for (char const &byte : text) {
            if (byte == '"' || byte == '\\') put("\\");
            if (std::uint8_t(byte) >= 0x20)
                put({&byte, 1});
            else {
                char const escaped[] = {'\\', 'u', '0', '0', hexadecimal[byte >> 4], hexadecimal[byte & 15]};
                put({escaped, sizeof(escaped)});
            }
        }
        put("\"");
    }
};

std::size_t data_bytes(tensor_layout_t const &tensor) noexcept {
    std::size_t bytes = bytes_of(tensor.dtype);
    for (std::size_t axis = 0; axis < tensor.rank; ++axis) bytes *= tensor.shape[axis];
    return bytes;
}

void put_tensor(header_text_t &header, tensor_layout_t const &tensor, std::size_t offset) noexcept {
    header.put_quoted(tensor.name);
    header.put(":{\"dtype\":"), header.put_quoted(name_of(tensor.dtype)), header.put(",\"shape\":[");
    for (std::size_t axis = 0; axis < tensor.rank; ++axis) {
        if (axis) header.put(",");
        header.put(tensor.shape[axis]);
    }
    header.put("],\"data_offsets\":["), header.put(offset), header.put(",");
    header.put(offset + data_bytes(tensor)), header.put("]}");
}

/** Answers the bytes of data that follow. */
std::size_t put_header(header_text_t &header, std::span<tensor_layout_t const> tensors,
                       std::span<metadata_entry_t const> metadata) noexcept {
    header.put("{\"__metadata__\":{");
    for (std::size_t i = 0; i < metadata.size(); ++i) {
        if (i) header.put(",");
        header.put_quoted(metadata[i].key), header.put(":"), header.put_quoted(metadata[i].value);
    }
    header.put("}");
    std::size_t offset = 0;
    for (tensor_layout_t const &tensor : tensors) {
        header.put(","), put_tensor(header, tensor, offset);
        offset += data_bytes(tensor);
    }
    header.put("}");
    return offset;
}

/** Refuses what the reader would refuse. */
failure_t check_writable(std::span<tensor_layout_t const> tensors,
                         std::span<metadata_entry_t const> metadata) noexcept {
    for (metadata_entry_t const &entry : metadata)
        if (!is_utf8(entry.key) || !is_utf8(entry.value))
            return fail(uform_status_invalid_argument_k, "metadata must be UTF-8", "key '%s'",
                        shown_text_t(entry.key).text);
    std::size_t offset = 0;
    for (tensor_layout_t const &tensor : tensors) {
        if (!is_utf8(tensor.name) || tensor.name.find('\0') != tensor.name.npos)
            return fail(uform_status_invalid_argument_k, "a tensor's name must be UTF-8 without NUL");
        if (offset % bytes_of(tensor.dtype) != 0)
            return fail(uform_status_invalid_argument_k, "F32 tensors must not follow an odd count of BF16",
                        "tensor '%s'", shown_text_t(tensor.name).text);
        offset += data_bytes(tensor);
    }
    return {};
}

} // namespace

failure_t checkpoint_writer_t::begin(std::string_view path, std::span<tensor_layout_t const> tensors,
                                     std::span<metadata_entry_t const> metadata) noexcept {
    if (failure_t const failure = check_writable(tensors, metadata)) return failure;
    header_text_t counted(nullptr);
    missing_ = put_header(counted, tensors, metadata);
    std::size_t const whole = (header_start_k + counted.length() + 63) / 64 * 64, header_bytes = whole - header_start_k;
    if (header_bytes > checkpoint_t::header_limit_k || tensors.size() > checkpoint_t::tensors_limit_k)
        return fail(uform_status_invalid_argument_k, "checkpoint header is too large", "%zu bytes, at most %zu",
                    header_bytes, checkpoint_t::header_limit_k);
    buffer_t<char> bytes;
    if (!bytes.resize(whole)) return fail(uform_status_out_of_memory_k, "no memory for a checkpoint's header");
    for (std::size_t i = 0; i < header_start_k; ++i) bytes[i] = char(std::uint64_t(header_bytes) >> (8 * i) & 0xff);
    std::memset(bytes.data() + header_start_k, ' ', header_bytes);
    header_text_t filled(bytes.data() + header_start_k);
    put_header(filled, tensors, metadata);
    if (failure_t const failure = file_.create(path)) return failure;
    return file_.append(std::as_bytes(std::span<char const>(bytes.span())));
}

failure_t checkpoint_writer_t::append(std::span<std::byte const> bytes) noexcept {
    if (bytes.size() > missing_) {
        file_.discard();
        return fail(uform_status_internal_k, "more data than the checkpoint's tensors take", "%zu bytes left, %zu came",
                    missing_, bytes.size());
    }
    missing_ -= bytes.size();
    return file_.append(bytes);
}

failure_t checkpoint_writer_t::commit() noexcept {
    if (missing_ != 0) {
        file_.discard();
        return fail(uform_status_internal_k, "less data than the checkpoint's tensors take", "%zu bytes are missing",
                    missing_);
    }
    return file_.commit();
}

} // namespace uform
