/**
 *  @file run.cpp
 *  @brief Steps through the stream of batches; everything a run writes is written here.
 */
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include "support/agreement.hpp"
#include "support/checkpoint_header.hpp"
#include "support/culprits.hpp"
#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/live_view.hpp"
#include "support/media_encoder.hpp"
#include "support/output_file.hpp"
#include "support/peak.hpp"
#include "support/resuming.hpp"
#include "support/run.hpp"
#include "support/run_events.hpp"
#include "support/trainer.hpp"

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

} // namespace

run_t::run_t(training_options_t const &options, plan_t plan)
    : options_(options), plan_(std::move(plan)),
      executor_(make_executor(options.threads, cpu_class_from(options.cpu_class))), material_(plan_),
      stopping_(options) {
    if (auto const &validation = plan_.mixture.validation)
        held_out_.emplace(source_t {validation->path, validation->fields, {}, 1, 0}, plan_.copies);
    else if (options.validate_every)
        fail_at(plan_.mixture.path, 0, "has no \"validation\" for --validate-every; name held-out pairs in it");
}

/** Takes records whose files are of no use out of the step; the rest of it is as it would have been. */
void run_t::skip(std::size_t step, prepared_t &prepared, std::vector<batch_file_t> lost) {
    if (options_.ranks == 1) leave_if_interrupted(); // several end their step together
    std::stable_sort(lost.begin(), lost.end(), [](auto const &a, auto const &b) { return a.pair < b.pair; });
    lost.erase(std::unique(lost.begin(), lost.end(), [](auto const &a, auto const &b) { return a.pair == b.pair; }),
               lost.end()); // a record goes once, however many of its files do
    for (batch_file_t const &file : lost) {
        if (rehearses_) break;
        ++skipped_;
        log_->write({{"event", "skipped"}, {"step", step + 1}, {"input", file.name}, {"reason", file.problem}});
        if (!leads()) report(name_k, fmt::format("step {} without {}: {}", step + 1, file.name, file.problem));
    }
    for (std::size_t i = lost.size(); i-- > 0;)
        prepared.drawn.records.erase(prepared.drawn.records.begin() + std::ptrdiff_t(lost[i].pair));
    if (prepared.drawn.records.empty() && options_.ranks == 1)
        fail("step {}: none of its records has a file that can be read; the last was {}: {}", step + 1,
             lost.back().name, lost.back().problem);
    prepared.batch = material_.batch(prepared.drawn);
}

/** False once every file of the step could be read from the disk. */
bool run_t::skip_unread(std::size_t step, prepared_t &prepared) {
    std::vector<batch_file_t> lost;
    for (auto const &[item, file] : prepared.batch.files)
        if (!file.problem.empty()) lost.push_back(file);
    if (lost.empty()) return false;
    skip(step, prepared, std::move(lost));
    return true;
}

uform_trainer_step_stats_t run_t::take_step(trainer_t &trainer, std::size_t step, prepared_t prepared) {
    std::size_t retries = 0;
    while (true) {
        while (skip_unread(step, prepared)) {
        }
        uform_outcome_t outcome = {};
        uform_trainer_step_stats_t const stats = step_trainer(trainer, executor_, plan_, prepared.batch, outcome);
        if (batch_file_t const *const file = refused_file(outcome, prepared.batch)) {
            skip(step, prepared, {{file->pair, file->name, reason_of(outcome)}});
            continue;
        }
        // Another process may have skipped a file, and calls again without it; one that ends instead is an `io` failure.
        bool const refused = options_.ranks > 1 && uform_outcome_status(&outcome) == uform_status_config_mismatch_k;
        if (refused && plan_.has_media() && retries++ < options_.ranks * plan_.items()) continue;
        if (is_non_finite(outcome)) stop_early(trainer, step, prepared.drawn, outcome);
        bool const abandoned = options_.ranks > 1 && uform_outcome_status(&outcome) == uform_status_io_k;
        check(outcome, fmt::format("step {}", step + 1),
              abandoned ? "; start all processes again with --resume auto" : "");
        taken_ = std::move(prepared.batch);
        return stats;
    }
}

/** Names the sources that made a loss infinite or no number. */
void run_t::stop_early(trainer_t const &trainer, std::size_t done, drawn_t const &drawn,
                       uform_outcome_t const &outcome) {
    diverged_ = true;
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
    rehearses_ = true;
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
    rehearses_ = false;
    log_->write({{"event", "timing"}, {"seconds_per_step", pace}, {"steps", steps}});
    report(name_k, fmt::format("{:.3f} s a step, so {} steps fit {} minutes", pace, steps, minutes));
    return steps;
}

/** Of the world's operations those of attention are told from this process's items, as all get alike ones. A file's
 *  tokens are what is left of all, shared evenly. */
void run_t::log_step(uform_trainer_step_stats_t const &stats, double seconds) {
    double squares = 0, texts = 0;
    for (std::size_t i = 0; i < taken_.count; ++i) {
        if (taken_.modalities[i] != uform_modality_text_k) continue;
        double const length = double(taken_.offsets[i + 1] - taken_.offsets[i]);
        texts += length, squares += length * length;
    }
    double const all = taken_.has_files() ? double(stats.tokens) / double(options_.ranks) : std::max(texts, 1.0);
    double const of_files = std::max(all - texts, 0.0);
    if (taken_.has_files()) squares += of_files * of_files / double(taken_.files.size());
    double const operations = plan_.operations(stats.tokens, squares * double(stats.tokens) / all);
    stats_ = stats, tokens_ += stats.tokens, operations_ += operations, seconds_ += seconds;
    log_->write(step_event(stats, {operations, seconds, peak_}));
    double const pace = operations_ / seconds_;
    if (leads())
        bar_.show(stats.step, plan_.steps,
                  live_view(plan_, stats, {double(tokens_) / seconds_, pace, peak_ > 0 ? pace / peak_ : 0, skipped_}));
}

void run_t::save() {
    save_tried_ = stats_.step;
    save_trainer(trainer_, executor_, options_.output, true);
    if (leads()) write_card({options_, plan_, material_, stats_, scores_});
}

/** What ends the run is told last, and by its own exit code. */
void run_t::save_before_failing() {
    if (save_tried_ == stats_.step) return; // it is what failed, or all is there
    bar_.clear();
    guarded(name_k, [this] { return save(), exit_success_k; });
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
    if (!resumes || !leads()) return;
    for (std::string const &source : changed_sources(plan_.resume, material_))
        report(name_k, fmt::format("{}: its records or its weight are not those that {} was trained with; steps from "
                                   "here on show others than a run that never stopped",
                                   source, plan_.resume));
    if (has_moments(plan_.resume, plan_.first_step)) return;
    report(name_k, fmt::format("{}: has no moments of step {} beside it; the optimizer starts anew, and the bits are "
                               "not those of a run that never stopped",
                               plan_.resume, plan_.first_step));
}

/** A command that was meant to go on and starts anew costs what the one before it saved. */
void run_t::warn_of_earlier_run() const {
    std::error_code failed;
    if (!plan_.resume.empty() || !leads() || !std::filesystem::exists(options_.output, failed)) return;
    try {
        if (std::uint64_t const step = read_checkpoint_header(options_.output).number("step"))
            report(name_k,
                   fmt::format("{} is of an earlier run, at step {}, which the first save writes over; --resume "
                               "auto goes on from it",
                               options_.output, step));
    } catch (tool_error_t const &) { // not a checkpoint
    }
}

void run_t::warn_of_small_sources() const {
    std::size_t const records = material_.records(), pairs = plan_.mixture.batch_pairs;
    if (leads() && records < pairs)
        report(name_k, fmt::format("a step of {} pairs is more than all {} records, so it shows some of them twice; a "
                                   "record does not repel itself. Lower batch_pairs, or add records",
                                   pairs, records));
}

/** In a world of several, as if all had processors alike. */
double run_t::find_peak() const {
    if (options_.peak) return 1e12 * *options_.peak;
    return double(options_.ranks) * measure_peak(cpu_class_from(options_.cpu_class), options_.threads);
}

/** Counts the step once it is taken, whatever becomes of what follows from it. A signal that came between the files of a
 *  step, or during a validation, is told by who asks for it next. */
void run_t::take_next(batch_queue_t &queue, std::size_t &step) {
    std::size_t const before = step;
    try {
        steady_t::time_point const begin = steady_t::now();
        uform_trainer_step_stats_t const stats = take_step(trainer_, step, queue.take());
        ++step;
        log_step(stats, seconds_since(begin));
        if (!interrupt_requested() && step < plan_.steps) save_and_validate(step);
    } catch (quiet_exit_t const &) {
        bool const has_steps = !diverged_ && step > plan_.first_step;
        if (!interrupt_requested() || !has_steps || (step == before && options_.ranks > 1)) throw;
    }
}

int run_t::run() {
    peak_ = find_peak();
    if (plan_.resume.empty()) open_log();
    if (options_.minutes) plan_.steps = steps_for(*options_.minutes);
    mesh_ = join_world(options_, executor_, run_fields(plan_, material_, held_out_ ? &*held_out_ : nullptr));
    trainer_ = make_trainer(plan_, executor_, mesh_, plan_.steps);
    settle_world(options_);
    if (!plan_.resume.empty()) open_log();
    rehearse_validation();
    warn_of_earlier_run(), warn_of_small_sources();
    log_->write(start_event(options_, plan_, material_, peak_));
    batch_queue_t queue(material_, plan_.first_step, plan_.steps);
    for (std::size_t step = plan_.first_step; step < plan_.steps;) {
        try {
            take_next(queue, step);
            if (stopping_.stops_after(step)) return stop(step);
        } catch (...) { // a source or a peer that is gone, a full log: the steps taken outlive it
            if (!diverged_ && step > plan_.first_step) save_before_failing();
            throw;
        }
    }
    save();
    validate(plan_.steps);
    if (scores_ && leads()) write_card({options_, plan_, material_, stats_, scores_});
    bar_.clear();
    if (skipped_)
        report(name_k, fmt::format("{} records were skipped, each for a file{}", skipped_,
                                   leads() && !options_.log.empty() ? "; the log names them" : ""));
    log_->write({{"event", "end"},
                 {"reason", "finished"},
                 {"step", plan_.steps},
                 {"skipped", skipped_},
                 {"seconds", seconds_since(begin_)},
                 {"tokens", tokens_},
                 {"tokens_per_second", seconds_ > 0 ? double(tokens_) / seconds_ : 0}});
    return exit_success_k;
}

} // namespace uform::tools
