/**
 *  @file abi.c
 *  @brief Prints what the C ABI answers on the serial class, as hashes of bits: the golden answers of every language.
 *
 *  Run: golden_abi MODEL FOLDER > test/golden/abi.txt
 *
 *  MODEL is models/nano-text.safetensors; FOLDER takes a fresh checkpoint with a token head and a byte decoder, drawn
 *  from a seed and never trained. A line is a name and the FNV-1a hash of the rows' bytes, 64 bits wide. C's own answers
 *  are compared with abi.txt by ctest `golden_abi`; each binding's tests ask for the same rows and hash them alike.
 *  Pictures and recordings have media.c and media.txt, as a build may lack what reads their files.
 */
#include "golden.h"

static char const texts[] = "Hello, world"
                            "a"
                            ""
                            "\xC3\xBC"
                            "ber \xE6\x97\xA5\xE6\x9C\xAC"
                            "0123456789abcdefghijklmnopqrstuvwxyz";
static size_t const offsets[] = {0, 12, 13, 13, 25, 61};
static char const choices[] = "yn"
                              "ABCD"
                              ""
                              "z"
                              "0123456789";
static size_t const choice_offsets[] = {0, 2, 6, 6, 7, 17};
enum { count = 5 };

/** A checkpoint with every head of text. */
static void make_checkpoint(char const *path) {
    uform_trainer_init_ram_t call = right_init();
    call.batch.max_choices_per_item = 8, call.choices.weight = 1, call.choices.temperature_groups = 2;
    draw(call, path);
}

static void tell_embeddings(char const *name, uform_model_t model, uform_arena_t arena, uform_scalar_t scalar,
                            size_t dimensions) {
    uform_outcome_t outcome;
    uform_rows_t rows = {0};
    uform_text_encode_t call = {0};
    call.model = model, call.outcome = &outcome, call.texts.data = texts, call.texts.offsets = offsets,
    call.count = count;
    call.dimensions = dimensions, call.embeddings = &rows, call.arena = arena, call.outputs_scalar = scalar;
    uform_text_encode(&call);
    expect(&outcome, name);
    tell(name, &rows);
}
static uform_rows_tape_t tell_tokens(uform_model_t model, uform_arena_t arena) {
    uform_outcome_t outcome;
    uform_rows_tape_t states = {0}, vectors = {0};
    uform_text_encode_t call = {0};
    call.model = model, call.outcome = &outcome, call.texts.data = texts, call.texts.offsets = offsets,
    call.count = count;
    call.states = &states, call.token_vectors = &vectors, call.arena = arena;
    uform_text_encode(&call);
    expect(&outcome, "tokens");
    tell("states", (uform_rows_t const *)&states), tell("token_vectors", (uform_rows_t const *)&vectors);
    return vectors;
}
static void tell_choices(uform_model_t model, uform_arena_t arena) {
    static uint32_t const groups[] = {0, 1, 0, 1, 0};
    uform_outcome_t outcome;
    uform_rows_tape_t shares = {0};
    uform_text_choose_t call = {0};
    call.model = model, call.outcome = &outcome, call.texts.data = texts, call.texts.offsets = offsets,
    call.count = count;
    call.choices.data = choices, call.choices.offsets = choice_offsets, call.temperature_groups = groups;
    call.probabilities = &shares, call.arena = arena;
    uform_text_choose(&call);
    expect(&outcome, "choices");
    tell("probabilities", (uform_rows_t const *)&shares);
}
/** The first text's token vectors against all of them, its own among them, on the serial class. */
static void tell_scores(uform_rows_tape_t documents, uform_arena_t arena) {
    uform_outcome_t outcome;
    uform_executor_t executor = make_executor();
    uform_rows_t scores = {0};
    uform_rerank_t call = {0};
    call.executor = executor, call.outcome = &outcome, call.documents = documents, call.count = count;
    call.query.data = documents.data, call.query.count = offsets[1], call.query.columns = documents.columns;
    call.query.stride = documents.stride, call.query.scalar = documents.scalar, call.scores = &scores,
    call.arena = arena;
    uform_rerank(&call);
    expect(&outcome, "scores");
    tell("scores", &scores);
    uform_executor_free(executor);
}

int main(int arguments_count, char **arguments) {
    if (arguments_count != 3) return fprintf(stderr, "usage: golden_abi MODEL FOLDER\n"), 2;
    char path[4096];
    snprintf(path, sizeof(path), "%s/golden_abi.safetensors", arguments[2]);
    uform_arena_t arena = make_arena(), other = make_arena();
    uform_model_t nano = load(arguments[1]);
    tell_embeddings("embeddings_f32", nano, arena, uform_scalar_f32_k, 0);
    tell_embeddings("embeddings_bf16", nano, arena, uform_scalar_bf16_k, 0);
    tell_embeddings("embeddings_f16", nano, arena, uform_scalar_f16_k, 0);
    tell_embeddings("embeddings_i8", nano, arena, uform_scalar_i8_k, 0);
    tell_embeddings("embeddings_64", nano, arena, uform_scalar_f32_k, 64);
    make_checkpoint(path);
    uform_model_t drawn = load(path);
    tell_choices(drawn, arena);
    tell_scores(tell_tokens(drawn, arena), other);
    uform_model_free(nano), uform_model_free(drawn);
    uform_arena_free(arena), uform_arena_free(other);
    return 0;
}
