/**
 *  @file encoding.cpp
 *  @brief Reads texts, encodes them a batch at a time, writes rows: memory holds one batch, not the corpus.
 */
#include <algorithm>
#include <chrono>

#include <simdjson.h>

#include "support/checkpoint_header.hpp"
#include "support/encoding.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/progress_bar.hpp"
#include "support/row_writer.hpp"
#include "support/run_log.hpp"
#include "support/text_encoder.hpp"

namespace uform::tools {

namespace {

enum class input_format_t { lines_k, jsonl_k, files_k };

/** The position of a flag's value among the words it may take. */
std::size_t choice(char const *flag, std::string const &value, std::initializer_list<char const *> words) {
    auto const found = std::find(words.begin(), words.end(), value);
    if (found != words.end()) return std::size_t(found - words.begin());
    std::string known;
    for (char const *word : words) known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
    fail_usage("{}: \"{}\" is not known; choose from {}", flag, value, known);
}

/** Items of the input, one by one. */
class text_reader_t {
  public:
    text_reader_t(encoding_options_t const &options)
        : lines_(options.input), field_(options.field),
          format_(input_format_t(choice("--format", options.format, {"lines", "jsonl", "files"}))) {}

    bool next(std::string &text) {
        if (!lines_.next(line_)) return false;
        switch (format_) {
        case input_format_t::lines_k: text.swap(line_); break;
        case input_format_t::jsonl_k: text = field_of_line(); break;
        case input_format_t::files_k:
            check_path(line_, fmt::format("{}:{}", lines_.path(), lines_.line_number()));
            text = read_file(line_);
            break;
        }
        return true;
    }

  private:
    std::string_view field_of_line() {
        simdjson::dom::object record;
        std::string_view text;
        if (parser_.parse(line_).get(record))
            fail_at(lines_.path(), lines_.line_number(), "the line is not a JSON object in UTF-8; correct or remove it");
        if (record[field_].get(text))
            fail_at(lines_.path(), lines_.line_number(), "the record has no string \"{}\"; name another --field", field_);
        return text;
    }

    line_reader_t lines_;
    std::string field_;
    input_format_t format_;
    std::string line_;
    simdjson::dom::parser parser_;
};

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

/** Encodes everything the reader has; answers the tokens that took. */
std::size_t stream(text_reader_t &reader, text_encoder_t &encoder, text_batch_t &batch, surface_t surface,
                   encoding_options_t const &options, row_writer_t &writer) {
    progress_bar_t bar;
    uform_scalar_t const scalar = scalar_of(options);
    auto const begin = std::chrono::steady_clock::now();
    std::size_t tokens = 0;
    std::string text;
    for (bool more = true; more;) {
        leave_if_interrupted();
        batch.clear();
        while (batch.count() < options.batch && (more = reader.next(text))) batch.add(text);
        if (batch.count() == 0) break;
        encoded_t const encoded = encoder.encode(batch, surface, options.dimensions, scalar);
        writer.append(encoded.rows, batch.count());
        tokens += encoded.tokens;
        double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        bar.show(writer.items(), 0, fmt::format("texts | {:.0f} tokens/s", double(tokens) / seconds));
    }
    return tokens;
}

} // namespace

int encode_texts(encoding_options_t const &options) {
    output_format_t const format = output_format_of(options);
    surface_t const surface = surface_of(options, format);
    std::string const prefix = prefix_of(options);
    for (std::string const &source : {options.checkpoint, options.input})
        check_apart(options.output, source), check_apart(options.log, source);
    check_apart(options.log, options.output);
    text_reader_t reader(options);
    scalar_of(options); // refuses before a model is loaded
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    text_encoder_t encoder(options.checkpoint, executor);
    std::size_t const context = encoder.description().context;
    std::size_t const limit = options.bytes ? std::min(options.bytes, context) : context;
    text_batch_t batch(prefix, limit);
    row_writer_t writer(options.output, format, layout_of(options, surface, encoder.description()));
    std::size_t const tokens = stream(reader, encoder, batch, surface, options, writer);
    writer.finish();
    if (batch.truncated())
        report("uform_encode", fmt::format("{} of {} texts were longer than {} bytes and were cut", batch.truncated(),
                                           writer.items(), limit));
    run_log_t(options.log, true)
        .write({{"event", "encode"},
                {"checkpoint", options.checkpoint},
                {"items", writer.items()},
                {"tokens", tokens},
                {"truncated", batch.truncated()}});
    return exit_success_k;
}

} // namespace uform::tools
