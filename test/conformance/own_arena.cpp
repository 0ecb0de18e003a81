/**
 *  @file own_arena.cpp
 *  @brief Inputs that live in the arena their call would rewind: refused by every verb, and everything as it was.
 */
#include "training.hpp"

namespace conformance {
namespace {

constexpr auto invalid_k = uform_status_invalid_argument_k;

/** An arena in which an encode landed many times what the inputs below take; they are written over it. */
struct landed_arena_t {
    encoding_t encoding {std::vector<std::string>(64, std::string(64, 'x'))};
    encoded_t got;
    char *memory = nullptr;
    std::size_t bytes = 0;

    landed_arena_t() {
        auto call = encoding.call(got);
        uform_text_encode(&call);
        EXPECT_SUCCESS(got.outcome);
        memory = const_cast<char *>(static_cast<char const *>(got.states.data));
        bytes = got.states.count * got.states.stride;
    }
    /** The elements moved into the arena, behind what was moved before. */
    template <typename element_>
    element_ *moved(std::vector<element_> const &elements) {
        std::size_t const taken = (elements.size() * sizeof(element_) + 63) / 64 * 64;
        EXPECT_LE(taken, bytes);
        auto *const place = reinterpret_cast<element_ *>(memory);
        std::memcpy(memory, elements.data(), elements.size() * sizeof(element_));
        memory += taken, bytes -= taken;
        return place;
    }
};

template <typename call_>
void expect_own_arena(void (*verb)(call_ *), call_ const &call, char const *field) {
    outcome_t const outcome = answer(verb, call);
    EXPECT_STATUS(outcome, invalid_k);
    EXPECT_STREQ(outcome.message, "arena holds what the call reads");
    EXPECT_STREQ(outcome.detail, field);
    call_ other = call;
    arena_t arena;
    make_arena(arena);
    other.arena = arena;
    EXPECT_SUCCESS(answer(verb, other)); // what landed is still there: a refusal does not rewind
}

TEST(own_arena, encode) {
    landed_arena_t landed;
    tape_t const texts({"one", "two"});
    encoded_t got;
    auto call = landed.encoding.call(got);
    call.texts = texts.view(), call.count = 2;
    call.texts.data = landed.moved(std::vector<char>(texts.data.begin(), texts.data.end()));
    expect_own_arena(uform_text_encode, call, "texts.data");
    call.texts = texts.view(), call.texts.offsets = landed.moved(texts.offsets);
    expect_own_arena(uform_text_encode, call, "texts.offsets");
    // Nothing is read of empty items, wherever `data` points.
    static std::size_t const empty[] = {0, 0, 0};
    call.texts = {landed.memory, empty, uform_scalar_u8_k};
    EXPECT_SUCCESS(answer(uform_text_encode, call));
}

TEST(own_arena, choose) {
    landed_arena_t landed;
    model_t model;
    load_bytes(model, checkpoint_t(0, true, 3).bytes());
    tape_t const texts({"one", "two"}), choices({"ab", "cd"});
    uform_rows_tape_t probabilities {};
    uform_text_choose_t right {};
    right.model = model, right.texts = texts.view(), right.choices = choices.view(), right.count = 2;
    right.probabilities = &probabilities, right.arena = landed.encoding.arena;
    auto call = right;
    call.texts.data = landed.moved(std::vector<char>(texts.data.begin(), texts.data.end()));
    expect_own_arena(uform_text_choose, call, "texts.data");
    call = right, call.texts.offsets = landed.moved(texts.offsets);
    expect_own_arena(uform_text_choose, call, "texts.offsets");
    call = right, call.choices.data = landed.moved(std::vector<char>(choices.data.begin(), choices.data.end()));
    expect_own_arena(uform_text_choose, call, "choices.data");
    call = right, call.choices.offsets = landed.moved(choices.offsets);
    expect_own_arena(uform_text_choose, call, "choices.offsets");
    call = right, call.temperature_groups = landed.moved(std::vector<std::uint32_t> {1, 2});
    expect_own_arena(uform_text_choose, call, "temperature_groups");
}

TEST(own_arena, rerank) {
    landed_arena_t landed;
    std::vector<float> const vectors(64 * 24, 0.5f);
    std::vector<std::size_t> const offsets {1, 2, 4};
    uform_rows_t scores {};
    uform_rerank_t right {};
    right.query = {vectors.data(), 3, 24, 96, uform_scalar_f32_k};
    right.documents = {vectors.data(), 4, 24, 96, uform_scalar_f32_k, offsets.data()};
    right.count = 2, right.scores = &scores, right.arena = landed.encoding.arena;
    auto call = right;
    call.query.data = landed.got.token_vectors.data; // as it landed
    expect_own_arena(uform_rerank, call, "query.data");
    call = right, call.documents = landed.got.token_vectors, call.documents.offsets = offsets.data();
    expect_own_arena(uform_rerank, call, "documents.data");
    call = right, call.documents.offsets = landed.moved(offsets);
    expect_own_arena(uform_rerank, call, "documents.offsets");
    call = right, call.query.data = landed.got.token_vectors.data;
    call.completion = uform_completion_queued_k;
    executor_t executor;
    make_executor(executor);
    call.executor = executor;
    EXPECT_STATUS(answer(uform_rerank, call), invalid_k); // at once: nothing was queued
}

TEST(own_arena, step) {
    landed_arena_t landed;
    trainer_t trainer;
    start(trainer);
    share_t const share;
    uform_rows_t embeddings {};
    auto right = share.call(trainer);
    right.embeddings = &embeddings, right.arena = landed.encoding.arena;
    auto call = right;
    call.contents.data = landed.moved(std::vector<char>(share.texts.data.begin(), share.texts.data.end()));
    expect_own_arena(uform_trainer_step, call, "contents.data");
    call = right, call.contents.offsets = landed.moved(share.texts.offsets);
    expect_own_arena(uform_trainer_step, call, "contents.offsets");
    std::vector<std::uint32_t> const zeros(4, 0);
    call = right, call.bags = landed.moved(zeros);
    expect_own_arena(uform_trainer_step, call, "bags");
    call = right, call.temperature_groups = landed.moved(zeros);
    expect_own_arena(uform_trainer_step, call, "temperature_groups");
    call = right, call.modalities = landed.moved(std::vector<uform_modality_t>(4, uform_modality_text_k));
    expect_own_arena(uform_trainer_step, call, "modalities");
    call = right, call.relations.attract.ids = landed.moved(share.ids);
    expect_own_arena(uform_trainer_step, call, "relations.ids");
    call = right, call.relations.attract.offsets = landed.moved(share.offsets);
    expect_own_arena(uform_trainer_step, call, "relations.offsets");
    call = right, call.relations.attract.weights = landed.moved(share.weights);
    expect_own_arena(uform_trainer_step, call, "relations.weights");
}

} // namespace
} // namespace conformance
