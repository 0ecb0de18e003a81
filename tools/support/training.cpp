/**
 *  @file training.cpp
 *  @brief Steps through the stream of batches; everything a run writes is written here.
 */
#include <chrono>
#include <unistd.h>

#include "support/batch.hpp"
#include "support/engine.hpp"
#include "support/error.hpp"
#include "support/evaluation.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/progress_bar.hpp"
#include "support/run_log.hpp"
#include "support/sampler.hpp"
#include "support/training.hpp"

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

sampler_t make_sampler(plan_t const &plan, corpus_t const &corpus) {
    std::vector<double> weights;
    for (source_t const &source : plan.mixture.sources) weights.push_back(source.weight);
    return sampler_t(corpus.source_offsets(), weights, plan.seed);
}

trainer_t make_trainer(plan_t const &plan, executor_t const &executor, std::size_t steps, bool throwaway) {
    trainer_t trainer;
    uform_outcome_t outcome = {};
    uform_trainer_init_ram_t call = {};
    call.trainer = trainer.out(), call.executor = executor.get(), call.outcome = &outcome;
    if (!throwaway) call.resume = view(plan.resume), call.initial = view(plan.initial);
    call.depth = plan.depth, call.hidden = plan.hidden, call.seed = plan.seed;
    call.batch = plan.batch_shape(), call.objective = plan.objective;
    call.contrastive = plan.contrastive(), call.schedule = plan.schedule(steps);
    call.regularizers.coding_rate_weight = plan.mixture.coding_rate_weight;
    call.query_prefix = view(plan.mixture.query_prefix), call.document_prefix = view(plan.mixture.document_prefix);
    call.progress = interruptible();
    uform_trainer_init_ram(&call);
    std::string const &file = plan.resume.empty() ? plan.initial : plan.resume;
    if (uform_outcome_status(&outcome) == uform_status_invalid_argument_k) // asked for here, not in a checkpoint
        check(outcome, plan.mixture.path.empty() ? "the flags" : fmt::format("{} or the flags", plan.mixture.path));
    check(outcome, file.empty() ? "cannot make the trainer" : std::string_view(file));
    return trainer;
}

class run_t {
  public:
    run_t(training_options_t const &options, plan_t plan);
    int run();

  private:
    batch_t batch(std::size_t step);
    uform_trainer_step_stats_t take_step(trainer_t &trainer, std::size_t step);
    std::size_t steps_for(double minutes);
    void log_start();
    void log_step(uform_trainer_step_stats_t const &stats, double seconds);
    void save(std::string const &path, bool optimizer);
    void validate(std::size_t step);
    void save_and_validate(std::size_t step);
    int stop(std::size_t done);

    training_options_t const &options_;
    plan_t plan_;
    run_log_t log_;
    executor_t executor_;
    corpus_t corpus_;
    corpus_t held_out_;
    sampler_t sampler_;
    trainer_t trainer_;
    progress_bar_t bar_;
    std::vector<std::size_t> records_; // of one batch
    steady_t::time_point begin_ = steady_t::now();
    std::size_t tokens_ = 0;
    double seconds_ = 0; // in steps alone
};

run_t::run_t(training_options_t const &options, plan_t plan)
    : options_(options), plan_(std::move(plan)), log_(options.log, !plan_.resume.empty()),
      executor_(make_executor(options.threads, cpu_class_from(options.cpu_class))),
      corpus_(read_corpus(plan_.mixture, plan_.with_pairs())), sampler_(make_sampler(plan_, corpus_)),
      records_(plan_.mixture.batch_pairs) {
    if (auto const &validation = plan_.mixture.validation)
        held_out_ = read_pairs(validation->path, validation->fields);
    else if (options.validate_every)
        fail_at(plan_.mixture.path, 0, "has no \"validation\" for --validate-every; name held-out pairs in it");
}

batch_t run_t::batch(std::size_t step) {
    sampler_.draw(std::uint64_t(step) * records_.size(), records_);
    return plan_.with_pairs() ? make_pairs_batch(plan_.mixture, corpus_, records_)
                              : make_texts_batch(plan_.mixture, corpus_, records_);
}

uform_trainer_step_stats_t run_t::take_step(trainer_t &trainer, std::size_t step) {
    batch_t const items = batch(step);
    uform_trainer_step_stats_t stats = {};
    uform_outcome_t outcome = {};
    uform_trainer_step_t call = {};
    call.trainer = trainer.get(), call.executor = executor_.get(), call.outcome = &outcome;
    call.count = items.count, call.contents = items.tape(), call.stats = &stats;
    if (plan_.with_pairs()) call.relations = {items.attract.view(), {}, items.ignore.view()};
    uform_trainer_step(&call);
    check(outcome, fmt::format("step {}", step + 1),
          "; nothing was written since the last save, try a lower --learning-rate where a loss grew");
    return stats;
}

/** Steps that fit the minutes left, by the pace of a throwaway trainer on this run's own batches. */
std::size_t run_t::steps_for(double minutes) {
    trainer_t trainer = make_trainer(plan_, executor_, untimed_steps_k + timed_steps_k, true);
    double const budget = minutes * 60;
    double seconds = 0;
    std::size_t timed = 0;
    for (std::size_t step = 0; step < untimed_steps_k + timed_steps_k; ++step) {
        leave_if_interrupted();
        steady_t::time_point const begin = steady_t::now();
        take_step(trainer, step);
        if (step >= untimed_steps_k || seconds_since(begin) > budget / 10) seconds += seconds_since(begin), ++timed;
        if (timed && seconds_since(begin_) > budget / 10) break; // a slow model spends a tenth of its time here at most
    }
    double const pace = seconds / double(timed);
    std::size_t const steps = std::size_t(std::max(1.0, (budget - seconds_since(begin_)) / pace));
    log_.write({{"event", "timing"}, {"seconds_per_step", pace}, {"steps", steps}});
    report(name_k, fmt::format("{:.3f} s a step, so {} steps fit {} minutes", pace, steps, minutes));
    return steps;
}

void run_t::log_start() {
    json_t widths = plan_.matryoshka;
    log_.write({{"event", "start"},
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
                {"from", plan_.initial},
                {"resume", plan_.resume},
                {"first_step", plan_.first_step},
                {"steps", plan_.steps},
                {"records", corpus_.size()},
                {"output", options_.output}});
}

void run_t::log_step(uform_trainer_step_stats_t const &stats, double seconds) {
    tokens_ += stats.tokens, seconds_ += seconds;
    log_.write({{"event", "step"},
                {"step", stats.step},
                {"loss", stats.loss},
                {"contrastive", stats.contrastive_loss},
                {"masked_text", stats.masked_text_loss},
                {"coding_rate", stats.coding_rate},
                {"effective_rank", stats.effective_rank},
                {"learning_rate", stats.learning_rate},
                {"gradient_norm", stats.gradient_norm},
                {"truncated", stats.truncated},
                {"dropped", stats.dropped},
                {"tokens", stats.tokens},
                {"tokens_per_second", double(stats.tokens) / seconds}});
    bar_.show(stats.step, plan_.steps,
              fmt::format("loss {:.4f} | {:.0f} tokens/s", stats.loss, double(tokens_) / seconds_));
}

void run_t::save(std::string const &path, bool optimizer) {
    uform_outcome_t outcome = {};
    uform_trainer_save_t call = {};
    call.trainer = trainer_.get(), call.executor = executor_.get(), call.outcome = &outcome;
    call.path = view(path), call.optimizer = optimizer;
    uform_trainer_save(&call); // not interruptible: ctrl-C is what leads here
    check(outcome, path);
}

/** The trainer has no encode verb: its weights go through a file that lives for this function. */
void run_t::validate(std::size_t step) {
    if (!plan_.mixture.validation) return;
    temporary_path_t const file(fmt::format("{}.validation.{}", options_.output, ::getpid()));
    save(file.path(), false);
    text_encoder_t encoder(file.path(), executor_);
    evaluation_options_t options;
    options.query_prefix = plan_.mixture.query_prefix, options.document_prefix = plan_.mixture.document_prefix;
    options.bytes = plan_.mixture.validation->evaluation_bytes;
    evaluation_t const evaluation = evaluate(encoder, held_out_, options);
    json_t line = {{"event", "validation"}, {"step", step}};
    line.update(to_json(evaluation.retrieval));
    log_.write(line);
    bar_.clear();
    recall_t const &forward = evaluation.retrieval.forward;
    report(name_k, fmt::format("step {}: R@1 {:.3f}, R@10 {:.3f} over {} held-out pairs", step, forward.at_1,
                               forward.at_10, held_out_.size()));
}

void run_t::save_and_validate(std::size_t step) {
    if (options_.save_every && step % options_.save_every == 0) save(options_.output, true);
    if (options_.validate_every && step % options_.validate_every == 0) validate(step);
}

int run_t::stop(std::size_t done) {
    save(options_.output, true);
    log_.write({{"event", "end"}, {"reason", "interrupted"}, {"step", done}, {"steps", plan_.steps}});
    bar_.clear();
    report(name_k, fmt::format("stopped at step {} of {}; go on with --resume {} --steps {}", done, plan_.steps,
                               options_.output, plan_.steps));
    return 128 + interrupt_requested();
}

int run_t::run() {
    if (options_.minutes) plan_.steps = steps_for(*options_.minutes);
    log_start();
    trainer_ = make_trainer(plan_, executor_, plan_.steps, false);
    for (std::size_t step = plan_.first_step; step < plan_.steps;) {
        steady_t::time_point const begin = steady_t::now();
        uform_trainer_step_stats_t const stats = take_step(trainer_, step++);
        try {
            log_step(stats, seconds_since(begin));
            if (!interrupt_requested() && step < plan_.steps) save_and_validate(step);
        } catch (...) { // a full log, a validation that failed or was stopped: the steps taken outlive it
            if (!interrupt_requested()) save(options_.output, true);
            if (!interrupt_requested()) throw;
        }
        if (interrupt_requested()) return stop(step);
    }
    save(options_.output, true);
    validate(plan_.steps);
    log_.write({{"event", "end"},
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
    if (plan.mixture.validation) sources.push_back(plan.mixture.validation->path);
    for (std::string const &source : sources) check_apart(options.output, source), check_apart(options.log, source);
    for (std::string const &checkpoint : {options.output, plan.initial, plan.resume})
        check_apart(options.log, checkpoint);
}

/** A checkpoint of fresh weights, or of `initial` with the heads it lacks. */
void write_untrained(training_options_t const &options, plan_t plan) {
    plan.mixture.batch_pairs = 1;
    executor_t const executor = make_executor(options.threads, cpu_class_from(options.cpu_class));
    trainer_t const trainer = make_trainer(plan, executor, 1, false);
    uform_outcome_t outcome = {};
    uform_trainer_save_t call = {};
    call.trainer = trainer.get(), call.executor = executor.get(), call.outcome = &outcome;
    call.path = view(options.output);
    uform_trainer_save(&call);
    check(outcome, options.output);
    run_log_t(options.log, false)
        .write({{"event", "end"}, {"reason", "finished"}, {"step", 0}, {"parameters", plan.parameters()}});
}

} // namespace

int train(training_options_t const &asked) {
    training_options_t options = asked;
    options.output = checkpoint_target(asked.output);
    plan_t plan = make_plan(options);
    refuse_overwriting(options, plan);
    if (plan.steps == 0 && !options.minutes) {
        write_untrained(options, std::move(plan));
        return exit_success_k;
    }
    return run_t(options, std::move(plan)).run();
}

} // namespace uform::tools
