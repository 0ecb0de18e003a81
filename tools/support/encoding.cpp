/**
 *  @file encoding.cpp
 *  @brief Reads inputs, encodes them a batch at a time, writes rows: memory holds one batch, not the corpus.
 */
#include <algorithm>
#include <chrono>
#include <optional>

#include "support/checkpoint_header.hpp"
#include "support/encoding.hpp"
#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/item_reader.hpp"
#include "support/media_encoder.hpp"
#include "support/output_file.hpp"
#include "support/progress_bar.hpp"
#include "support/row_writer.hpp"
#include "support/run_log.hpp"
#include "support/text_encoder.hpp"

namespace uform::tools {

namespace {

constexpr char const *name_k = "uform_encode";

output_format_t output_format_of(encoding_options_t const &options) {
    if (!options.output_format.empty())
        return output_format_t(choice("--output-format", options.output_format, {"npy", "jsonl", "safetensors"}));
    std::string const &name = options.output;
    if (name.ends_with(".jsonl")) return output_format_t::jsonl_k;
    return name.ends_with(".safetensors") ? output_format_t::safetensors_k : output_format_t::npy_k;
}

surface_t surface_of(encoding_options_t const &options, output_format_t format) {
    auto const surface = surface_t(choice("--surface", options.surface, {"embeddings", "states", "token-vectors"}));
    if (surface == surface_t::embeddings_k) return surface;
    if (options.dimensions) fail_usage("--dimensions: only embeddings can be cut; leave it out for {}", options.surface);
    if (format == output_format_t::npy_k)
        fail_usage("--surface: .npy holds one row a text; write {} as jsonl or safetensors", options.surface);
    return surface;
}

uform_scalar_t scalar_of(encoding_options_t const &options) {
    constexpr uform_scalar_t scalars[] = {uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_f16_k,
                                          uform_scalar_i8_k};
    return scalars[choice("--scalar", options.scalar, {"f32", "bf16", "f16", "i8"})];
}

row_layout_t layout_of(encoding_options_t const &options, surface_t surface, uform_model_description_t const &model) {
    row_layout_t layout;
    layout.scalar = scalar_of(options);
    layout.per_token = surface != surface_t::embeddings_k;
    layout.name = surface == surface_t::states_k          ? "states"
                  : surface == surface_t::token_vectors_k ? "token_vectors"
                  : options.output_format == "jsonl" || options.output.ends_with(".jsonl") ? "embedding"
                                                                                           : "embeddings";
    layout.columns = surface == surface_t::token_vectors_k ? model.token_width : model.dimensions;
    if (options.dimensions) layout.columns = options.dimensions;
    if (layout.columns > model.dimensions && surface == surface_t::embeddings_k)
        fail_usage("--dimensions: {} has {}; ask for no more", options.checkpoint, model.dimensions);
    return layout;
}

std::string prefix_of(encoding_options_t const &options) {
    if (options.side.empty()) return {};
    choice("--as", options.side, {"query", "document"});
    return read_checkpoint_header(options.checkpoint).prefix(options.side);
}

/** What is read stays, and what is written goes to places of its own. */
void check_targets(encoding_options_t const &options) {
    std::string const input = !options.files.empty() ? "" : options.input == "-" ? "/dev/stdin" : options.input;
    std::string const *const targets[] = {&options.output, &options.log, &options.names};
    for (std::string const *const target : targets)
        check_apart(*target, options.checkpoint), check_apart(*target, input);
    check_apart(options.log, options.output), check_apart(options.names, options.output);
    check_apart(options.names, options.log);
    if (std::count_if(std::begin(targets), std::end(targets), [](auto const *target) { return *target == "-"; }) > 1)
        fail_usage("--output, --names, --log: one of them alone can go to standard output; name files for the others");
}

/** A few inputs on their way, at most so many bytes of them; rows leave in the order in which inputs came. */
class encoding_run_t {
  public:
    encoding_run_t(encoding_options_t const &options, surface_t surface, item_reader_t &reader, text_encoder_t &texts,
                   executor_t const &executor, text_batch_t batch, row_writer_t &writer)
        : options_(options), surface_(surface), reader_(reader), texts_(texts), executor_(executor),
          text_batch_(std::move(batch)), writer_(writer) {
        if (!options.names.empty()) names_.emplace(options.names);
    }

    void run();
    /** Says what was skipped; fails where nothing is left. */
    void list_skipped(run_log_t &log);
    /** Says what was cut, once the rows have their name. */
    void conclude(run_log_t &log);
    std::size_t tokens() const noexcept { return tokens_; }
    std::size_t truncated() const noexcept;

  private:
    struct skipped_t {
        std::size_t index;
        std::string input, reason;
    };
    bool gather();
    void encode();
    void encode_media(uform_modality_t modality);
    void write();
    void skip(std::size_t item, std::string reason);
    media_encoder_t &media(uform_modality_t modality);

    static constexpr std::size_t modalities_k = 4;
    encoding_options_t const &options_;
    surface_t surface_;
    item_reader_t &reader_;
    text_encoder_t &texts_;
    executor_t const &executor_;
    text_batch_t text_batch_;
    row_writer_t &writer_;
    std::optional<output_file_t> names_;
    std::optional<media_encoder_t> media_[modalities_k]; // made when the first of its files comes
    std::vector<item_t> items_;
    std::optional<item_t> next_; // which the items at hand are not to wait for, or to lie beside in memory
    encoded_t encoded_[modalities_k];
    std::size_t first_index_ = 0; // of the items at hand, among all inputs
    std::size_t encoded_texts_ = 0;
    std::size_t tokens_ = 0;
    std::vector<skipped_t> skipped_;
};

void encoding_run_t::skip(std::size_t item, std::string reason) {
    if (options_.strict) fail("{}: {}", items_[item].name, reason);
    items_[item].problem = reason;
    skipped_.push_back({first_index_ + item, items_[item].name, std::move(reason)});
}

media_encoder_t &encoding_run_t::media(uform_modality_t modality) {
    std::optional<media_encoder_t> &encoder = media_[modality];
    if (!encoder) encoder.emplace(options_.checkpoint, texts_.model(), executor_, modality);
    return *encoder;
}

bool encoding_run_t::gather() {
    first_index_ += items_.size();
    items_.clear();
    for (std::size_t bytes = 0; items_.size() < options_.batch && bytes < options_.batch_bytes;) {
        item_t item;
        if (next_)
            item = std::move(*next_), next_.reset();
        else if (!reader_.next(item))
            break;
        if (item.bytes.size() > options_.batch_bytes && !items_.empty()) {
            next_ = std::move(item);
            break;
        }
        bytes += item.bytes.size();
        items_.push_back(std::move(item));
        if (!items_.back().problem.empty()) skip(items_.size() - 1, std::move(items_.back().problem));
    }
    return !items_.empty();
}

void encoding_run_t::encode_media(uform_modality_t modality) {
    std::vector<std::size_t> given; // items of the batch
    file_batch_t batch;
    for (std::size_t i = 0; i < items_.size(); ++i)
        if (items_[i].problem.empty() && items_[i].modality == modality)
            batch.add(std::move(items_[i].bytes)), items_[i].bytes = {}, given.push_back(i);
    if (given.empty()) return;
    std::vector<refused_t> refused;
    encoded_[modality] = media(modality).encode(batch, surface_, options_.dimensions, scalar_of(options_), refused);
    for (refused_t &each : refused) skip(given[each.index], std::move(each.reason));
    tokens_ += encoded_[modality].tokens;
}

void encoding_run_t::encode() {
    text_batch_.clear();
    for (item_t &item : items_)
        if (item.problem.empty() && item.modality == uform_modality_text_k)
            text_batch_.add(item.bytes), item.bytes = {}, ++encoded_texts_;
    if (text_batch_.count()) {
        encoded_t &encoded = encoded_[uform_modality_text_k];
        encoded = texts_.encode(text_batch_, surface_, options_.dimensions, scalar_of(options_));
        tokens_ += encoded.tokens;
    }
    for (uform_modality_t const each : {uform_modality_image_k, uform_modality_video_k, uform_modality_audio_k})
        encode_media(each);
}

/** Rows of one modality that are next to each other go to the writer together. */
void encoding_run_t::write() {
    std::size_t next[modalities_k] = {};
    std::vector<row_origin_t> origins;
    uform_modality_t modality = uform_modality_text_k;
    auto const flush = [&] {
        if (origins.empty()) return;
        if (names_)
            for (std::size_t i = 0; i < origins.size(); ++i)
                names_->write(fmt::format("{{\"row\":{},\"index\":{},\"input\":{}}}\n", writer_.items() + i,
                                          origins[i].index, as_json(origins[i].input)));
        writer_.append(encoded_[modality].rows, next[modality], origins);
        next[modality] += origins.size();
        origins.clear();
    };
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (!items_[i].problem.empty()) continue;
        if (items_[i].modality != modality) flush(), modality = items_[i].modality;
        origins.push_back({first_index_ + i, items_[i].name});
    }
    flush();
}

void encoding_run_t::run() {
    progress_bar_t bar;
    char const *const unit = reader_.reads_files() ? "items" : "texts";
    auto const begin = std::chrono::steady_clock::now();
    while (gather()) {
        leave_if_interrupted();
        encode();
        write();
        double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        std::string const skipped = skipped_.empty() ? "" : fmt::format(" | {} skipped", skipped_.size());
        bar.show(writer_.items(), 0, fmt::format("{} | {:.0f} tokens/s{}", unit, double(tokens_) / seconds, skipped));
    }
}

std::size_t encoding_run_t::truncated() const noexcept {
    std::size_t count = text_batch_.truncated();
    for (std::optional<media_encoder_t> const &each : media_) count += each ? each->truncated() : 0;
    return count;
}

void encoding_run_t::list_skipped(run_log_t &log) {
    std::sort(skipped_.begin(), skipped_.end(),
              [](skipped_t const &a, skipped_t const &b) { return a.index < b.index; });
    for (skipped_t const &each : skipped_) {
        report(name_k, fmt::format("skipped {}: {}", each.input, each.reason));
        log.write({{"event", "skipped"}, {"index", each.index}, {"input", each.input}, {"reason", each.reason}});
    }
    std::size_t const given = writer_.items() + skipped_.size();
    if (!skipped_.empty() && skipped_.size() == given)
        fail("none of {} inputs could be encoded; {} is not written", given, options_.output);
    if (!skipped_.empty()) report(name_k, fmt::format("{} of {} inputs were skipped", skipped_.size(), given));
}

void encoding_run_t::conclude(run_log_t &log) {
    if (names_) names_->commit();
    std::size_t const cut = text_batch_.truncated(), all_cut = truncated();
    if (cut)
        report(name_k, fmt::format("{} of {} texts were longer than {} bytes and were cut", cut, encoded_texts_,
                                   text_batch_.limit()));
    if (all_cut > cut)
        report(name_k, fmt::format("{} of {} pictures, clips and recordings were more than the context and were cut",
                                   all_cut - cut, writer_.items() - encoded_texts_));
    log.write({{"event", "encode"},
               {"checkpoint", options_.checkpoint},
               {"items", writer_.items()},
               {"tokens", tokens_},
               {"truncated", all_cut},
               {"skipped", skipped_.size()}});
}

} // namespace

int encode_inputs(encoding_options_t const &options) {
    output_format_t const format = output_format_of(options);
    surface_t const surface = surface_of(options, format);
    std::string const prefix = prefix_of(options);
    check_targets(options);
    for (std::string const &target : {options.output, options.names})
        if (!target.empty() && target != "-") remove_leftovers(link_target(target), {"tmp"});
    item_reader_t reader(options);
    scalar_of(options); // refuses before a model is loaded
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    text_encoder_t encoder(options.checkpoint, executor);
    std::size_t const context = encoder.description().context;
    std::size_t const limit = options.bytes ? std::min(options.bytes, context) : context;
    row_layout_t layout = layout_of(options, surface, encoder.description());
    layout.of_files = reader.reads_files();
    row_writer_t writer(options.output, format, layout);
    encoding_run_t run(options, surface, reader, encoder, executor, text_batch_t(prefix, limit), writer);
    run.run();
    run_log_t log(options.log, true);
    run.list_skipped(log);
    writer.finish();
    run.conclude(log);
    return exit_success_k;
}

} // namespace uform::tools
