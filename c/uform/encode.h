/**
 *  @file encode.h
 *  @brief Turning texts, images, clips and recordings into vectors, choosing between bytes, and reranking.
 *
 *  Third of the four headers of the C ABI. Each verb is one batch through one model; a batch never changes an
 *  item's bits, nor does the order of its items or the number of threads.
 *
 *  Shared by the encode verbs:
 *  - Outputs are asked for by pointing at a view to fill. NULL skips the surface and its cost, and asking for more
 *    never changes the bits of the rest. Asking for none is `invalid_argument`, as is an output without an `arena`.
 *  - The arena must not hold what the call reads, as it is rewound first: `invalid_argument`.
 *  - `embeddings` [count, dimensions] are rows of unit Euclidean length, to the rounding of what they land as; a row
 *    that is all zeros has no direction, and stays zeros. `states` [tokens, hidden] are the tower's
 *    normalized rows, one per token. `token_vectors` [tokens, token_width] are unit rows for late interaction
 *    (ColBERT, arXiv:2004.12832), with the offsets of the states; `unsupported` where the model has no token head.
 *  - `dimensions` keeps the first so many columns of each embedding, scaled back to unit length (Matryoshka
 *    representations, arXiv:2205.13147). Zero: all. More than the model's is `shape_mismatch`.
 *  - `outputs_scalar`: f32, bf16, f16, or i8 for unit rows; zero: f32. States as i8 are `unsupported`.
 *  - An item without tokens is encoded as one PAD token: it has an ordinary embedding and one state row. (Choosing puts
 *    a MASK behind every text, so there an empty text is the MASK alone.) No items at all succeed with zero rows. A
 *    longer item than the context is cut and counted.
 *  - One bad item fails the call with its index in `outcome.item`; NaN and infinity never land.
 */
#ifndef UFORM_ENCODE_H_
#define UFORM_ENCODE_H_

#include <uform/model.h>
#include <uform/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a batch cost. Written on success alone. */
typedef struct uform_encode_stats_t {
    size_t truncated; /**< items that did not fit the context whole */
    size_t tokens;    /**< that went through the tower, over all items */
} uform_encode_stats_t;
typedef uform_encode_stats_t uform_text_encode_stats_t;
typedef uform_encode_stats_t uform_image_encode_stats_t;
typedef uform_encode_stats_t uform_video_encode_stats_t;
typedef uform_encode_stats_t uform_audio_encode_stats_t;
typedef uform_encode_stats_t uform_text_choose_stats_t;

/** Encodes texts, a token per byte. Any bytes will do: NUL and invalid UTF-8 are tokens like others, and the cut at the
 *  context falls between bytes. */
typedef struct uform_text_encode_t {
    uform_model_t model;
    uform_executor_t executor;     /**< NULL: the calling thread */
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_tape_view_t texts;       /**< u8 */
    size_t count;                  /**< texts */
    size_t dimensions;
    uform_rows_t *embeddings;
    uform_rows_tape_t *states;
    uform_rows_tape_t *token_vectors;
    uform_arena_t arena;
    uform_scalar_t outputs_scalar;
    uform_text_encode_stats_t *stats; /**< optional */
    uform_progress_t progress;     /**< counts texts */
} uform_text_encode_t;
UFORM_API void uform_text_encode(uform_text_encode_t *arguments);

/** Encodes JPEG, PNG or WebP files, told apart by content, a token per square patch. EXIF orientation is applied, CMYK
 *  and YCCK become RGB (four inks are read as stored inverted, as nearly all are), 16-bit channels round to 8, grey and
 *  palettes expand, colour is premultiplied by alpha, ICC profiles and gamma are ignored, and an animation gives its
 *  first frame. A picture is averaged, by area, to a grid of 512 patches at most that keeps its shape; one held another
 *  way has the same bits.
 *  Content of another format is `unknown_kind`; a file that is cut short anywhere, its last bytes included, whose
 *  damage its decoder tells (JPEG and WebP have no checksums), or that is above a limit, is `malformed`; a rare kind of
 *  JPEG that no decoder here reads, `unsupported_layout`; a format that this build was configured without, `unsupported`,
 *  as is a model without an image entry. Decoding takes memory of its library's for the time of an item: rows of most
 *  files, the whole picture of WebP, interlaced PNG and progressive JPEG. */
typedef struct uform_image_encode_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_tape_view_t files;       /**< u8, a whole file each */
    size_t count;                  /**< files */
    uform_limits_t limits;
    size_t dimensions;
    uform_rows_t *embeddings;
    uform_rows_tape_t *states;
    uform_rows_tape_t *token_vectors;
    uform_arena_t arena;
    uform_scalar_t outputs_scalar;
    uform_image_encode_stats_t *stats;
    uform_progress_t progress;     /**< counts files */
} uform_image_encode_t;
UFORM_API void uform_image_encode(uform_image_encode_t *arguments);

/** Encodes pictures already decoded: 8-bit interleaved RGB, rows from the top, without padding. Where a file stores the
 *  same pixels, both verbs answer the same bits. */
typedef struct uform_image_encode_pixels_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_tape_view_t pixels;      /**< u8; item i has `heights[i] * widths[i] * 3` of them, else `shape_mismatch` */
    size_t const *heights;         /**< [count] pixels, above zero and below 2^24 */
    size_t const *widths;          /**< [count] pixels, likewise */
    size_t count;                  /**< pictures */
    size_t dimensions;
    uform_rows_t *embeddings;
    uform_rows_tape_t *states;
    uform_rows_tape_t *token_vectors;
    uform_arena_t arena;
    uform_scalar_t outputs_scalar;
    uform_image_encode_stats_t *stats;
    uform_progress_t progress;     /**< counts pictures */
} uform_image_encode_pixels_t;
UFORM_API void uform_image_encode_pixels(uform_image_encode_pixels_t *arguments);

/** Encodes clips: MP4, QuickTime, WebM or Matroska files, told apart by content, of H.264, H.265, VP8, VP9, AV1 or MPEG-4
 *  video; a token per square patch through a few frames. Every `frame_stride`-th frame counts, from the first that is
 *  shown on; the grid of a frame is a picture's of 128 patches at most, and 1,024 tokens are the most of a clip: frames
 *  behind them count in `stats.truncated`, and are not decoded. A last tube that is short of frames repeats its last one.
 *  Frames take their times from the container, counted from the first one; edit lists and rotation metadata are applied,
 *  an angle between two quarter turns as the nearer one; the sample aspect ratio is ignored, interlaced frames are taken
 *  as they are, sound is skipped. Colours are RGB by the matrix and range that the stream tells; where it tells none,
 *  BT.709 of frames 1,280 wide or wider, or higher than 576, and BT.601 of smaller ones, of limited range.
 *  Content of another format, and a file without video, is `unknown_kind`; a file that is cut short, whose index is
 *  missing or tells of more than there is, a frame that its decoder cannot read whole, or what is above a limit,
 *  `malformed`; another codec, `unsupported_layout`; a build without FFmpeg, `unsupported`, as is a model without a video
 *  entry. Of frames that are not decoded only their bytes must be there; H.265's decoder does not tell of slices that
 *  are missing. `limits.max_seconds` is the time by which the last frame that counts must be shown. */
typedef struct uform_video_encode_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_tape_view_t files;       /**< u8, a whole file each */
    size_t count;                  /**< files */
    uform_limits_t limits;
    size_t dimensions;
    uform_rows_t *embeddings;
    uform_rows_tape_t *states;
    uform_rows_tape_t *token_vectors;
    uform_arena_t arena;
    uform_scalar_t outputs_scalar;
    uform_video_encode_stats_t *stats;
    uform_progress_t progress;     /**< counts files */
} uform_video_encode_t;
UFORM_API void uform_video_encode(uform_video_encode_t *arguments);

/** Encodes WAV, FLAC, MP3 and Ogg (Opus, Vorbis, FLAC) files, or the sound of MP4, QuickTime, Matroska and WebM ones,
 *  told apart by content, a token per chunk of samples. All channels are averaged, each counting alike; other sample
 *  rates become the model's through a windowed sinc; what an encoder put in front and behind is trimmed, as far as the
 *  file tells. A recording is cut to 512 chunks, 10.24 seconds of 320 samples at 16 kHz, the last of them filled up
 *  with zeros. Nothing behind the cut, or behind `limits.max_seconds`, is decoded; that there is more counts in
 *  `truncated`.
 *  Content of another format is `unknown_kind`; a container without sound, or of a codec that is not read,
 *  `unsupported_layout`. A file that is damaged or cut short is `malformed` as far as its format tells: FLAC and Ogg
 *  have checksums, MP4, WebM and MP3 with a tag tell their length. A WAV has the samples that are there, whatever its
 *  header says, and no samples are an item without tokens; a bare MP3 ends where it ends; of a chain of Oggs the first
 *  is read. NaN and infinity are `malformed`. A model without an audio entry is `unsupported`, as is every file in a
 *  build without FFmpeg.
 *  Files are decoded before any is encoded, and the progress handler is asked then too, with none completed. Decoding
 *  takes memory of FFmpeg's for the time of an item, and 256 MiB at most for what came of all. FFmpeg's log level, of
 *  which a process has one, is AV_LOG_QUIET meanwhile. */
typedef struct uform_audio_encode_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_tape_view_t files;       /**< u8, a whole file each */
    size_t count;                  /**< files */
    uform_limits_t limits;
    size_t dimensions;
    uform_rows_t *embeddings;
    uform_rows_tape_t *states;
    uform_rows_tape_t *token_vectors;
    uform_arena_t arena;
    uform_scalar_t outputs_scalar;
    uform_audio_encode_stats_t *stats;
    uform_progress_t progress;     /**< counts files */
} uform_audio_encode_t;
UFORM_API void uform_audio_encode(uform_audio_encode_t *arguments);

/** Encodes mono samples in [-1, 1], cut to 512 chunks like a file of them, and with its bits. NaN or infinity in what
 *  is encoded is `malformed`; so is what BFloat16 rounds to infinity. Converting a rate is FFmpeg's, too. */
typedef struct uform_audio_encode_samples_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_tape_view_t samples;     /**< f32 */
    size_t sample_rate;            /**< hertz, of every item, at most 2^20; zero: the model's own */
    size_t count;                  /**< recordings */
    size_t dimensions;
    uform_rows_t *embeddings;
    uform_rows_tape_t *states;
    uform_rows_tape_t *token_vectors;
    uform_arena_t arena;
    uform_scalar_t outputs_scalar;
    uform_audio_encode_stats_t *stats;
    uform_progress_t progress;     /**< counts recordings */
} uform_audio_encode_samples_t;
UFORM_API void uform_audio_encode_samples(uform_audio_encode_samples_t *arguments);

/** Scores each text's legal answers, one byte each, in one forward: the decoder reads a MASK token put after the text,
 *  keeps the logits of the legal bytes, multiplies them by the group's inverse temperature (calibrated as in
 *  arXiv:1706.04599), and takes their softmax. `unsupported` where the model has no byte decoder. */
typedef struct uform_text_choose_t {
    uform_model_t model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_tape_view_t texts;       /**< u8, cut to one less than the context */
    uform_tape_view_t choices;     /**< u8: the legal bytes of each text, all different; an item may have none */
    uint32_t const *temperature_groups; /**< [count], below the model's `choice_temperature_groups`; NULL: all zero */
    size_t count;                  /**< texts */
    uform_rows_tape_t *probabilities; /**< [choices, 1], in the order of `choices`, summing to one per item */
    uform_arena_t arena;
    uform_scalar_t outputs_scalar; /**< f32, bf16 or f16; zero: f32 */
    uform_text_choose_stats_t *stats;
    uform_progress_t progress;     /**< counts texts */
} uform_text_choose_t;
UFORM_API void uform_text_choose(uform_text_choose_t *arguments);

/** Scores documents against one query by late interaction: the mean over the query's token vectors of the largest inner
 *  product with any of the document's (MaxSim, arXiv:2004.12832). Nothing is padded, and the table of all token pairs
 *  is never stored. A query or a document without rows is `shape_mismatch`. Takes no model: the inputs are what
 *  `token_vectors` of the encode verbs gave, from an arena or copied elsewhere. */
typedef struct uform_rerank_t {
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_rows_t query;            /**< [query tokens, width], f32, bf16, f16 or i8 */
    uform_rows_tape_t documents;   /**< [document tokens, width], of the query's scalar and width */
    size_t count;                  /**< documents: `documents.offsets` has one more */
    uform_rows_t *scores;          /**< [count, 1], in the order of the documents; i8 inputs count as x / 127 */
    uform_arena_t arena;           /**< not the one the inputs live in: `invalid_argument` */
    uform_scalar_t outputs_scalar; /**< f32, bf16 or f16; zero: f32 */
    uform_progress_t progress;     /**< counts documents */
} uform_rerank_t;
UFORM_API void uform_rerank(uform_rerank_t *arguments);

#ifdef __cplusplus
}
#endif
#endif
