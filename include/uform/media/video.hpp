/**
 *  @file video.hpp
 *  @brief Arrow 1 of clips: file bytes → frames as they are shown, each with its time, as rows of pixels.
 *
 *  A file is MP4 (QuickTime too) or WebM (Matroska too), told apart by content; its codec H.264, H.265, VP8, VP9, AV1
 *  or MPEG-4. Frames come in the order they are shown, at the container's times counted from the first of them; what an
 *  edit list hides does not come. Rows are 8-bit RGB of the frame's own size, right to its last row and column, however
 *  its codec pads it: samples become RGB by the matrix and the range that the stream tells. Where it tells no matrix, a
 *  frame of 1,280 columns or more, or of more than 576 rows, is BT.709, a smaller one BT.601; without a range it is
 *  limited. Chroma is interpolated from where the stream says it lies, on the left if it does not. Transfer curves,
 *  primaries, alpha and the shape of a sample are ignored, and fields are not woven anew. Rows lie as they are stored,
 *  as those of `image.hpp` do; an angle between two quarter turns counts as the nearer one.
 *
 *  Damage is an answer, never a picture: a frame that its decoder could not read whole, or repaired, is `malformed`.
 *  Only what is asked for is decoded, so of frames behind the last one only that their bytes are there is known.
 */
#pragma once
#include <uform/media/image.hpp>

namespace uform {

/** A file of a clip, and what is to be kept of it. */
struct clip_t {
    file_t file;
    uform_limits_t limits {}; // zeros are defaults
    stop_t stop {};           // asked before each packet and each frame
};

/** A frame that is shown. */
struct clip_frame_t {
    std::size_t width = 0, height = 0; // pixels, as stored
    orientation_t orientation;
    double seconds = 0; // since the first frame; never less than the frame before's

    std::size_t upright_width() const noexcept { return orientation.transposes() ? height : width; }
    std::size_t upright_height() const noexcept { return orientation.transposes() ? width : height; }
};

/** What is to become of a frame: nothing; its rows, after which there may be no more frames; or the end at once. */
enum class frame_wish_t : std::uint8_t { skip_k, rows_k, last_rows_k, stop_k };

/** Sees each frame and takes the rows [width, 3] of those it wishes for. */
struct frame_sink_t {
    frame_wish_t (*see)(void *self, clip_frame_t const &frame) noexcept = nullptr;
    void (*take)(void *self, std::uint8_t const *row) noexcept = nullptr;
    void *self = nullptr;
};

/** Whether frames are only to be seen, which packets tell, or nearly, at a thousandth of the cost, or asked for rows. */
enum class clip_pass_t : std::uint8_t { count_k, rows_k };

/**
 *  Shows a clip's frames to a sink until that stops it, which is a success, or they end. The file's bytes and the pixels
 *  its header tells are held against their limits before anything is decoded, the decoder holds what the frames
 *  themselves tell against it before it allocates; and frames must be shown by `max_seconds`. A clip without frames is
 *  `malformed`; a file of sound alone, like one of another format, `unknown_kind`.
 *
 *  Counting sees the frames that decoding shows, of the size that the container tells; where it sees more, the clip is
 *  damaged. It reads packets where each is a frame, as of VP8, VP9 and AV1, and of streams of H.264 and H.265 that begin
 *  with a picture that clears the decoder; others it decodes, but for what only pixels need.
 */
failure_t decode_clip(clip_t const &clip, clip_pass_t pass, frame_sink_t sink) noexcept;

} // namespace uform
