/**
 *  @file train.cpp
 *  @brief Attacks on the verbs of `uform/train.h` that use a trainer, and on meshes.
 */
#include "world.hpp"

#include <algorithm>
#include <cmath>

namespace uform_fuzz {
namespace {

/** One edge set, its ids and weights in blocks of their exact sizes. */
struct edge_set_t {
    std::vector<std::size_t> offsets;
    std::vector<std::uint32_t> ids;
    std::vector<float> weights;

    uform_edges_view_t draw(cursor_t &cursor, std::size_t items, bool by_default, bool weighted, rules_t &rules) {
        if ((cursor.byte() & 1) == by_default) return {}; // zero at the end: present where that is the default
        ids.assign(cursor.hostile() ? cursor.below(4) : 0, 0);
        offsets.assign(1, ids.size());
        for (std::size_t i = 0; i < items; ++i) {
            std::size_t const named = cursor.byte() ^ 1; // by default everyone attracts the first
            for (std::uint32_t id = 0; id < items; ++id)
                if (named >> id & 1) ids.push_back(id);
            offsets.push_back(ids.size());
        }
        for (std::size_t i = 0; i < ids.size(); ++i) weights.push_back(cursor.real(1));
        bool const has_weights = cursor.coin();
        if (cursor.hostile() && !ids.empty()) ids[cursor.below(ids.size())] = std::uint32_t(cursor.size(items));
        if (cursor.hostile()) offsets[cursor.below(offsets.size())] = cursor.size(cursor.below(8));
        keep_truthful(items);
        ids.shrink_to_fit(), weights.resize(ids.size()), weights.shrink_to_fit();
        uform_edges_view_t const view {offsets.data(), cursor.hostile() ? nullptr : ids.data(),
                                       has_weights ? weights.data() : nullptr};
        judge(view, items, weighted, rules);
        return view;
    }

  private:
    /** A run of more ids than there are items, or one beyond any memory, can be refused unread; others must exist. */
    void keep_truthful(std::size_t items) {
        bool refusable =
            !std::is_sorted(offsets.begin(), offsets.end()) || offsets.back() > PTRDIFF_MAX / sizeof(float);
        for (std::size_t i = 0; !refusable && i < items; ++i) refusable |= offsets[i + 1] - offsets[i] > items;
        if (!refusable && offsets.back() > ids.size()) offsets.back() = SIZE_MAX;
    }
    void judge(uform_edges_view_t const &view, std::size_t items, bool weighted, rules_t &rules) const {
        bool const rises = std::is_sorted(offsets.begin(), offsets.end());
        rules.refuse_if(!rises || offsets.back() > PTRDIFF_MAX / sizeof(float));
        if (!rises || offsets.back() > ids.size()) return rules.refuse_if(true);
        rules.refuse_if(!view.ids && offsets.back() != offsets.front());
        for (std::size_t i = 0; i < items; ++i)
            for (std::size_t edge = offsets[i]; edge < offsets[i + 1]; ++edge) {
                rules.refuse_if(ids[edge] >= items || (edge > offsets[i] && ids[edge] <= ids[edge - 1]));
                if (!weighted || !view.weights) continue;
                rules.refuse_if(!std::isfinite(weights[edge]) || weights[edge] < 0);
                rules.open_if(weights[edge] > 1e6f); // the loss may overflow
            }
    }
};

/** What a step says of each item beside its bytes. */
struct marks_t {
    std::vector<uform_modality_t> modalities;
    std::vector<std::uint32_t> bags, groups;
    std::vector<uform_late_interaction_side_t> sides;

    void draw(cursor_t &cursor, uform_trainer_step_t &call, std::size_t items, run_t const &run, rules_t &rules) {
        for (std::size_t i = 0; i < items; ++i) {
            modalities.push_back(cursor.hostile() ? cursor.enumerator(uform_modality_audio_k) : 0);
            bags.push_back(std::uint32_t(cursor.size(cursor.below(3))));
            groups.push_back(std::uint32_t(cursor.hostile() ? cursor.size(2) : cursor.below(pair_groups_k)));
            sides.push_back(cursor.hostile() ? cursor.enumerator(3) : 0);
        }
        std::size_t const given = cursor.byte();
        call.modalities = given & 1 ? modalities.data() : nullptr, call.bags = given & 2 ? bags.data() : nullptr;
        call.temperature_groups = given & 4 ? groups.data() : nullptr, call.sides = given & 8 ? sides.data() : nullptr;
        for (std::size_t i = 0; i < items; ++i) {
            rules.refuse_if(call.modalities && modalities[i] != uform_modality_text_k);
            rules.refuse_if(call.temperature_groups && run.contrasts() && groups[i] >= pair_groups_k);
            rules.refuse_if(call.sides && run.interacts && (sides[i] < 0 || sides[i] > 3));
        }
    }
};

void check_scored(uform_rows_t const &rows, std::size_t count, uform_scalar_t scalar) {
    check_rows(rows, {count, hidden_k, scalar, false});
    for (std::size_t row = 0; row < count; ++row) {
        double squares = 0;
        for (std::size_t i = 0; i < hidden_k; ++i) {
            double const value = element(static_cast<char const *>(rows.data) + row * rows.stride, rows.scalar, i);
            squares += value * value;
        }
        // The least exact scalar, i8, is off by half a step of 1/127 an element.
        bool const unit = std::abs(std::sqrt(squares) - 1) <= std::sqrt(double(hidden_k)) * 0.5 / 127;
        require(unit || squares == 0, "a scored row has unit length, a dropped one is zero");
    }
}

bool is_output_scalar(uform_scalar_t scalar) noexcept {
    return scalar >= uform_scalar_default_k && scalar <= uform_scalar_i8_k && scalar != uform_scalar_e4m3_k;
}

} // namespace

void attack_trainer_step(cursor_t &cursor, world_t &world) {
    rules_t rules;
    items_t items;
    marks_t marks;
    edge_set_t attract, repel, ignore;
    output_t<uform_rows_t> embeddings;
    output_t<uform_trainer_step_stats_t> stats;
    run_t const &run = world.runs[cursor.below(std::size(world.runs))];
    world.used_executor |= run.executor != nullptr;
    uform_trainer_step_t call {};
    call.trainer = cursor.hostile() ? nullptr : run.trainer;
    call.executor = cursor.hostile() ? world.any_executor(cursor) : run.executor;
    items.draw(cursor, segments_k + 1, 20);
    call.contents = items.view(cursor, uform_scalar_u8_k, rules);
    // More than the run has room for can be refused without reading what is not there.
    call.count = cursor.hostile() ? std::max(cursor.size(segments_k + 1), segments_k + 1) : items.count;
    rules.items = items.count, rules.refuse_if(call.count > segments_k), rules.open_if(items.count == 0);
    rules.refuse_if(!call.trainer || call.executor != run.executor);
    marks.draw(cursor, call, items.count, run, rules);
    rules_t relations;
    call.relations.attract = attract.draw(cursor, items.count, true, true, relations);
    call.relations.repel = repel.draw(cursor, items.count, false, true, relations);
    call.relations.ignore = ignore.draw(cursor, items.count, false, false, relations);
    relations.refuse_if(attract.ids.empty() || attract.offsets.front() == attract.offsets.back());
    for (edge_set_t const *set : {&attract, &repel, &ignore})
        if (!set->offsets.empty()) relations.refuse_if(set->offsets.back() - set->offsets.front() > edges_k);
    if (run.contrasts()) rules.refuse_if(relations.refused), rules.open_if(relations.open);
    std::size_t const asked = cursor.byte();
    call.embeddings = asked & 1 ? &embeddings.value : nullptr, call.stats = asked & 2 ? &stats.value : nullptr;
    call.arena = world.any_arena(cursor), call.outputs_scalar = cursor.enumerator(uform_scalar_i8_k);
    if (call.embeddings) rules.refuse_if(!run.contrasts() || !call.arena || !is_output_scalar(call.outputs_scalar));
    std::size_t const no_choices[segments_k + 2] = {};
    if (cursor.hostile()) call.choices.offsets = no_choices, rules.open_if(true);
    if (cursor.hostile()) call.choice_targets.offsets = no_choices, rules.open_if(true);
    // The optimizer reads every weight, milliseconds under sanitizers, so few of the accepted steps are taken.
    if (!rules.refused && (world.costly_left == 0 || cursor.below(4))) return;
    world.costly_left -= !rules.refused;
    uform_status_t const status = send(cursor, uform_trainer_step, call, rules);
    embeddings.settle(status), stats.settle(status);
    if (status != uform_status_success_k) return;
    if (call.embeddings) check_scored(*call.embeddings, call.count, call.outputs_scalar);
    if (call.stats) require(std::isfinite(call.stats->loss) && call.stats->tokens, "an applied step's loss is finite");
}

void attack_trainer_save(cursor_t &cursor, world_t &world) {
    rules_t rules;
    path_t path;
    progress_state_t progress;
    run_t const &run = world.runs[cursor.below(std::size(world.runs))];
    world.used_executor |= run.executor != nullptr;
    uform_trainer_save_t call {};
    call.trainer = cursor.hostile() ? nullptr : run.trainer;
    call.executor = cursor.hostile() ? world.any_executor(cursor) : run.executor;
    call.path = path.view(cursor, world, rules, false), call.optimizer = cursor.coin();
    std::string const beside = world.folder + "/saved"; // the model's own file is to stay as it is
    if (path.text == world.checkpoint_path && call.path.data && call.path.length == path.text.size())
        call.path = {beside.data(), beside.size()};
    call.progress = progress.handler(cursor);
    rules.refuse_if(!call.trainer || call.executor != run.executor);
    if (!rules.refused && world.costly_left == 0) return;
    world.costly_left -= !rules.refused;
    send(cursor, uform_trainer_save, call, rules, progress);
    uform_trainer_free(nullptr);
}

void attack_mesh(cursor_t &cursor, world_t &world) {
    rules_t rules;
    path_t directory, job;
    progress_state_t progress;
    rules.open_if(true);
    if (cursor.coin()) {
        output_t<uform_mesh_description_t> description;
        uform_mesh_describe_t call {};
        call.description = &description.value, rules.refuse_if(true); // without a mesh
        description.settle(send(cursor, uform_mesh_describe, call, rules));
        return;
    }
    made_t<uform_mesh_t> made;
    uform_mesh_bootstrap_t call {};
    call.mesh = made.place(cursor, rules), call.executor = world.any_executor(cursor);
    call.options.host_domain_index = cursor.size(0), call.options.host_domain_count = cursor.size(0);
    call.options.multicast_extent = cursor.size(0), call.options.deadline_milliseconds = 1;
    call.options.directory = directory.view(cursor, world, rules, true);
    call.options.job = job.view(cursor, world, rules, true);
    call.options.progress = progress.handler(cursor);
    made.settle(send(cursor, uform_mesh_bootstrap, call, rules, progress), uform_mesh_free);
}

} // namespace uform_fuzz
