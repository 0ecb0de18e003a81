/**
 *  @file uform_encode.cpp
 *  @brief `uform_encode`: texts in, vectors out. The flags; the streaming is in support/encoding.
 */
#include "support/command_line.hpp"
#include "support/encoding.hpp"

namespace {

using namespace uform::tools;

constexpr char const *examples_k = R"(
Examples:
  uform_encode nano.safetensors --input lines.txt --output vectors.npy
  zcat corpus.jsonl.gz | uform_encode nano.safetensors --format jsonl --field body --output-format jsonl | head
  find docs -name '*.md' | uform_encode nano.safetensors --format files --output docs.npy
  uform_encode nano.safetensors --input q.txt --as query --dimensions 64 --scalar i8 --output q.npy
  uform_encode nano.safetensors --input d.txt --surface states --output states.safetensors

Formats in: `lines` are any bytes up to a newline, which alone is taken off: a carriage return stays, NUL and invalid
UTF-8 are bytes like others. `jsonl` takes one string field per line. `files` names one file per line.
Formats out: .npy holds [items, dimensions], BFloat16 as its bits in uint16. Rows per token (states, token-vectors) go
to JSONL, or to safetensors with a tensor of offsets. Without --output-format the output's ending decides, then npy.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped.)";

} // namespace

int main(int argc, char **argv) {
    CLI::App app("Encodes texts into vectors.", "uform_encode");
    encoding_options_t options;
    app.add_option("checkpoint", options.checkpoint, "the model, a safetensors file")->required();
    app.add_option("--input", options.input, "file to read; - or none: standard input");
    app.add_option("--format", options.format, "lines, jsonl or files; lines");
    app.add_option("--field", options.field, "of a JSONL line; text");
    app.add_option("--output", options.output, "file to write; - or none: standard output");
    app.add_option("--output-format", options.output_format, "npy, jsonl or safetensors");
    app.add_option("--as", options.side, "put the checkpoint's query or document prefix first");
    app.add_option("--dimensions", options.dimensions, "first so many of each embedding; all");
    app.add_option("--bytes", options.bytes, "most bytes of a text, prefix included; the context")->check(at_least_one);
    app.add_option("--surface", options.surface, "embeddings, states or token-vectors; embeddings");
    app.add_option("--scalar", options.scalar, "f32, bf16, f16 or i8; f32");
    app.add_option("--batch", options.batch, "texts of one call; 256")->check(at_least_one);
    app.add_option("--threads", options.threads, "7/8 of the cores");
    app.add_option("--cpu-class", options.cpu_class, "kernels to use, such as intel-haswell; the best");
    app.add_option("--log", options.log, "file to append a summary to, as one JSON line");
    app.footer(examples_k);
    return run_tool(app, argc, argv, [&] { return encode_texts(options); });
}
