/**
 *  @file training.cpp
 *  @brief Steps through the stream of batches; everything a run writes is written here.
 */
#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <unistd.h>

#include "support/batch_queue.hpp"
#include "support/checkpoint_header.hpp"
#include "support/culprits.hpp"
#include "support/engine.hpp"
#include "support/error.hpp"
#include "support/evaluation.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/live_view.hpp"
#include "support/material.hpp"
#include "support/progress_bar.hpp"
#include "support/resuming.hpp"
#include "support/run_card.hpp"
#include "support/run_log.hpp"
#include "support/trainer.hpp"
#include "support/training.hpp"
#include "support/world.hpp"

namespace uform::tools {

namespace {

using json_t = nlohmann::ordered_json;
using steady_t = std::chrono::steady_clock;

constexpr char const *name_k = "uform_base";
// Of the throwaway trainer that measures a step: the first steps grow scratch memory and do not count.
constexpr std::size_t untimed_steps_k = 2, timed_steps_k = 8;

double seconds_since(steady_t::time_point begin) {
    return std::chrono::duration<double>(steady_t::now() - begin).count();
}

class run_t {
  public:
    run_t(training_options_t const &options, plan_t plan);
    int run();

  private:
    uform_trainer_step_stats_t take_step(trainer_t &trainer, std::size_t step, prepared_t const &prepared);
    prepared_t take(batch_queue_t &queue, std::size_t step);
    void stop_early(trainer_t const &trainer, std::size_t done, drawn_t const &drawn, uform_outcome_t const &outcome);
    std::size_t steps_for(double minutes);
    void open_log();
    void log_start();
    void log_step(uform_trainer_step_stats_t const &stats, batch_t const &batch, double seconds);
    bool leads() const noexcept { return options_.rank == 0; } // writes files, alone in its world
    void save();
    void validate(std::size_t step);
    void save_and_validate(std::size_t step);
    int stop(std::size_t done);

    training_options_t const &options_;
    plan_t plan_;
    std::optional<run_log_t> log_;
    executor_t executor_;
    material_t material_;
    held_out_t held_out_;
    mesh_t mesh_;
    trainer_t trainer_;
    stopping_t stopping_;
    progress_bar_t bar_;
    uform_trainer_step_stats_t stats_ = {}; // of the last step
    std::optional<run_card_t::scores_t> scores_;
    steady_t::time_point begin_ = steady_t::now();
    std::size_t tokens_ = 0;
    double operations_ = 0; // useful ones
    double seconds_ = 0;    // in steps alone
};

run_t::run_t(training_options_t const &options, plan_t plan)
    : options_(options), plan_(std::move(plan)),
      executor_(make_executor(options.threads, cpu_class_from(options.cpu_class))), material_(plan_),
      stopping_(options) {
    if (auto const &validation = plan_.mixture.validation)
        held_out_ = read_pairs(validation->path, validation->fields);
    else if (options.validate_every)
        fail_at(plan_.mixture.path, 0, "has no \"validation\" for --validate-every; name held-out pairs in it");
}

uform_trainer_step_stats_t run_t::take_step(trainer_t &trainer, std::size_t step, prepared_t const &prepared) {
    uform_outcome_t outcome = {};
    uform_trainer_step_stats_t const stats = step_trainer(trainer, executor_, plan_, prepared.batch, outcome);
    if (is_non_finite(outcome)) stop_early(trainer, step, prepared.drawn, outcome);
    bool const abandoned = options_.ranks > 1 && uform_outcome_status(&outcome) == uform_status_io_k;
    if (abandoned && step > plan_.first_step) save(); // a peer is gone, and the steps taken outlive it
    check(outcome, fmt::format("step {}", step + 1));
    return stats;
}

/** A source that has changed, or is gone, ends the run; the steps taken outlive it. */
prepared_t run_t::take(batch_queue_t &queue, std::size_t step) {
    try {
        return queue.take();
    } catch (...) {
        if (step > plan_.first_step && !interrupt_requested()) save();
        throw;
    }
}

/** Names the sources that made a loss infinite or no number. */
void run_t::stop_early(trainer_t const &trainer, std::size_t done, drawn_t const &drawn,
                       uform_outcome_t const &outcome) {
    std::string const scratch = fmt::format("{}.probe.{}", options_.output, ::getpid());
    verdict_t const verdict = find_culprits(trainer, executor_, plan_, material_, drawn, scratch);
    json_t paths = json_t::array();
    for (std::size_t const source : verdict.sources) paths.push_back(material_.source(source).path);
    log_->write(
        {{"event", "end"}, {"reason", "non_finite"}, {"step", done}, {"steps", plan_.steps}, {"sources", paths}});
    bar_.clear();
    check(outcome, fmt::format("step {}", done + 1),
          fmt::format("; {}; nothing was written since the last save, try a lower --learning-rate where a loss grew",
                      verdict.sentence));
}

/** Steps that fit the minutes left, by the pace of a throwaway trainer on this run's own batches. */
std::size_t run_t::steps_for(double minutes) {
    trainer_t trainer = make_throwaway_trainer(plan_, executor_, untimed_steps_k + timed_steps_k, "");
    double const budget = minutes * 60;
    double seconds = 0;
    std::size_t timed = 0;
    batch_queue_t queue(material_, 0, untimed_steps_k + timed_steps_k);
    for (std::size_t step = 0; step < untimed_steps_k + timed_steps_k; ++step) {
        leave_if_interrupted();
        steady_t::time_point const begin = steady_t::now();
        take_step(trainer, step, queue.take());
        if (step >= untimed_steps_k || seconds_since(begin) > budget / 10) seconds += seconds_since(begin), ++timed;
        if (timed && seconds_since(begin_) > budget / 10) break; // a slow model spends a tenth of its time here at most
    }
    double const pace = seconds / double(timed);
    std::size_t const steps = std::size_t(std::max(1.0, (budget - seconds_since(begin_)) / pace));
    log_->write({{"event", "timing"}, {"seconds_per_step", pace}, {"steps", steps}});
    report(name_k, fmt::format("{:.3f} s a step, so {} steps fit {} minutes", pace, steps, minutes));
    return steps;
}

void run_t::log_start() {
    json_t widths = plan_.matryoshka;
    log_->write({{"event", "start"},
                 {"version", uform_version()},
                 {"mixture", plan_.mixture.path},
                 {"objective", uform_objective_name(plan_.objective)},
                 {"hidden", plan_.hidden},
                 {"depth", plan_.depth},
                 {"parameters", plan_.parameters()},
                 {"context", plan_.context},
                 {"matryoshka", widths},
                 {"batch_pairs", plan_.mixture.batch_pairs},
                 {"learning_rate", plan_.learning_rate},
                 {"seed", plan_.seed},
                 {"threads", options_.threads},
                 {"processes", options_.ranks},
                 {"from", plan_.initial},
                 {"resume", plan_.resume},
                 {"first_step", plan_.first_step},
                 {"steps", plan_.steps},
                 {"records", material_.records()},
                 {"output", options_.output}});
}

/** Of the world's operations those of attention are told from this process's texts, as all get alike ones. */
void run_t::log_step(uform_trainer_step_stats_t const &stats, batch_t const &batch, double seconds) {
    double squares = 0;
    for (std::size_t i = 0; i < batch.count; ++i)
        squares += double(batch.offsets[i + 1] - batch.offsets[i]) * double(batch.offsets[i + 1] - batch.offsets[i]);
    squares *= double(stats.tokens) / double(std::max<std::size_t>(batch.bytes.size(), 1));
    double const operations = plan_.operations(stats.tokens, squares);
    double const peak = 1e12 * options_.peak;
    stats_ = stats, tokens_ += stats.tokens, operations_ += operations, seconds_ += seconds;
    json_t share = options_.peak > 0 ? json_t(operations / seconds / peak) : json_t(nullptr);
    log_->write({{"event", "step"},
                 {"step", stats.step},
                 {"loss", stats.loss},
                 {"contrastive", stats.contrastive_loss},
                 {"masked_text", stats.masked_text_loss},
                 {"late_interaction", stats.late_interaction_loss},
                 {"choices", stats.choices_loss},
                 {"coding_rate", stats.coding_rate},
                 {"lipschitz", stats.lipschitz},
                 {"effective_rank", stats.effective_rank},
                 {"learning_rate", stats.learning_rate},
                 {"gradient_norm", stats.gradient_norm},
                 {"truncated", stats.truncated},
                 {"dropped", stats.dropped},
                 {"tokens", stats.tokens},
                 {"tokens_per_second", double(stats.tokens) / seconds},
                 {"operations_per_second", operations / seconds},
                 {"share_of_peak", share}});
    double const pace = operations_ / seconds_;
    if (leads())
        bar_.show(stats.step, plan_.steps,
                  live_view(plan_, stats, {double(tokens_) / seconds_, pace, options_.peak > 0 ? pace / peak : 0}));
}

void run_t::save() {
    save_trainer(trainer_, executor_, options_.output, true);
    if (leads()) write_card({options_, plan_, material_, stats_, scores_});
}

/** The trainer has no encode verb: its weights go through a file that lives for this function. */
void run_t::validate(std::size_t step) {
    if (!plan_.mixture.validation || !leads()) return;
    temporary_path_t const file(fmt::format("{}.validation.{}", options_.output, ::getpid()));
    save_trainer(trainer_, executor_, file.path(), false);
    text_encoder_t encoder(file.path(), executor_);
    evaluation_options_t options;
    options.query_prefix = plan_.mixture.query_prefix, options.document_prefix = plan_.mixture.document_prefix;
    options.bytes = plan_.mixture.validation->evaluation_bytes;
    evaluation_t const evaluation = evaluate(encoder, executor_, held_out_, options);
    scores_ = {step, evaluation.retrieval};
    json_t line = {{"event", "validation"}, {"step", step}};
    line.update(to_json(evaluation.retrieval));
    log_->write(line);
    bar_.clear();
    recall_t const &forward = evaluation.retrieval.forward;
    report(name_k, fmt::format("step {}: R@1 {:.3f}, R@10 {:.3f} over {} held-out pairs", step, forward.at_1,
                               forward.at_10, held_out_.size()));
}

void run_t::save_and_validate(std::size_t step) {
    if (options_.save_every && step % options_.save_every == 0) save();
    if (options_.validate_every && step % options_.validate_every == 0) validate(step);
}

int run_t::stop(std::size_t done) {
    save();
    int const signal = interrupt_requested() ? interrupt_requested() : SIGTERM; // which another process got
    if (!leads()) return 128 + signal;
    log_->write({{"event", "end"}, {"reason", "interrupted"}, {"step", done}, {"steps", plan_.steps}});
    bar_.clear();
    report(name_k, fmt::format("stopped at step {} of {}; go on with --resume {} --steps {}", done, plan_.steps,
                               options_.output, plan_.steps));
    return 128 + signal;
}

/** Of a run that goes on, only once the trainer has taken its checkpoint: a refusal leaves the log as it was. */
void run_t::open_log() {
    bool const resumes = !plan_.resume.empty();
    if (resumes && leads()) cut_log(options_.log, plan_.first_step);
    log_.emplace(leads() ? options_.log : "", resumes);
    if (!resumes || !leads() || has_moments(plan_.resume, plan_.first_step)) return;
    report(name_k, fmt::format("{}: has no moments of step {} beside it; the optimizer starts anew, and the bits are "
                               "not those of a run that never stopped",
                               plan_.resume, plan_.first_step));
}

int run_t::run() {
    if (plan_.resume.empty()) open_log();
    if (options_.minutes) plan_.steps = steps_for(*options_.minutes);
    mesh_ = join_world(options_, executor_);
    trainer_ = make_trainer(plan_, executor_, mesh_, plan_.steps);
    if (!plan_.resume.empty()) open_log();
    log_start();
    batch_queue_t queue(material_, plan_.first_step, plan_.steps);
    for (std::size_t step = plan_.first_step; step < plan_.steps;) {
        steady_t::time_point const begin = steady_t::now();
        prepared_t const prepared = take(queue, step);
        uform_trainer_step_stats_t const stats = take_step(trainer_, step, prepared);
        ++step;
        try {
            log_step(stats, prepared.batch, seconds_since(begin));
            if (!interrupt_requested() && step < plan_.steps) save_and_validate(step);
        } catch (...) { // a full log, a validation that failed or was stopped: the steps taken outlive it
            if (!interrupt_requested()) save();
            if (!interrupt_requested()) throw;
        }
        if (stopping_.stops_after(step)) return stop(step);
    }
    save();
    validate(plan_.steps);
    if (scores_ && leads()) write_card({options_, plan_, material_, stats_, scores_});
    log_->write({{"event", "end"},
                 {"reason", "finished"},
                 {"step", plan_.steps},
                 {"seconds", seconds_since(begin_)},
                 {"tokens", tokens_},
                 {"tokens_per_second", seconds_ > 0 ? double(tokens_) / seconds_ : 0}});
    return exit_success_k;
}

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

} // namespace

int train(training_options_t const &asked) {
    training_options_t options = asked;
    options.output = checkpoint_target(output_file_of(asked.output));
    options.card = card_path(options.output, names_folder(asked.output));
    if (options.rank == 0) check_card(options.card);
    check_world(options);
    if (options.resume == "auto") {
        if (!options.steps) fail_usage("--resume auto needs --steps, the length of the whole run");
        options.resume = find_checkpoint(asked.output);
        if (!options.resume.empty())
            options.initial.clear(); // which was for step 0
        else if (options.rank == 0)
            report(name_k, "no checkpoint to go on from yet; the run starts at step 0");
        if (is_finished(options)) return exit_success_k;
    }
    plan_t plan = make_plan(options);
    refuse_overwriting(options, plan);
    if (plan.steps == 0 && !options.minutes) {
        write_untrained(options, std::move(plan));
        return exit_success_k;
    }
    return run_t(options, std::move(plan)).run();
}

} // namespace uform::tools
