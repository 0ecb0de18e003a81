/**
 *  @file uform_encode.cpp
 *  @brief `uform_encode`: texts, pictures, clips and recordings in, vectors out. The flags; the streaming is in
 *  support/encoding.
 */
#include "support/command_line.hpp"
#include "support/encoding.hpp"

namespace {

using namespace uform::tools;

constexpr char const *examples_k = R"(
Examples:
  uform_encode nano.safetensors --input lines.txt --output vectors.npy
  zcat corpus.jsonl.gz | uform_encode nano.safetensors --format jsonl --field body --output-format jsonl | head
  uform_encode omni.safetensors photos/ 'clips/*.mp4' --output media.npy --names media.jsonl
  uform_encode omni.safetensors shards/*.tar --member 'jpg;png' --output photos.safetensors
  uform_encode omni.safetensors --input list.jsonl --format jsonl --path-field image --strict --output photos.npy
  find docs -name '*.md' | uform_encode nano.safetensors --format files --output docs.npy
  uform_encode nano.safetensors --input q.txt --as query --dimensions 64 --scalar i8 --output q.npy
  uform_encode nano.safetensors --input d.txt --surface states --output states.safetensors

Lists: `lines` are texts, any bytes up to a newline, which alone is taken off: a carriage return stays, NUL and invalid
UTF-8 are bytes like others. `jsonl` takes one string field per line, or --path-field: a path or an array of them, from
the list's own folder on; a record without one is a text. `files` names a file, folder, pattern or shard per line.
Of these two, blank lines are none, and a carriage return before the newline is no part of it.
Files: content decides whether one is a picture (JPEG, PNG, WebP), a clip (MP4, WebM), a recording (WAV, FLAC, MP3,
Opus), a shard (tar, an entry for all members of one stem) or a text in UTF-8. Folders are walked, sorted, without what
begins with a dot, and without what this tool wrote there. A file that is empty or cannot be encoded is skipped, and
listed with its reason at the end. No input is ever written over.
Formats out: .npy holds [items, dimensions], BFloat16 as its bits in uint16. Rows per token (states, token-vectors) go
to JSONL, or to safetensors with a tensor of offsets. Where inputs are files, JSONL names each row's, safetensors has a
tensor `index` of its number among all inputs, and --names says it for .npy. Without --output-format the output's ending
decides, then npy.
Exit codes: 0 done, skipped files or not, 1 failed, or nothing could be encoded, 2 wrong usage, 130 stopped.)";

void add_input_flags(CLI::App &app, encoding_options_t &options) {
    app.add_option("checkpoint", options.checkpoint, "the model, a safetensors file")->required();
    app.add_option("files", options.files, "files, folders, patterns and shards; none: what --input lists");
    app.add_option("--input", options.input, "list to read; - or none: standard input");
    app.add_option("--format", options.format, "of the list: lines, jsonl or files; lines");
    app.add_option("--field", options.field, "of a JSONL line; text");
    app.add_option("--path-field", options.path_field, "of a JSONL line that names files");
    app.add_option("--modality", options.modality, "text, image, video or audio, of every file; by content");
    app.add_option("--member", options.member, "extension in a shard, or several: jpg;png; the entry's only medium");
    app.add_flag("--strict", options.strict, "fail at the first file that cannot be encoded");
    app.add_option("--as", options.side, "put the checkpoint's query or document prefix before texts");
    app.add_option("--bytes", options.bytes, "most bytes of a text, prefix included; the context")->check(at_least_one);
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app("Encodes texts, pictures, clips and recordings into vectors.", "uform_encode");
    encoding_options_t options;
    add_input_flags(app, options);
    app.add_option("--output", options.output, "file to write; - or none: standard output");
    app.add_option("--output-format", options.output_format, "npy, jsonl or safetensors");
    app.add_option("--names", options.names, "file to write what each row is of, as a JSON line");
    add_dimensions_flag(app, options.dimensions);
    app.add_option("--surface", options.surface, "embeddings, states or token-vectors; embeddings");
    app.add_option("--scalar", options.scalar, "f32, bf16, f16 or i8; f32");
    app.add_option("--batch", options.batch, "items of one call; 256")->check(at_least_one);
    app.add_option("--batch-bytes", options.batch_bytes, "bytes of files after which no more are read; 67108864")
        ->check(at_least_one);
    add_processor_flags(app, options);
    app.add_option("--log", options.log, "file to append a summary to, a JSON line each");
    app.footer(examples_k);
    return run_tool(app, argc, argv, [&] { return encode_inputs(options); });
}
