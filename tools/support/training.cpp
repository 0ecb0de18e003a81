/**
 *  @file training.cpp
 *  @brief From flags to a run, or to the reason why there is none to do.
 */
#include <optional>
#include <utility>
#include <vector>

#include "support/checkpoint_header.hpp"
#include "support/error.hpp"
#include "support/output_file.hpp"
#include "support/output_lock.hpp"
#include "support/resuming.hpp"
#include "support/run.hpp"
#include "support/run_card.hpp"
#include "support/trainer.hpp"
#include "support/training.hpp"
#include "support/world.hpp"

namespace uform::tools {

namespace {

constexpr char const *name_k = "uform_base";

/** What a run reads must not be where it writes; a checkpoint may be, as it is read whole before and renamed after. */
void refuse_overwriting(training_options_t const &options, plan_t const &plan) {
    std::vector<std::string> sources = {plan.mixture.path};
    for (source_t const &source : plan.mixture.sources) sources.push_back(source.path);
    if (plan.mixture.choices)
        for (source_t const &source : plan.mixture.choices->sources) sources.push_back(source.path);
    if (plan.mixture.validation) sources.push_back(plan.mixture.validation->path);
    for (std::string const &source : sources) check_apart(options.output, source), check_apart(options.log, source);
    for (std::string const &file : {options.output, options.card, plan.initial, plan.resume})
        check_apart(options.log, file);
    if (names_moments_of(options.output, link_target(options.log)))
        fail_at(options.log, 0, "is where the moments of a save go, and would be written over; choose another name");
}

/** A checkpoint of fresh weights, or of `initial` with the heads it lacks. */
void write_untrained(training_options_t const &options, plan_t plan) {
    plan.mixture.batch_pairs = 1;
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    trainer_t const trainer = make_trainer(plan, executor, {}, 1);
    save_trainer(trainer, executor, options.output, false);
    run_log_t(options.log, false)
        .write({{"event", "end"}, {"reason", "finished"}, {"step", 0}, {"parameters", plan.parameters()}});
}

/** Whether a run that a queue starts again and again has nothing left to do, which is no failure. */
bool is_finished(training_options_t const &options) {
    if (options.resume.empty() || read_checkpoint_header(options.resume).number("step") < *options.steps) return false;
    report(name_k, fmt::format("{} has taken all of {} steps", options.resume, *options.steps));
    return true;
}

/** What runs that were killed left beside the files of this one; of a save it goes with the next save. */
void tidy_up(training_options_t const &options) {
    remove_leftovers(options.output, {"tmp", "validation", "probe", "unpacked"});
    remove_leftovers(options.card, {"tmp"});
    if (!options.log.empty() && options.log != "-") remove_leftovers(link_target(options.log), {"tmp"});
}

/** Of `--steps 0`: there are no moments and no schedule to go on with. */
bool is_untrained(std::string const &checkpoint) { return read_checkpoint_header(checkpoint).number("step") == 0; }

} // namespace

int train(training_options_t const &asked) {
    training_options_t options = asked;
    options.output = checkpoint_target(output_file_of(asked.output));
    options.card = card_path(options.output, names_folder(asked.output));
    if (options.rank == 0) check_card(options.card);
    check_world(options);
    std::optional<output_lock_t> lock;
    if (options.rank == 0) lock.emplace(options.output), tidy_up(options);
    if (options.resume == "auto") {
        if (!options.steps) fail_usage("--resume auto needs --steps, the length of the whole run");
        options.resume = find_checkpoint(asked.output);
        if (!options.resume.empty() && *options.steps && is_untrained(options.resume))
            options.initial = std::exchange(options.resume, ""); // as the run that wrote it would have begun
        else if (!options.resume.empty())
            options.initial.clear(); // which was for step 0
        else if (options.rank == 0)
            report(name_k, "no checkpoint to go on from yet; the run starts at step 0");
        if (is_finished(options)) return exit_success_k;
    } else if (!options.resume.empty() && is_untrained(options.resume))
        fail_at(options.resume, 0,
                "is an untrained model, so there is no run to go on with; start from it with --from");
    plan_t plan = make_plan(options);
    refuse_overwriting(options, plan);
    if (plan.steps == 0 && !options.minutes) {
        write_untrained(options, std::move(plan));
        return exit_success_k;
    }
    return run_t(options, std::move(plan)).run();
}

} // namespace uform::tools
