/**
 *  @file container.hpp
 *  @brief Clips and recordings through FFmpeg: a file in memory → packets of one stream → decoded frames.
 *
 *      file ──container_t──▶ packets ──decoder_t──▶ AVFrame    one of each per file, on the thread that decodes it
 *
 *  What keeps a hostile file harmless: content picks one of six demuxers and one of a list of decoders, where FFmpeg
 *  would guess among hundreds; nothing else can be opened from within a file, as playlists and references ask for;
 *  decoders run on the calling thread alone, so that no bit depends on threads; a frame's size is checked before it is
 *  allocated. Damage that the library tells of is a failure here, never a gap in what is decoded.
 *
 *  FFmpeg logs through one level and one callback per process. As long as a container is open the level is
 *  AV_LOG_QUIET; the last to close puts the old one back, unless somebody set another meanwhile. Offsets that FFmpeg
 *  has per context would change nothing global, but reach neither the contexts it keeps inside of demuxers and parsers
 *  nor what logs without one; a callback would reach all, and could not be put back, as nobody can ask which it was.
 */
#pragma once
#include <cerrno>
#include <optional>

#include <uform/media/file.hpp>

struct AVCodecContext;
struct AVFormatContext;
struct AVFrame;
struct AVIOContext;
struct AVPacket;
struct AVStream;

namespace uform {

enum class container_format_t : std::uint8_t { mov_k, matroska_k, wav_k, flac_k, mp3_k, ogg_k };

/** What a file's first bytes say it is; a file that ends within a signature counts as that format's, cut short. */
std::optional<container_format_t> container_format_of(file_t file) noexcept;

/** True where the file ends before its container says it does; of some formats nobody can tell. Or it was stopped. */
bool is_cut_short(file_t file, container_format_t format, stop_t stop) noexcept;

/** Of a chain of Oggs, each with a beginning and an end of its own, the first; else all of the file. */
file_t first_link(file_t file, stop_t stop) noexcept;
/** Of an Ogg, whether all pages that start within its first bytes have the checksum they tell, and it was not stopped. */
bool are_pages_whole(file_t file, std::size_t first_bytes, stop_t stop) noexcept;

enum class stream_kind_t : std::uint8_t { audio_k, video_k };

/** FFmpeg's log is quiet as long as one lives. */
class quiet_t {
  public:
    quiet_t() noexcept;
    ~quiet_t() noexcept;
    quiet_t(quiet_t const &) = delete;
    quiet_t &operator=(quiet_t const &) = delete;
};

/**
 *  Runs what calls FFmpeg. Where memory ran out in there its answer says so at times, calls the file damaged at others,
 *  and now and then goes on without what it could not keep, such as how much padding to drop. What it cannot hide is
 *  the errno of malloc, which nothing resets: nothing that was decoded under it is believed.
 */
template <typename body_>
failure_t with_memory_watched(body_ const &body) noexcept {
    int const before = errno;
    errno = 0;
    failure_t failure = body();
    if (errno == ENOMEM) failure = fail(uform_status_out_of_memory_k, "memory for decoding a file is out");
    errno = before;
    return failure;
}

class container_t {
    quiet_t quiet_;
    file_t file_;
    container_format_t format_ = container_format_t::mov_k;
    std::size_t at_ = 0; // bytes read of it
    stop_t stop_;
    bool is_stopped_ = false; // so what FFmpeg says of the file is no longer believed: it read less than there is
    AVIOContext *bytes_ = nullptr;
    AVFormatContext *context_ = nullptr;
    AVPacket *packet_ = nullptr;
    AVStream *stream_ = nullptr; // the one that is read
    bool has_read_ = false;      // any of its packets
    std::size_t shown_ = 0;      // packets of it so far, without those that an edit list hides
    std::int64_t heard_ = 0;     // how long its packets are, in its units
    std::int64_t last_ = 0;      // how long its last packet is

  public:
    container_t() noexcept = default;
    container_t(container_t const &) = delete;
    container_t &operator=(container_t const &) = delete;
    ~container_t() noexcept;

    /** Reads the headers of a file, which must outlive this. */
    failure_t open(file_t file, container_format_t format, stop_t stop = {}) noexcept;
    /** Picks the stream to read: of its kind the one marked as default, or else the first; null where there is none. */
    AVStream *pick(stream_kind_t kind) noexcept;
    /**
     *  Decodes what it takes to know the sample rate, in which padding is counted: headers of MP3 tell none, and those of
     *  Matroska, of Opus, the one that was encoded, which is not the one that it decodes at.
     */
    failure_t look_ahead() noexcept;
    AVFormatContext &context() const noexcept { return *context_; }
    /** The next packet of the picked stream, until the next call; null at the end. */
    failure_t read(AVPacket *&packet) noexcept;
    /** True where whoever wanted it wants no more. */
    bool stopped() noexcept;
    /** True where a packet of the picked stream came. */
    bool has_read() const noexcept { return has_read_; }
    /** How many packets so far are shown: an edit list may hide what others are decoded from. */
    std::size_t shown_packets() const noexcept { return shown_; }
    /** Refuses what FFmpeg read but passed over. Once enough is read. */
    failure_t check_read() noexcept;
    /** A failure of FFmpeg's, in our words; whatever it is, once stopped it is that. */
    failure_t failure_of(int code) const noexcept;

  private:
    friend struct container_reader_t; // what FFmpeg calls
    stop_t asked() noexcept {
        return {[](void *self) noexcept { return static_cast<container_t *>(self)->stopped(); }, this};
    }
    /** Of a walk that ended early: it was stopped, or found this. */
    failure_t ended(failure_t const &found) const noexcept;
    failure_t check_end() const noexcept;
};

class decoder_t {
    container_t &container_;
    AVCodecContext *context_ = nullptr;
    AVFrame *frame_ = nullptr;
    bool is_decoded_ = false; // a frame, at least

  public:
    explicit decoder_t(container_t &container) noexcept : container_(container) {}
    decoder_t(decoder_t const &) = delete;
    decoder_t &operator=(decoder_t const &) = delete;
    ~decoder_t() noexcept;

    /** `stream` is the picked one. */
    failure_t start(AVStream const &stream, uform_limits_t const &limits) noexcept;
    AVCodecContext &context() const noexcept { return *context_; }
    /** The next frame in the order it is shown, until the next call; null at the end. */
    failure_t next(AVFrame *&frame) noexcept;

  private:
    failure_t check_decoded() const noexcept;
};

} // namespace uform
