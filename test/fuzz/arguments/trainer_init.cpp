/**
 *  @file trainer_init.cpp
 *  @brief Attacks on the making of a trainer: the struct with the most numbers in the ABI.
 */
#include "world.hpp"

#include <cmath>

namespace uform_fuzz {
namespace {

bool is_weight(float value) noexcept { return std::isfinite(value) && value >= 0; }

/** Sizes that would be accepted and take a machine's memory become the least, so that an input stays short. */
std::size_t least_of_accepted(std::size_t drawn, std::size_t least, std::size_t accepted) noexcept {
    return drawn >= least && drawn <= accepted ? least : drawn;
}

struct draw_t {
    cursor_t &cursor;
    uform_trainer_init_ram_t &call;
    rules_t &rules;

    void geometry() {
        constexpr std::size_t hidden_limit = 16384, depth_limit = 1024, context_limit = 65536, groups_limit = 65536;
        call.hidden = cursor.size(hidden_k), call.depth = cursor.size(1);
        if (call.hidden % hidden_k == 0) call.hidden = least_of_accepted(call.hidden, hidden_k, hidden_limit);
        call.depth = least_of_accepted(call.depth, 1, depth_limit);
        uform_batch_shape_t &batch = call.batch;
        batch.max_rows_per_device = cursor.size(2), batch.max_segments_per_device = cursor.size(4);
        batch.max_columns_per_row = cursor.size(context_k), batch.max_bags_per_device = cursor.size(0);
        batch.max_choices_per_item = cursor.size(0);
        rules.refuse_if(call.hidden == 0 || call.hidden % hidden_k || call.depth == 0);
        rules.refuse_if(!batch.max_rows_per_device || !batch.max_segments_per_device || !batch.max_columns_per_row);
        rules.open_if(call.hidden > hidden_limit || call.depth > depth_limit);
        rules.open_if(batch.max_columns_per_row > context_limit || batch.max_choices_per_item);
        call.contrastive.temperature_groups = least_of_accepted(cursor.size(cursor.below(3)), 3, groups_limit);
        rules.open_if(call.contrastive.temperature_groups > groups_limit);
        if (!cursor.hostile()) return;
        batch.image.patch_side = cursor.size(0), batch.video.patch_side = cursor.size(0);
        batch.audio.chunk_samples = cursor.size(0), rules.open_if(true);
    }
    void masking() {
        uform_masking_t &masking = call.masking;
        float *const shares[] = {&masking.token_mask_probability, &masking.replace_fraction, &masking.random_fraction,
                                 &masking.image_mask_ratio,       &masking.video_mask_ratio, &masking.audio_mask_ratio};
        float *const weights[] = {&masking.text_weight, &masking.image_weight, &masking.video_weight,
                                  &masking.audio_weight, &masking.token_mean_span};
        for (float *const share : shares) {
            *share = cursor.real(0);
            if (*share != 0) rules.open_if(true);
            if (call.objective != uform_objective_contrastive_k) rules.refuse_if(!(*share >= 0 && *share <= 1));
        }
        for (float *const weight : weights) {
            *weight = cursor.real(0);
            if (*weight != 0) rules.open_if(true);
            if (call.objective != uform_objective_contrastive_k) rules.refuse_if(!is_weight(*weight));
        }
    }
    void contrastive(std::vector<std::size_t> &widths) {
        uform_contrastive_t &asked = call.contrastive;
        asked.inverse_temperature = cursor.real(0), asked.bias = cursor.real(0);
        asked.ambient_repulsion_weight = cursor.real(0), asked.max_edges_per_device = cursor.size(0);
        asked.negatives = cursor.enumerator(1), asked.pair_loss = cursor.enumerator(4);
        std::size_t const count = cursor.below(10);
        for (std::size_t i = 0; i < count; ++i) widths.push_back(cursor.size(8 * (i + 1 + cursor.below(2))));
        asked.matryoshka_dimensions_count = widths.size();
        asked.matryoshka_dimensions = widths.empty() || cursor.hostile() ? nullptr : widths.data();
        uform_regularizers_t &terms = call.regularizers;
        terms.coding_rate_weight = cursor.real(0), terms.coding_rate_epsilon_squared = cursor.real(0);
        terms.lipschitz_weight = cursor.real(0), terms.lipschitz_iterations = cursor.size(0);
        if (call.objective == uform_objective_masked_k) return;
        rules.open_if(asked.inverse_temperature > 0 || terms.lipschitz_iterations);
        for (float const weight : {asked.inverse_temperature, asked.ambient_repulsion_weight, terms.lipschitz_weight,
                                   terms.coding_rate_weight, terms.coding_rate_epsilon_squared})
            rules.refuse_if(!is_weight(weight));
        rules.refuse_if(!std::isfinite(asked.bias) || asked.negatives < 0 || asked.negatives > 1);
        rules.refuse_if(asked.pair_loss < 0 || asked.pair_loss > 4);
        if (asked.matryoshka_dimensions) refuse_widths(widths);
    }
    void late_terms() {
        call.late_interaction.weight = cursor.real(0), call.late_interaction.width = cursor.size(0);
        call.choices.weight = cursor.real(0), call.choices.temperature_groups = cursor.size(0);
        rules.open_if(call.late_interaction.weight != 0 || call.choices.weight != 0);
        rules.refuse_if(!is_weight(call.late_interaction.weight) || std::isnan(call.choices.weight));
        rules.refuse_if(call.late_interaction.weight != 0 && call.late_interaction.width % 8);
        rules.refuse_if(call.late_interaction.weight != 0 && call.objective == uform_objective_masked_k);
    }
    void schedule() {
        uform_schedule_t &schedule = call.schedule;
        schedule.steps = cursor.size(100), schedule.warmup_steps = cursor.size(0);
        schedule.learning_rate = cursor.real(0), schedule.min_learning_rate = cursor.real(0);
        rules.open_if(schedule.learning_rate > 0 || schedule.min_learning_rate > 0 || schedule.warmup_steps);
        rules.refuse_if(schedule.steps == 0 || !is_weight(schedule.learning_rate));
        rules.refuse_if(!(schedule.min_learning_rate >= 0) || std::isinf(schedule.min_learning_rate));
    }
    uform_bytes_view_t prefix(char const (&bytes)[context_k + 2]) {
        uform_bytes_view_t view {bytes, cursor.hostile() ? cursor.below(context_k + 3) : 0};
        if (cursor.hostile())
            view = cursor.coin() ? uform_bytes_view_t {nullptr, cursor.size(1)}
                                 : uform_bytes_view_t {bytes, SIZE_MAX - cursor.byte()};
        rules.refuse_if((view.length && !view.data) || view.length >= call.batch.max_columns_per_row);
        return view;
    }

  private:
    void refuse_widths(std::vector<std::size_t> const &widths) {
        rules.refuse_if(widths.size() > 8);
        for (std::size_t i = 0; i < widths.size(); ++i)
            rules.refuse_if(widths[i] == 0 || widths[i] % 8 || widths[i] > call.hidden ||
                            (i && widths[i] <= widths[i - 1]));
    }
};

} // namespace

void attack_trainer_init(cursor_t &cursor, world_t &world) {
    rules_t rules;
    path_t resume, initial;
    progress_state_t progress;
    std::vector<std::size_t> widths;
    made_t<uform_trainer_t> made;
    char const bytes[context_k + 2] = "prefix of a query";
    uform_trainer_init_ram_t call {};
    draw_t draw {cursor, call, rules};
    call.trainer = made.place(cursor, rules), call.executor = world.any_executor(cursor);
    call.objective = cursor.enumerator(uform_objective_joint_k);
    rules.refuse_if(call.objective < 0 || call.objective > uform_objective_joint_k);
    draw.geometry(), draw.masking(), draw.contrastive(widths), draw.late_terms(), draw.schedule();
    call.query_prefix = draw.prefix(bytes), call.document_prefix = draw.prefix(bytes);
    if (cursor.hostile()) call.resume = resume.view(cursor, world, rules, true), rules.open_if(true);
    if (cursor.hostile()) call.initial = initial.view(cursor, world, rules, true), rules.open_if(true);
    rules.refuse_if(call.resume.length && call.initial.length);
    call.seed = cursor.word(), call.batch.kept_activation_bytes = call.seed & 1 ? SIZE_MAX : 0;
    call.progress = progress.handler(cursor);
    rules.open_if(progress.calls_left != SIZE_MAX);
    if (cursor.hostile()) {
        made.settle(send(cursor, uform_trainer_init_vram, call, (rules.open_if(true), rules), progress),
                    uform_trainer_free);
        return;
    }
    // Drawing weights takes twenty milliseconds under sanitizers, so few of the accepted ones are made.
    if (!rules.refused && (world.costly_left == 0 || !cursor.hostile())) return;
    world.costly_left -= !rules.refused;
    made.settle(send(cursor, uform_trainer_init_ram, call, rules, progress), uform_trainer_free);
}

} // namespace uform_fuzz
