/**
 *  @file media.c
 *  @brief abi.c's like for pictures and recordings: pixels, samples, and files where this build reads them.
 *
 *  Run: golden_media CASES FOLDER > test/golden/media.txt
 *
 *  CASES is test/cases; FOLDER takes a fresh checkpoint with every entry, drawn from a seed and never trained. Pixels and
 *  samples are made of their index alone, so that each language can. The files keep what they hold without a loss, and
 *  the recording has the model's rate: what decodes them has no say in a bit. A line of files that this build was
 *  configured not to read says `unsupported`.
 */
#include "golden.h"

enum { pictures_k = 3, recordings_k = 3 };
static size_t const heights[] = {16, 8, 33}, widths[] = {24, 8, 17};
static size_t const lengths[] = {3200, 641, 1};

/** Byte i of picture p is the low byte of i * i + 31 * p. */
static unsigned char *make_pixels(size_t *offsets) {
    for (size_t item = 0; item < pictures_k; ++item)
        offsets[item + 1] = offsets[item] + heights[item] * widths[item] * 3;
    unsigned char *const pixels = malloc(offsets[pictures_k]);
    if (!pixels) exit(1);
    for (size_t item = 0; item < pictures_k; ++item)
        for (size_t index = 0; index < offsets[item + 1] - offsets[item]; ++index)
            pixels[offsets[item] + index] = (unsigned char)(index * index + 31 * item);
    return pixels;
}
/** Sample i of recording r is ((i * i + 17 * r) mod 2001 - 1000) / 1024, exact in float32. */
static float *make_samples(size_t *offsets) {
    for (size_t item = 0; item < recordings_k; ++item) offsets[item + 1] = offsets[item] + lengths[item];
    float *const samples = malloc(offsets[recordings_k] * sizeof(float));
    if (!samples) exit(1);
    for (size_t item = 0; item < recordings_k; ++item)
        for (size_t index = 0; index < lengths[item]; ++index)
            samples[offsets[item] + index] = ((float)((index * index + 17 * item) % 2001) - 1000) / 1024;
    return samples;
}

/** A file of CASES, which the caller frees. */
static char *read_file(char const *folder, char const *name, size_t *length) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *const file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) return fprintf(stderr, "golden: no %s\n", path), exit(1), NULL;
    *length = (size_t)ftell(file);
    char *const data = malloc(*length + 1);
    rewind(file);
    if (!data || fread(data, 1, *length, file) != *length) return fprintf(stderr, "golden: %s\n", path), exit(1), NULL;
    fclose(file);
    return data;
}

static void tell_pixels(uform_model_t model, uform_arena_t arena) {
    uform_outcome_t outcome;
    uform_rows_t rows = {0};
    uform_rows_tape_t states = {0}, vectors = {0};
    size_t offsets[pictures_k + 1] = {0};
    unsigned char *const pixels = make_pixels(offsets);
    uform_image_encode_pixels_t call = {0};
    call.model = model, call.outcome = &outcome, call.count = pictures_k, call.heights = heights, call.widths = widths;
    call.pixels.data = pixels, call.pixels.offsets = offsets, call.pixels.scalar = uform_scalar_u8_k;
    call.embeddings = &rows, call.states = &states, call.token_vectors = &vectors, call.arena = arena;
    uform_image_encode_pixels(&call);
    expect(&outcome, "pixels");
    tell("pixels", &rows), tell("pixels_states", (uform_rows_t const *)&states);
    tell("pixels_token_vectors", (uform_rows_t const *)&vectors);
    free(pixels);
}
static void tell_samples(uform_model_t model, uform_arena_t arena) {
    uform_outcome_t outcome;
    uform_rows_t rows = {0};
    uform_rows_tape_t states = {0}, vectors = {0};
    size_t offsets[recordings_k + 1] = {0};
    float *const samples = make_samples(offsets);
    uform_audio_encode_samples_t call = {0};
    call.model = model, call.outcome = &outcome, call.count = recordings_k, call.sample_rate = 16000;
    call.samples.data = samples, call.samples.offsets = offsets, call.samples.scalar = uform_scalar_f32_k;
    call.embeddings = &rows, call.states = &states, call.token_vectors = &vectors, call.arena = arena;
    uform_audio_encode_samples(&call);
    expect(&outcome, "samples");
    tell("samples", &rows), tell("samples_states", (uform_rows_t const *)&states);
    tell("samples_token_vectors", (uform_rows_t const *)&vectors);
    free(samples);
}

static void tell_files(char const *name, uform_outcome_t const *outcome, uform_rows_t const *rows) {
    if (outcome->status == uform_status_unsupported_k) {
        printf("%s unsupported\n", name);
        return;
    }
    expect(outcome, name), tell(name, rows);
}
static void tell_image_file(uform_model_t model, uform_arena_t arena, char const *cases) {
    uform_outcome_t outcome;
    uform_rows_t rows = {0};
    size_t offsets[2] = {0};
    char *const file = read_file(cases, "image/rgb8.png", &offsets[1]);
    uform_image_encode_t call = {0};
    call.model = model, call.outcome = &outcome, call.count = 1, call.files.data = file, call.files.offsets = offsets;
    call.files.scalar = uform_scalar_u8_k, call.embeddings = &rows, call.arena = arena;
    uform_image_encode(&call);
    tell_files("image_file", &outcome, &rows);
    free(file);
}
static void tell_audio_file(uform_model_t model, uform_arena_t arena, char const *cases) {
    uform_outcome_t outcome;
    uform_rows_t rows = {0};
    size_t offsets[2] = {0};
    char *const file = read_file(cases, "audio/mono_s16.wav", &offsets[1]);
    uform_audio_encode_t call = {0};
    call.model = model, call.outcome = &outcome, call.count = 1, call.files.data = file, call.files.offsets = offsets;
    call.files.scalar = uform_scalar_u8_k, call.embeddings = &rows, call.arena = arena;
    uform_audio_encode(&call);
    tell_files("audio_file", &outcome, &rows);
    free(file);
}

int main(int arguments_count, char **arguments) {
    if (arguments_count != 3) return fprintf(stderr, "usage: golden_media CASES FOLDER\n"), 2;
    char path[4096];
    snprintf(path, sizeof(path), "%s/golden_media.safetensors", arguments[2]);
    uform_trainer_init_ram_t init = right_init();
    init.batch.image.patch_side = 8, init.batch.video.patch_side = 16, init.batch.audio.chunk_samples = 320;
    draw(init, path);
    uform_arena_t arena = make_arena();
    uform_model_t model = load(path);
    tell_pixels(model, arena);
    tell_samples(model, arena);
    tell_image_file(model, arena, arguments[1]);
    tell_audio_file(model, arena, arguments[1]);
    uform_model_free(model);
    uform_arena_free(arena);
    return 0;
}
