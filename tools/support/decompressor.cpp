/**
 *  @file decompressor.cpp
 *  @brief libzstd where the build found it.
 */
#include <utility>

#include "support/decompressor.hpp"
#include "support/error.hpp"

#ifdef UFORM_TOOLS_ZSTD
#include <zstd.h>
#endif

namespace uform::tools {

#ifdef UFORM_TOOLS_ZSTD

struct decompressor_t::stream_t {
    ZSTD_DCtx *context = ZSTD_createDCtx();
    std::string input;
    std::size_t consumed = 0;
    bool full = false; // the last chunk was, so that more may be waiting inside
    bool in_a_frame = false;

    ~stream_t() { ZSTD_freeDCtx(context); }
};

decompressor_t::decompressor_t(std::string path) : path_(std::move(path)), stream_(std::make_unique<stream_t>()) {
    if (!stream_->context) throw std::bad_alloc();
}

bool decompressor_t::hungry() const noexcept { return stream_->consumed == stream_->input.size() && !stream_->full; }

void decompressor_t::feed(std::string bytes) { stream_->input = std::move(bytes), stream_->consumed = 0; }

void decompressor_t::produce(std::string &target) {
    std::size_t const before = target.size(), chunk = ZSTD_DStreamOutSize();
    target.resize(before + chunk);
    ZSTD_inBuffer input = {stream_->input.data(), stream_->input.size(), stream_->consumed};
    ZSTD_outBuffer output = {target.data() + before, chunk, 0};
    std::size_t const left = ZSTD_decompressStream(stream_->context, &output, &input);
    if (ZSTD_isError(left))
        fail_at(path_, 0, "is not sound Zstandard, {}; copy or compress it again", ZSTD_getErrorName(left));
    bool const idle = input.pos == stream_->consumed && output.pos == 0;
    // At the end of a frame zero is left, and a call without input says nothing of frames.
    if (!idle) stream_->in_a_frame = left != 0;
    stream_->consumed = input.pos, stream_->full = output.pos == chunk;
    target.resize(before + output.pos);
}

void decompressor_t::finish() const {
    if (stream_->in_a_frame) fail_at(path_, 0, "ends in the middle of a Zstandard frame; copy it again");
}

#else

struct decompressor_t::stream_t {};

decompressor_t::decompressor_t(std::string path) : path_(std::move(path)) {
    fail_at(path_, 0, "this build reads no Zstandard; install libzstd-dev and build again, or decompress the file");
}

bool decompressor_t::hungry() const noexcept { return false; }
void decompressor_t::feed(std::string) {}
void decompressor_t::produce(std::string &) {}
void decompressor_t::finish() const {}

#endif

decompressor_t::~decompressor_t() = default;

} // namespace uform::tools
