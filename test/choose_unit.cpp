/**
 *  @file choose_unit.cpp
 *  @brief Choices through the C ABI: their bits in any batch, and their values against a decoder read in double.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <unistd.h>

#include <uform/encoder/binding.hpp>
#include <uform/encoder/initialize.hpp>

#include "caller_fixture.hpp"
#include "checkpoint_fixture.hpp"
#include "model_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

constexpr std::size_t hidden_k = 128, context_k = 96;
constexpr float scales_k[] = {1.0f, 0.25f, 3.0f};

model_options_t options(bool calibrated = true) {
    model_options_t options;
    options.geometry = {hidden_k, 2, context_k};
    options.decoder = true;
    options.choice_groups = calibrated ? std::size(scales_k) : 0;
    return options;
}

/** A fresh model but for what would hide a mistake: biases that are not zero, temperatures that differ. */
struct drawn_t {
    std::vector<std::vector<float>> values;
    std::vector<std::string> names;
    std::string path;

    explicit drawn_t(model_options_t const &options, std::span<float const> scales = scales_k) {
        static int count = 0;
        path = (std::filesystem::temp_directory_path() /
                ("uform-choose-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".safetensors"))
                   .string();
        initialization_t initialization;
        initialization.seed = 5;
        model_notes_t notes;
        notes.objective = "choices";
        checkpoint_writer_t writer;
        EXPECT_FALSE(begin_model(writer, path, options, notes));
        for_each_tensor(options, [&](tensor_spec_t const &spec) {
            auto &tensor = values.emplace_back(spec.elements());
            names.emplace_back(spec.name());
            initialize_rows(spec, initialization, options, {0, spec.rows}, tensor.data());
            std::uint64_t state = 99;
            if (spec.name() == "decoder.bias")
                for (float &x : tensor) x = widen(round_to_bf16(float(splitmix(state))));
            if (spec.name() == "choices.inverse_temperatures")
                std::copy_n(scales.data(), tensor.size(), tensor.begin());
            std::vector<bf16_t> narrow(spec.is_f32() ? 0 : tensor.size());
            std::transform(tensor.begin(), tensor.begin() + std::ptrdiff_t(narrow.size()), narrow.begin(),
                           round_to_bf16);
            EXPECT_FALSE(
                writer.append(spec.is_f32() ? std::as_bytes(std::span(tensor)) : std::as_bytes(std::span(narrow))));
        });
        EXPECT_FALSE(writer.commit());
    }
    ~drawn_t() { std::filesystem::remove(path); }
    drawn_t(drawn_t const &) = delete;

    std::vector<float> const &of(char const *name) const {
        return values[std::size_t(std::find(names.begin(), names.end(), name) - names.begin())];
    }
    uform_model_t load(uform_cpu_class_t cpu_class = uform_cpu_class_derived_k) const {
        uform_model_t model = nullptr;
        uform_outcome_t const outcome = load_model(path, model, nullptr, cpu_class);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << ": " << outcome.detail;
        return model;
    }
};

struct question_t {
    std::string text, choices;
    std::uint32_t group = 0;
};
/** Short, empty, cut by one byte and by many, without choices, with all bytes for choices. */
std::vector<question_t> questions() {
    std::string all, odd;
    for (int byte = 0; byte < 256; ++byte) all.push_back(char(byte));
    for (int byte = 255; byte > 0; byte -= 7) odd.push_back(char(byte));
    std::vector<question_t> questions {{"Is it so? ", "yn", 0},
                                       {"", "ab", 1},
                                       {"nothing to choose", "", 2},
                                       {std::string(context_k - 1, 'q'), odd, 2},
                                       {std::string(context_k, 'q'), odd, 2},
                                       {std::string("\0\xff\x80", 3), all, 1},
                                       {std::string(3 * context_k, 'z'), "z", 0}};
    for (std::size_t i = 0; i < 40; ++i)
        questions.push_back(
            {std::string(i * 29 % 95, char('A' + i % 26)), i % 2 ? "0123456789" : "nmy", std::uint32_t(i % 3)});
    return questions;
}

using answer_t = std::vector<float>; // of one item

class chooser_t : public caller_t {
  public:
    uform_text_choose_stats_t stats {};

    using caller_t::caller_t;

    std::vector<answer_t> choose(uform_model_t model, std::vector<question_t> const &questions,
                                 uform_completion_t completion = uform_completion_blocking_k) {
        text_tape_t texts({}, "before"), choices({}, "elsewhere"); // first offsets that are not zero
        std::vector<std::uint32_t> groups;
        for (auto const &question : questions) {
            texts.append(question.text), choices.append(question.choices);
            groups.push_back(question.group);
        }
        uform_rows_tape_t rows {};
        uform_text_choose_t call {};
        call.model = model, call.texts = texts.view(), call.choices = choices.view(), call.count = questions.size();
        call.temperature_groups = groups.data(), call.probabilities = &rows, call.stats = &stats;
        bool const succeeded = make(uform_text_choose, call, completion);
        EXPECT_TRUE(succeeded) << outcome.message << ": " << outcome.detail;
        if (!succeeded) return {};
        float const *values = static_cast<float const *>(rows.data);
        std::vector<answer_t> answers;
        for (std::size_t i = 0; i < questions.size(); ++i)
            answers.emplace_back(values + rows.offsets[i], values + rows.offsets[i + 1]);
        return answers;
    }
};

/** The state of a MASK put behind the text, in double whatever the kit; ids are laid out here, not by the engine. */
template <typename kit_>
std::vector<double> mask_state(kit_ const &kit, drawn_t const &drawn, std::string text) {
    using wide_t = typename kit_::wide_t;
    using narrow_t = typename kit_::narrow_t;
    std::vector<std::vector<narrow_t>> matrices;
    std::vector<std::vector<wide_t>> vectors;
    masters_t<wide_t> masters;
    auto const options = ::options();
    require(masters.blocks.resize(options.geometry.depth));
    for_each_tensor(options, [&](tensor_spec_t const &spec) {
        auto &matrix = matrices.emplace_back();
        auto &vector = vectors.emplace_back();
        for (float x : drawn.values[spec.index]) matrix.push_back(narrow<wide_t>(wide_t(x))), vector.push_back(x);
        bind_tensor<narrow_t const *, wide_t const *>(masters, spec, spec.is_f32() ? nullptr : matrix.data(),
                                                      spec.is_f32() ? vector.data() : nullptr);
    });
    packed_tower_t<kit_> tower;
    rotary_table_t<wide_t> rotary;
    require(!tower.lay_out(kit, options.geometry, masters, {}) && rotary.build(context_k));
    tower.pack_everything(kit, masters);

    text.resize(std::min(text.size(), context_k - 1));
    std::vector<std::uint16_t> ids;
    for (unsigned char byte : text) ids.push_back(byte);
    ids.push_back(256);
    std::uint32_t const offsets[] = {0, std::uint32_t(ids.size())};
    lane_t lane;
    text_batch_t<wide_t> batch;
    states_t<wide_t> states;
    batch.ids = ids.data();
    require(claim_rotary(lane, rotary, items_t {offsets}, batch) && states.claim(lane, options.geometry, ids.size()));
    tower_forward(kit, lane, tower.weights, batch, residuals_t<wide_t> {lane.claim<wide_t>(ids.size() * hidden_k), 0},
                  states);
    std::vector<double> state;
    for (std::size_t i = 0; i < hidden_k; ++i)
        state.push_back(double(widen(states.states[(ids.size() - 1) * hidden_k + i])));
    return state;
}

struct reading_t {
    std::vector<double> probabilities, norms; // norms: of the decoder's rows
};
reading_t read_choices(drawn_t const &drawn, std::vector<double> const &state, question_t const &question,
                       double scale) {
    auto const &weight = drawn.of("decoder.weight"), &bias = drawn.of("decoder.bias");
    reading_t reading;
    double sum = 0;
    for (unsigned char choice : question.choices) {
        double logit = bias[choice], norm = 0;
        for (std::size_t i = 0; i < hidden_k; ++i) {
            double const w = weight[choice * hidden_k + i];
            logit += w * state[i], norm += w * w;
        }
        reading.norms.push_back(std::sqrt(norm));
        reading.probabilities.push_back(std::exp(scale * logit));
        sum += reading.probabilities.back();
    }
    for (double &x : reading.probabilities) x /= sum;
    return reading;
}
double norm_of(std::vector<double> const &values) {
    double sum = 0;
    for (double x : values) sum += x * x;
    return std::sqrt(sum);
}

/** Logits off by `logit_error` move a softmax by a factor of e^(2 scale logit_error) at most. */
void expect_near(answer_t const &got, reading_t const &expected, double scale, double logit_error) {
    ASSERT_EQ(got.size(), expected.probabilities.size());
    double const factor = std::expm1(2 * scale * logit_error) + 1e-4; // the exponential's own error, far below
    for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], expected.probabilities[i], expected.probabilities[i] * factor + 0x1p-126) << i;
}

TEST(choose, reads_the_decoder_at_the_mask) {
    drawn_t const drawn(options());
    auto const asked = questions();
    for (auto const cpu_class :
         {uform_cpu_class_t(uform_cpu_class_serial_k), uform_cpu_class_t(uform_cpu_class_derived_k)}) {
        uform_model_t const model = drawn.load(cpu_class);
        auto const answers = chooser_t().choose(model, asked);
        ASSERT_EQ(answers.size(), asked.size());
        for (std::size_t i = 0; i < 12; ++i) {
            SCOPED_TRACE(i);
            double const scale = scales_k[asked[i].group];
            if (cpu_class == uform_cpu_class_serial_k) {
                // The same bits of state, so that only the decoder's float sums differ: 129 roundings of at most 2^-24.
                auto const state = mask_state(serial_table(), drawn, asked[i].text);
                auto const expected = read_choices(drawn, state, asked[i], scale);
                double const longest =
                    expected.norms.empty() ? 0 : *std::max_element(expected.norms.begin(), expected.norms.end());
                expect_near(answers[i], expected, scale, 131 * 0x1p-24 * (longest * norm_of(state) + 1));
            }
            // In double throughout. A block rounds twelve times by 2^-9 of a norm in the mean (tower_unit), the entry
            // and the exit four times; against a decoder row that knows nothing of them, an error of the state's norm
            // counts by one over the root of its width. Four of those are allowed.
            auto const state = mask_state(serial::kit<double> {}, drawn, asked[i].text);
            auto const expected = read_choices(drawn, state, asked[i], scale);
            double const longest =
                expected.norms.empty() ? 0 : *std::max_element(expected.norms.begin(), expected.norms.end());
            double const error = (2 * 12 + 4) * 0x1p-9 * norm_of(state) * longest / std::sqrt(double(hidden_k));
            expect_near(answers[i], expected, scale, 4 * error);
        }
        uform_model_free(model);
    }
}

TEST(choose, has_the_same_bits_however_it_is_asked) {
    drawn_t const drawn(options());
    uform_model_t const model = drawn.load();
    auto const asked = questions();
    auto const reference = chooser_t().choose(model, asked);
    std::vector<question_t> const turned(asked.rbegin(), asked.rend());
    for (std::size_t threads : {1, 2, 3}) {
        chooser_t chooser(threads);
        EXPECT_EQ(chooser.choose(model, asked), reference);
        EXPECT_EQ(chooser.choose(model, asked, uform_completion_queued_k), reference);
        auto backwards = chooser.choose(model, turned);
        std::reverse(backwards.begin(), backwards.end());
        EXPECT_EQ(backwards, reference);
        for (std::size_t i = 0; i < asked.size(); ++i)
            EXPECT_EQ(chooser.choose(model, {asked[i]}), std::vector<answer_t>(1, reference[i])) << i;
    }
    uform_model_free(model);
}

TEST(choose, cuts_texts_and_counts_tokens) {
    drawn_t const drawn(options());
    uform_model_t const model = drawn.load();
    chooser_t chooser;
    auto const full = std::string(context_k - 1, 'x');
    auto const answers =
        chooser.choose(model, {{full, "yn"}, {full + "y", "yn"}, {full + std::string(500, 'n'), "yn"}, {"", ""}});
    EXPECT_EQ(chooser.stats.truncated, 2u);
    EXPECT_EQ(chooser.stats.tokens, 3 * context_k + 1);
    EXPECT_EQ(answers[1], answers[0]) << "what is cut is not read";
    EXPECT_EQ(answers[2], answers[0]);
    EXPECT_EQ(answers[3], answer_t {});
    EXPECT_EQ(chooser.choose(model, {{"no choices anywhere", ""}}), std::vector<answer_t>(1));
    for (auto const &answer : chooser.choose(model, questions())) {
        double sum = 0;
        for (float p : answer) sum += p;
        EXPECT_NEAR(sum, answer.empty() ? 0 : 1, double(answer.size() + 2) * 0x1p-24);
    }
    uform_model_free(model);
}

TEST(choose, refuses_temperatures_that_are_not_positive) {
    for (float bad : {0.0f, -0.0f, -1.0f, -1e-45f}) {
        float const scales[] = {1.0f, bad, 3.0f};
        drawn_t const drawn(options(), scales);
        uform_model_t model = nullptr;
        uform_outcome_t const outcome = load_model(drawn.path, model, nullptr, uform_cpu_class_derived_k);
        EXPECT_EQ(outcome.status, uform_status_malformed_k) << bad;
        EXPECT_STREQ(outcome.message, "choices.inverse_temperatures must be positive");
        EXPECT_EQ(std::string(outcome.detail).substr(0, 9), "element 1");
        EXPECT_EQ(model, nullptr);
    }
    for (float good : {1e-45f, 3e38f}) {
        float const scales[] = {good, good, good};
        uform_model_free(drawn_t(options(), scales).load());
    }
}

TEST(choose, is_uncalibrated_where_no_temperatures_are_stored) {
    drawn_t const calibrated(options()), bare(options(false));
    uform_model_t const models[] = {calibrated.load(), bare.load()};
    std::vector<question_t> asked = questions();
    for (auto &question : asked) question.group = 0; // whose inverse temperature is one
    EXPECT_EQ(chooser_t().choose(models[1], asked), chooser_t().choose(models[0], asked));
    for (uform_model_t model : models) uform_model_free(model);
}

} // namespace
