/**
 *  @file uform_base.cpp
 *  @brief `uform_base`: trains a model on a mixture and writes its checkpoint. The flags; the run is in support/training.
 */
#include "support/command_line.hpp"
#include "support/run_card.hpp"
#include "support/training.hpp"

namespace {

using namespace uform::tools;

constexpr char const *examples_k = R"(
Examples:
  uform_base --tier nano --mixture scripts/mixtures/libreoffice_bitext.json --minutes 3 --output nano.safetensors
  uform_base --tier micro --mixture pairs.json --steps 2000 --validate-every 200 --log run.jsonl --output m.safetensors
  uform_base --resume nano.safetensors --mixture pairs.json --steps 2000 --output nano.safetensors
  uform_base --tier tiny --mixture pairs.json --steps 90000 --save-every 500 --resume auto --output run/ --log run.jsonl
  uform_base --tier tiny --mixture pairs.json --steps 90000 --output run/ --mesh run/mesh --ranks 2 --rank 1
  uform_base --tier tiny --steps 0 --output fresh.safetensors

Ctrl-C finishes the step, saves and exits with 130, SIGTERM with 143; a second one exits at once.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped. The mixture file is documented in tools/README.md.)";

void add_model_flags(CLI::App &app, training_options_t &options) {
    auto *const tier = app.add_option("--tier", options.tier, "nano, micro, tiny, small, medium, large or xl");
    auto *const hidden = app.add_option("--hidden", options.hidden, "width, a multiple of 128, instead of a tier");
    auto *const depth = app.add_option("--depth", options.depth, "blocks, instead of a tier");
    hidden->excludes(tier), depth->excludes(tier);
    app.add_option("--from", options.initial, "checkpoint whose weights to start from");
    app.add_option("--resume", options.resume, "checkpoint to go on from, at its step; auto: the output's, if any");
    app.add_option("--seed", options.seed, "of weights, order and masks; 0");
}

void add_data_flags(CLI::App &app, training_options_t &options) {
    app.add_option("--mixture", options.mixture, "what to train on, a JSON file");
    app.add_option("--data", options.data, "folder that relative paths in the mixture start at; its own");
    app.add_option("--objective", options.objective, "masked, contrastive or joint; the mixture's");
    app.add_option("--batch-pairs", options.batch_pairs, "pairs of a step, or texts if masked; the mixture's");
    app.add_option("--learning-rate", options.learning_rate, "peak; the mixture's, or the tier's");
    auto *const steps = app.add_option("--steps", options.steps, "of the whole run; 0 writes an untrained model");
    app.add_option("--minutes", options.minutes, "as many steps as fit, timed on the first")
        ->check(some_minutes)
        ->excludes(steps);
}

void add_term_flags(CLI::App &app, training_options_t &options) {
    app.add_option("--tcr-lambda", options.coding_rate_weight, "of the coding rate; the mixture's, or 0");
    app.add_option("--lipschitz-lambda", options.lipschitz_weight, "of the Lipschitz term; the mixture's, or 0");
    app.add_option("--choices-weight", options.choices_weight, "of the choices that the mixture names; its own, or 1");
    app.add_option("--brier-weight", options.brier_weight, "of the Brier score within; the mixture's, or 0");
    app.add_option("--late-interaction-weight", options.late_interaction_weight, "of MaxSim; the mixture's, or 0");
    app.add_option("--late-interaction-width", options.late_interaction_width, "of a token vector; 128");
    app.add_option("--late-interaction-loss", options.late_interaction_loss,
                   "ranked, softmax, sigmoid or balanced; the mixture's, or ranked");
}

void add_media_flags(CLI::App &app, training_options_t &options) {
    auto const size = [&](char const *name, std::size_t &field, char const *what) {
        app.add_option(name, field, what)->check(at_least_one);
    };
    geometry_t &geometry = options.geometry;
    size("--image-patch-side", geometry.image.patch_side, "pixels; the mixture's, or 16 where it names images");
    size("--image-channels", geometry.image.channels, "of a pixel; the mixture's, or 4");
    size("--video-patch-side", geometry.video.patch_side, "pixels; the mixture's, or 16 where it names video");
    size("--video-tube-frames", geometry.video.tube_frames, "sampled frames of a token; the mixture's, or 2");
    size("--video-frame-stride", geometry.video.frame_stride,
         "frames from one sampled to the next; the mixture's, or 1");
    size("--audio-chunk-samples", geometry.audio.chunk_samples,
         "of a token; the mixture's, or 320 where it names audio");
    size("--audio-sample-rate", geometry.audio.sample_rate, "hertz; the mixture's, or 16000");
    app.add_option("--text-weight", options.text_weight, "of the masked loss of texts; the mixture's, or 1");
    app.add_option("--image-weight", options.image_weight, "of that of images; the mixture's, or 1");
    app.add_option("--video-weight", options.video_weight, "of that of video; the mixture's, or 1");
    app.add_option("--audio-weight", options.audio_weight, "of that of audio; the mixture's, or 1");
}

void add_run_flags(CLI::App &app, training_options_t &options) {
    app.add_option("--output", options.output, "checkpoint to write, or a folder of the run's own")->required();
    app.add_option("--validate-every", options.validate_every, "steps between validations; only at the end");
    app.add_option("--save-every", options.save_every, "steps between saves; only at the end");
    app.add_option("--log", options.log, "JSON line per step, validation and save");
    app.add_option("--threads", options.threads, "7/8 of the cores");
    app.add_option("--kept-activations", options.kept_activations,
                   "memory, such as 2GB, against computing a block's forward twice in a step; none")
        ->transform(CLI::AsSizeValue(false));
    app.add_option("--peak", options.peak, "TFLOP/s of all processors used, of which the share is told; measured")
        ->check(some_rate);
    app.add_option("--cpu-class", options.cpu_class, "kernels to use, such as intel-haswell; the best");
}

void add_world_flags(CLI::App &app, training_options_t &options) {
    auto *const mesh = app.add_option("--mesh", options.mesh, "folder all processes of a run see, to meet in");
    app.add_option("--rank", options.rank, "of this process, from 0; the first writes everything");
    mesh->needs(app.add_option("--ranks", options.ranks, "processes that train as one; 1"));
    app.add_option("--deadline", options.deadline, "seconds to wait for another process; 600")
        ->check(at_least_one)
        ->check(CLI::Range(std::size_t(1), std::size_t(1'000'000'000)));
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app("Trains a UForm model on texts, pictures, clips and recordings.", "uform_base");
    training_options_t options;
    options.command = shell_quoted(argc, argv);
    add_model_flags(app, options);
    add_data_flags(app, options);
    add_term_flags(app, options);
    add_media_flags(app, options);
    add_run_flags(app, options);
    add_world_flags(app, options);
    app.footer(examples_k);
    return run_tool(app, argc, argv, [&] { return train(options); });
}
