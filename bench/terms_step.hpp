/**
 *  @file terms_step.hpp
 *  @brief Whole steps of micro on 256 pairs of 128 bytes through the C ABI: plain, and with every term.
 */
#pragma once
#include "towers.hpp"

namespace bench {

inline constexpr std::size_t hidden_k = 256, depth_k = 6, pairs_k = 256, items_k = 2 * pairs_k, length_k = 128;
inline constexpr std::size_t legal_k = 8; // bytes an item chooses among

template <typename body_>
double seconds_of(body_ const &body) {
    double const start = seconds_now();
    body();
    return seconds_now() - start;
}

/** Steps through the C ABI, plain or with every term. */
struct steps_t {
    bool every;
    uform_executor_t executor = executor_of(2);
    uform_trainer_t trainer = nullptr;
    texts_t texts = items_of(length_k, items_k *length_k);
    std::vector<std::size_t> offsets {0}, choice_offsets {0};
    std::vector<std::uint32_t> ids;
    std::vector<uform_late_interaction_side_t> sides;
    std::string legal;
    std::vector<float> targets;

    explicit steps_t(bool every) : every(every) {
        static std::size_t const widths[] = {64, 128, hidden_k};
        uform_outcome_t outcome;
        uform_trainer_init_ram_t call {};
        call.trainer = &trainer, call.executor = executor, call.outcome = &outcome, call.hidden = hidden_k;
        call.depth = depth_k, call.objective = uform_objective_contrastive_k, call.schedule.steps = 1000;
        call.batch.max_rows_per_device = call.batch.max_segments_per_device = 1024;
        call.batch.max_columns_per_row = length_k + 1, call.batch.max_choices_per_item = legal_k;
        call.contrastive.pair_loss = call.late_interaction.pair_loss = uform_pair_loss_form_softmax_k;
        call.contrastive.inverse_temperature = call.late_interaction.inverse_temperature = 10;
        if (every) {
            call.contrastive.matryoshka_dimensions = widths, call.contrastive.matryoshka_dimensions_count = 3;
            call.regularizers.coding_rate_weight = 0.02f, call.regularizers.lipschitz_weight = 0.1f;
            call.late_interaction.weight = 1, call.choices.weight = call.choices.brier_weight = 1;
        }
        uform_trainer_init_ram(&call);
        demand(outcome, "uform_trainer_init_ram");
        for (std::size_t i = 0; i < items_k; ++i) {
            ids.push_back(std::uint32_t((i + pairs_k) % items_k)), offsets.push_back(ids.size());
            sides.push_back(i < pairs_k ? uform_late_interaction_side_query_k : uform_late_interaction_side_document_k);
            for (std::size_t choice = 0; choice < legal_k; ++choice)
                legal += char('a' + choice), targets.push_back(1 / float(legal_k));
            choice_offsets.push_back(legal.size());
        }
    }
    ~steps_t() { uform_trainer_free(trainer), uform_executor_free(executor); }
    void take() const {
        uform_outcome_t outcome;
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = items_k;
        call.contents.data = texts.data.data(), call.contents.offsets = texts.offsets.data();
        call.relations.attract.offsets = offsets.data(), call.relations.attract.ids = ids.data();
        if (every) {
            call.sides = sides.data();
            call.choices.data = legal.data(), call.choices.offsets = choice_offsets.data();
            call.choice_targets.data = targets.data(), call.choice_targets.offsets = choice_offsets.data();
        }
        uform_trainer_step(&call);
        demand(outcome, "uform_trainer_step");
    }
};

/** `predicted` is what the terms beyond the plain step's should take. */
inline void measure_steps(double predicted, std::size_t rounds) {
    steps_t const plain(false), every(true);
    std::vector<double> alone, together, ratios;
    for (std::size_t round = 0; round <= rounds; ++round) {
        double const start = process_seconds();
        plain.take();
        double const middle = process_seconds();
        every.take();
        double const end = process_seconds();
        if (round == 0) continue;
        // A text that asks is a token longer.
        double const expected = (middle - start) * double(length_k + 1) / double(length_k) + predicted;
        alone.push_back(middle - start), together.push_back(end - middle), ratios.push_back((end - middle) / expected);
    }
    std::printf(
        "a step of two threads, processor time: plain %.1f ms, with every term %.1f ms, %.3f of the prediction\n",
        1e3 * median(alone), 1e3 * median(together), median(ratios));
}

} // namespace bench
