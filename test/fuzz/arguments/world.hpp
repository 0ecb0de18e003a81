/**
 *  @file world.hpp
 *  @brief What the calls of an input share: a tiny model, executors, arenas and trainers, made once and used by all.
 */
#pragma once
#include <string>
#include <vector>

#include <uform/uform.h>

#include "cursor.hpp"
#include "verdict.hpp"

namespace uform_fuzz {

inline constexpr std::size_t hidden_k = 128, context_k = 16, token_width_k = 16, choice_groups_k = 3;
inline constexpr std::size_t segments_k = 4, edges_k = 6, pair_groups_k = 2; // of the trainers

/** A trainer and what its steps are refused by. */
struct run_t {
    uform_trainer_t trainer = nullptr;
    uform_executor_t executor = nullptr;
    uform_objective_t objective = uform_objective_masked_k;
    bool interacts = false; // trains a token head
    bool contrasts() const noexcept { return objective != uform_objective_masked_k; }
};

struct world_t {
    std::string folder, checkpoint_path; // the model's file, in a folder of this process
    std::vector<char> checkpoint;        // its bytes
    uform_executor_t executor = nullptr; // of two threads
    uform_model_t model = nullptr;       // with all heads
    uform_arena_t arenas[2] = {};
    run_t runs[3];
    std::vector<float> answer; // what the model says to the probe

    /** Calls that take milliseconds when they succeed: so many of them an input. */
    std::size_t costly_left = 0;
    bool used_executor = false; // by this input: waking threads for the probe as well takes a while on a busy machine

    world_t();
    ~world_t();
    world_t(world_t const &) = delete;
    world_t &operator=(world_t const &) = delete;

    /** Ends the program unless the executor and the model still answer as at the start, bit for bit. */
    void probe() const;
    std::vector<float> encode_probe(bool on_executor) const;

    uform_executor_t any_executor(cursor_t &cursor) noexcept {
        bool const threads = cursor.below(4) == 3;
        used_executor |= threads;
        return threads ? executor : nullptr;
    }
    uform_arena_t any_arena(cursor_t &cursor) const noexcept {
        return cursor.hostile() ? nullptr : arenas[cursor.below(2)];
    }
};

/** Offsets and bytes of some items, in blocks of their exact sizes, so that a sanitizer sees a read beyond them. */
struct items_t {
    std::vector<std::size_t> offsets; // [count + 1]
    std::vector<unsigned char> data;
    std::size_t count = 0;

    /** Draws up to `most` items of up to `longest` elements; `spoil` may then break what `check_tape` promises. */
    void draw(cursor_t &cursor, std::size_t most, std::size_t longest);
    /** The view of them as a field of elements `scalar`, spoilt now and then. */
    uform_tape_view_t view(cursor_t &cursor, uform_scalar_t scalar, rules_t &rules);
    std::size_t length(std::size_t item) const noexcept { return offsets[item + 1] - offsets[item]; }

  private:
    void spoil_offset(cursor_t &cursor, std::size_t bytes);
    bool rises() const noexcept;
};

/** What a path may look like; `rules` learns of those every verb refuses. */
struct path_t {
    std::string text;
    uform_bytes_view_t view(cursor_t &cursor, world_t const &world, rules_t &rules, bool optional);
};

/** NUMA nodes, right and wrong. */
struct nodes_t {
    std::vector<std::size_t> nodes;
    std::size_t const *draw(cursor_t &cursor, std::size_t &count, rules_t &rules);
};

struct rows_check_t {
    std::size_t count, columns;
    uform_scalar_t scalar; // as asked for
    bool unit;
};
/** Reads every element: sizes as expected, all finite, rows of unit length where promised. */
void check_rows(uform_rows_t const &rows, rows_check_t const &expected);
void check_rows(uform_rows_tape_t const &rows, rows_check_t const &expected, std::size_t items);
double element(void const *data, uform_scalar_t scalar, std::size_t at) noexcept;

using attack_t = void (*)(cursor_t &cursor, world_t &world);
void attack_names(cursor_t &cursor, world_t &world);
void attack_executors(cursor_t &cursor, world_t &world);
void attack_absent_executors(cursor_t &cursor, world_t &world);
void attack_drain(cursor_t &cursor, world_t &world);
void attack_arena(cursor_t &cursor, world_t &world);
void attack_load(cursor_t &cursor, world_t &world);
void attack_load_buffer(cursor_t &cursor, world_t &world);
void attack_load_vram(cursor_t &cursor, world_t &world);
void attack_describe(cursor_t &cursor, world_t &world);
void attack_text_encode(cursor_t &cursor, world_t &world);
void attack_media(cursor_t &cursor, world_t &world);
void attack_choose(cursor_t &cursor, world_t &world);
void attack_rerank(cursor_t &cursor, world_t &world);
void attack_mesh(cursor_t &cursor, world_t &world);
void attack_trainer_init(cursor_t &cursor, world_t &world);
void attack_trainer_step(cursor_t &cursor, world_t &world);
void attack_trainer_save(cursor_t &cursor, world_t &world);

} // namespace uform_fuzz
