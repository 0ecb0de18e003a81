/**
 *  @file training.hpp
 *  @brief Runs and steps that are right, for tests that break one field of them.
 */
#pragma once
#include "encoding.hpp"

namespace conformance {

/** A contrastive run of the smallest model, on the calling thread unless told otherwise. */
inline uform_trainer_init_ram_t right_init(uform_trainer_t *trainer, uform_executor_t executor = nullptr,
                                           uform_objective_t objective = uform_objective_contrastive_k) {
    uform_trainer_init_ram_t call {};
    call.trainer = trainer, call.executor = executor, call.depth = 1, call.hidden = 128;
    call.batch.max_rows_per_device = 8, call.batch.max_segments_per_device = 6, call.batch.max_columns_per_row = 32;
    call.objective = objective, call.schedule.steps = 20, call.seed = 7;
    return call;
}
inline void start(trainer_t &trainer, uform_executor_t executor = nullptr,
                  uform_objective_t objective = uform_objective_contrastive_k) {
    EXPECT_SUCCESS(answer(uform_trainer_init_ram, right_init(trainer.out(), executor, objective)));
}

/** Two pairs of texts, each drawn together. */
struct share_t {
    tape_t texts {{"zwei", "two", "Hund", "dog"}};
    std::vector<std::size_t> offsets {0, 1, 2, 3, 4};
    std::vector<std::uint32_t> ids {1, 0, 3, 2};
    std::vector<float> weights {1, 1, 0.5f, 0.5f};

    uform_trainer_step_t call(uform_trainer_t trainer, uform_executor_t executor = nullptr) const {
        uform_trainer_step_t call {};
        call.trainer = trainer, call.executor = executor, call.count = texts.count(), call.contents = texts.view();
        call.relations.attract = {offsets.data(), ids.data(), weights.data()};
        return call;
    }
};

inline outcome_t save(uform_trainer_t trainer, std::string const &path, uform_executor_t executor = nullptr) {
    uform_trainer_save_t call {};
    call.trainer = trainer, call.executor = executor, call.path = view(path);
    return answer(uform_trainer_save, call);
}

} // namespace conformance
