/**
 *  @file uform_grow.cpp
 *  @brief `uform_grow`: a larger model that answers as the smaller one does, to train on from. The flags; the run is in
 *  support/growing.
 */
#include "support/command_line.hpp"
#include "support/growing.hpp"

namespace {

using namespace uform::tools;

constexpr char const *examples_k = R"(
Examples:
  uform_grow nano.safetensors wide.safetensors --widen
  uform_grow wide.safetensors micro.safetensors --deepen 6
  uform_base --from micro.safetensors --tier micro --mixture pairs.json --steps 2000 --output trained.safetensors

Without a number a model gets twice as deep or as wide; at most that in one step, and as many steps as you like, in any
order. The grown model's embeddings, to the source's width, and token vectors are compared with the source's on texts:
under a cosine of 0.9999 nothing is written. Moments of an optimizer are not grown.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped.)";

} // namespace

int main(int argc, char **argv) {
    CLI::App app("Grows a checkpoint into a larger one that computes the same.", "uform_grow");
    growing_options_t options;
    std::size_t depth = 0, hidden = 0;
    app.add_option("source", options.source, "the model to grow, a safetensors file")->required();
    app.add_option("target", options.target, "checkpoint to write; must not exist")->required();
    auto *const deepen = app.add_option("--deepen", depth, "add blocks up to so many; twice as many")->expected(0, 1);
    auto *const widen =
        app.add_option("--widen", hidden, "reach this width, a multiple of 128; twice the width")->expected(0, 1);
    deepen->check(at_least_one), widen->check(at_least_one);
    deepen->excludes(widen);
    add_processor_flags(app, options);
    app.footer(examples_k);
    return run_tool(app, argc, argv, [&] {
        if (deepen->count()) options.depth = depth;
        if (widen->count()) options.hidden = hidden;
        return grow(options);
    });
}
