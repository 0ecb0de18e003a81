/**
 *  @file initialize.cpp
 *  @brief The rules of initialization, one tensor role at a time.
 *
 *  Local heads: column 0 of the residual stream starts as the constant 4, so column 0 of q and k acts as a bias before
 *  the rotation. A key turned by its place and a query turned by its place and by `offset` more agree most where they
 *  lie `offset` apart; the fast pairs (j < 8 or 12) make that peak narrow.
 */
#include <uform/encoder/initialize.hpp>

#include <algorithm>

#include <uform/utilities/elementary.hpp>
#include <uform/utilities/random.hpp>

namespace uform {
namespace {

constexpr float stream_constant_k = 4.0f;                    // column 0 of whatever enters
constexpr double log_rotary_base_k = 9.21034037197618273607; // log(10000)

void store(float value, bool f32, float &target) noexcept { target = f32 ? value : widen(round_to_bf16(value)); }
void store(float value, bool, bf16_t &target) noexcept { target = round_to_bf16(value); }

/** Normals of the range times `scale`, the index counted over the whole tensor. */
template <typename element_>
void fill_normal(tensor_spec_t const &spec, std::uint64_t seed, row_range_t rows, double scale,
                 element_ *target) noexcept {
    keyed_t const draws(seed, stream_of_name(spec.name()), 0);
    std::uint64_t const first = std::uint64_t(rows.first) * spec.columns, last = first + rows.count * spec.columns;
    for (std::uint64_t quartet = first / 4; quartet * 4 < last; ++quartet) {
        auto const normals = draws.normals(quartet);
        for (std::uint64_t i = std::max(first, quartet * 4); i < std::min(last, quartet * 4 + 4); ++i)
            store(float(normals[i % 4] * scale), spec.is_f32(), target[i - first]);
    }
}

template <typename element_>
void fill_constant(tensor_spec_t const &spec, row_range_t rows, float value, element_ *target) noexcept {
    for (std::size_t i = 0; i < rows.count * spec.columns; ++i) store(value, spec.is_f32(), target[i]);
}

/** What column 0 of a qkv row starts as, or false where the row is an ordinary one. */
bool local_column(tensor_spec_t const &spec, std::size_t row, std::size_t heads, float &value) noexcept {
    std::size_t const third = row / (heads * head_width_k), head = row / head_width_k % heads;
    int const offset = third < 2 ? local_offset(spec.block, head, heads) : 0;
    std::size_t const pair = row % head_pairs_k, pairs = offset <= -3 || offset >= 3 ? 12 : 8;
    if (offset == 0 || pair >= pairs) return false;
    bool const is_sine = row % head_width_k >= head_pairs_k;
    double const theta = exp_of(-double(pair) / double(head_pairs_k) * log_rotary_base_k);
    double const angle = third == 0 ? double(offset) * theta : 0.0; // keys start unturned
    value = float(is_sine ? sin_of(angle) : cos_of(angle));
    return true;
}

float inverse_temperature(tensor_spec_t const &spec, initialization_t const &options) noexcept {
    if (spec.name().starts_with("choices.")) return options.choice_inverse_temperature;
    return spec.name().starts_with("contrastive.") ? options.contrastive_inverse_temperature
                                                   : options.late_interaction_inverse_temperature;
}

template <typename element_>
void fill(tensor_spec_t const &spec, initialization_t const &options, model_options_t const &model, row_range_t rows,
          element_ *target) noexcept {
    using enum tensor_role_t;
    switch (spec.role) {
    case embedding_k:
        fill_normal(spec, options.seed, rows, 1.0, target);
        for (std::size_t i = 0; i < rows.count; ++i) store(stream_constant_k, false, target[i * spec.columns]);
        return;
    case qkv_k:
        fill_normal(spec, options.seed, rows, 1.0 / sqrt_of(double(spec.fan_in())), target);
        for (std::size_t i = 0; i < rows.count; ++i) {
            float value;
            if (local_column(spec, rows.first + i, model.geometry.heads(), value))
                store(value, false, target[i * spec.columns]);
        }
        return;
    case linear_k:
        return fill_normal(spec, options.seed, rows, 1.0 / sqrt_of(double(spec.fan_in())), target);
    case norm_k:
        return fill_constant(spec, rows, 1.0f, target);
    case entry_bias_k:
        fill_constant(spec, rows, 0.0f, target);
        return store(stream_constant_k, spec.is_f32(), target[0]);
    case pool_query_k:
    case pool_output_k:
    case bias_k:
        return fill_constant(spec, rows, 0.0f, target);
    case inverse_temperature_k:
        return fill_constant(spec, rows, inverse_temperature(spec, options), target);
    case log_inverse_temperature_k:
        return fill_constant(spec, rows, log_of(inverse_temperature(spec, options)), target);
    case pair_bias_k: {
        bool const contrastive = spec.name().starts_with("contrastive.");
        return fill_constant(spec, rows, contrastive ? options.contrastive_bias : options.late_interaction_bias,
                             target);
    }
    }
}

} // namespace

int local_offset(std::size_t block, std::size_t head, std::size_t heads) noexcept {
    static constexpr int near_pair[2][2] = {{-1, 1}, {-2, 2}};
    static constexpr int near_quartet[2][4] = {{-2, -1, 1, 2}, {-4, -3, 3, 4}};
    if (block > 1) return 0;
    if (heads == 2) return near_pair[block][head];
    if (heads > 4 && head >= heads / 2) return 0; // wider models keep half of their heads free
    return near_quartet[block][head % 4];
}

void initialize_rows(tensor_spec_t const &spec, initialization_t const &options, model_options_t const &model,
                     row_range_t rows, bf16_t *target) noexcept {
    fill(spec, options, model, rows, target);
}

void initialize_rows(tensor_spec_t const &spec, initialization_t const &options, model_options_t const &model,
                     row_range_t rows, float *target) noexcept {
    fill(spec, options, model, rows, target);
}

} // namespace uform
