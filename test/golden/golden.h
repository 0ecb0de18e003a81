/**
 *  @file golden.h
 *  @brief What the programs of golden answers share: handles on the serial class, and hashes of rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uform/uform.h>

static void expect(uform_outcome_t const *outcome, char const *what) {
    if (outcome->status == uform_status_success_k) return;
    fprintf(stderr, "golden: %s: %s: %s\n", what, outcome->message, outcome->detail);
    exit(1);
}

static uint64_t hash_bytes(uint64_t hash, void const *data, size_t length) {
    unsigned char const *bytes = data;
    for (size_t index = 0; index < length; ++index) hash = (hash ^ bytes[index]) * UINT64_C(0x100000001B3);
    return hash;
}
static void tell(char const *name, uform_rows_t const *rows) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t row = 0; row < rows->count; ++row)
        hash = hash_bytes(hash, (char const *)rows->data + row * rows->stride,
                          rows->columns * uform_scalar_bytes(rows->scalar));
    printf("%s %016" PRIx64 "\n", name, hash);
}

static uform_model_t load(char const *path) {
    uform_outcome_t outcome;
    uform_model_t model = NULL;
    uform_model_load_ram_t call = {0};
    call.model = &model, call.outcome = &outcome, call.path.data = path, call.path.length = strlen(path);
    call.cpu_class = uform_cpu_class_serial_k;
    uform_model_load_ram(&call);
    expect(&outcome, path);
    return model;
}
static uform_arena_t make_arena(void) {
    uform_outcome_t outcome;
    uform_arena_t arena = NULL;
    uform_arena_init_t call = {&arena, NULL, &outcome};
    uform_arena_init(&call);
    expect(&outcome, "arena");
    return arena;
}
static uform_executor_t make_executor(void) {
    uform_outcome_t outcome;
    uform_executor_t executor = NULL;
    uform_executor_for_ram_t call = {0};
    call.executor = &executor, call.outcome = &outcome, call.threads = 1;
    call.cpu_class = uform_cpu_class_serial_k;
    uform_executor_for_ram(&call);
    expect(&outcome, "executor");
    return executor;
}

/** What every drawn checkpoint has: one block of 128, a token head, seed 7. */
static uform_trainer_init_ram_t right_init(void) {
    uform_trainer_init_ram_t call = {0};
    call.depth = 1, call.hidden = 128, call.objective = uform_objective_contrastive_k;
    call.batch.max_rows_per_device = 16, call.batch.max_segments_per_device = 32, call.batch.max_columns_per_row = 64;
    call.late_interaction.weight = 1, call.late_interaction.width = 32;
    call.schedule.steps = 10, call.seed = 7;
    return call;
}
/** Saves a checkpoint as its seed draws it, never trained. */
static void draw(uform_trainer_init_ram_t call, char const *path) {
    uform_outcome_t outcome;
    uform_trainer_t trainer = NULL;
    call.executor = make_executor(), call.trainer = &trainer, call.outcome = &outcome;
    uform_trainer_init_ram(&call);
    expect(&outcome, "trainer");
    uform_trainer_save_t save = {0};
    save.trainer = trainer, save.executor = call.executor, save.outcome = &outcome;
    save.path.data = path, save.path.length = strlen(path);
    uform_trainer_save(&save);
    expect(&outcome, "save");
    uform_trainer_free(trainer), uform_executor_free(call.executor);
}
