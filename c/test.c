/**
 *  @file test.c
 *  @brief The whole C ABI from C99: trains a small model, saves it, loads it back, encodes with it.
 *
 *  It is the header's first reader: if this is awkward to write, the ABI is wrong. Usage: test_c DIRECTORY
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uform/uform.h>

#define PAIRS 8
#define STEPS 20

static char const *const questions[PAIRS] = {"zwei",  "drei", "Hund",   "Katze", "Wasser", "Feuer", "gestern", "morgen"};
static char const *const answers[PAIRS] = {"two", "three", "dog", "cat", "water", "fire", "yesterday", "tomorrow"};

static void check(uform_outcome_t const *outcome, char const *what) {
    if (outcome->status == uform_status_success_k) return;
    fprintf(stderr, "%s: %s: %s: %s\n", what, uform_status_name(outcome->status), outcome->message, outcome->detail);
    exit(1);
}

static void expect(int condition, char const *what) {
    if (condition) return;
    fprintf(stderr, "expected %s\n", what);
    exit(1);
}

/** Joins the questions and the answers into one tape. */
static size_t fill_tape(char *data, size_t *offsets) {
    size_t i, used = 0;
    for (i = 0; i < 2 * PAIRS; ++i) {
        char const *const text = i < PAIRS ? questions[i] : answers[i - PAIRS];
        offsets[i] = used;
        memcpy(data + used, text, strlen(text));
        used += strlen(text);
    }
    return offsets[2 * PAIRS] = used;
}

static void train(uform_executor_t executor, char const *path) {
    uform_outcome_t outcome;
    uform_trainer_t trainer = NULL;
    uform_trainer_init_ram_t init = {0};
    uform_trainer_save_t save = {0};
    uform_trainer_step_stats_t stats = {0};
    char data[256];
    size_t offsets[2 * PAIRS + 1], edge_offsets[2 * PAIRS + 1], step;
    uint32_t edges[2 * PAIRS];
    float first_loss = 0;

    init.trainer = &trainer, init.executor = executor, init.outcome = &outcome;
    init.depth = 1, init.hidden = 128, init.objective = uform_objective_contrastive_k, init.seed = 1;
    init.batch.max_rows_per_device = 16, init.batch.max_columns_per_row = 32, init.batch.max_segments_per_device = 16;
    init.contrastive.pair_loss = uform_pair_loss_form_softmax_k, init.contrastive.inverse_temperature = 10;
    init.schedule.steps = STEPS, init.schedule.learning_rate = 3e-3f;
    uform_trainer_init_ram(&init);
    check(&outcome, "uform_trainer_init_ram");

    fill_tape(data, offsets);
    for (step = 0; step <= 2 * PAIRS; ++step) edge_offsets[step] = step;
    for (step = 0; step < 2 * PAIRS; ++step) edges[step] = (uint32_t)((step + PAIRS) % (2 * PAIRS));
    for (step = 0; step < STEPS; ++step) {
        uform_trainer_step_t call = {0};
        call.trainer = trainer, call.executor = executor, call.outcome = &outcome, call.count = 2 * PAIRS;
        call.contents.data = data, call.contents.offsets = offsets;
        call.relations.attract.offsets = edge_offsets, call.relations.attract.ids = edges;
        call.stats = &stats;
        uform_trainer_step(&call);
        check(&outcome, "uform_trainer_step");
        if (step == 0) first_loss = stats.loss;
    }
    expect(stats.step == STEPS && stats.loss < first_loss, "the loss to fall");

    save.trainer = trainer, save.executor = executor, save.outcome = &outcome;
    save.path.data = (unsigned char const *)path, save.path.length = strlen(path);
    uform_trainer_save(&save);
    check(&outcome, "uform_trainer_save");
    uform_trainer_free(trainer);
}

static void encode(uform_executor_t executor, char const *path) {
    uform_outcome_t outcome;
    uform_model_t model = NULL;
    uform_arena_t arena = NULL;
    uform_model_load_ram_t load = {0};
    uform_arena_init_t make = {0};
    uform_model_describe_t describe = {0};
    uform_model_description_t description = {0};
    uform_text_encode_t call = {0};
    uform_rows_t rows = {0};
    char data[256];
    size_t offsets[2 * PAIRS + 1], i, column;

    load.model = &model, load.executor = executor, load.outcome = &outcome;
    load.path.data = (unsigned char const *)path, load.path.length = strlen(path);
    uform_model_load_ram(&load);
    check(&outcome, "uform_model_load_ram");
    describe.model = model, describe.outcome = &outcome, describe.description = &description;
    uform_model_describe(&describe);
    check(&outcome, "uform_model_describe");
    expect(description.dimensions == 128 && description.depth == 1, "the geometry that was trained");

    make.arena = &arena, make.executor = executor, make.outcome = &outcome;
    uform_arena_init(&make);
    check(&outcome, "uform_arena_init");
    fill_tape(data, offsets);
    call.model = model, call.executor = executor, call.outcome = &outcome, call.completion = uform_completion_queued_k;
    call.texts.data = data, call.texts.offsets = offsets, call.count = 2 * PAIRS;
    call.embeddings = &rows, call.arena = arena;
    uform_text_encode(&call);
    uform_outcome_wait(&outcome);
    check(&outcome, "uform_text_encode");
    expect(rows.count == 2 * PAIRS && rows.columns == 128, "one row for each text");
    for (i = 0; i < rows.count; ++i) {
        float const *const row = (float const *)((char const *)rows.data + i * rows.stride);
        double squares = 0;
        for (column = 0; column < rows.columns; ++column) squares += (double)row[column] * row[column];
        expect(fabs(squares - 1) < 1e-5, "unit rows");
    }
    uform_arena_free(arena);
    uform_model_free(model);
}

int main(int count, char **arguments) {
    uform_outcome_t outcome;
    uform_executor_t executor = NULL;
    uform_executor_for_ram_t make = {0};
    char path[1024];
    if (count != 2) return fprintf(stderr, "usage: test_c DIRECTORY\n"), 2;
    snprintf(path, sizeof(path), "%s/uform_c_test.safetensors", arguments[1]);
    make.executor = &executor, make.outcome = &outcome, make.threads = 2;
    uform_executor_for_ram(&make);
    check(&outcome, "uform_executor_for_ram");
    train(executor, path);
    encode(executor, path);
    uform_executor_free(executor);
    remove(path);
    printf("trained, saved, loaded, encoded\n");
    return 0;
}
