/**
 *  @file weights.cpp
 *  @brief The names, shapes, scalars and order of a model's tensors.
 */
#include <uform/encoder/weights.hpp>

#include <cstdio>

namespace uform {
namespace {

/** Numbers the tensors and hands them to the visitor. */
class lister_t {
    tensor_visitor_t visitor_;
    void *context_;
    std::size_t index_ = 0;

    void emit(tensor_spec_t &spec) noexcept {
        spec.index = index_++;
        visitor_(context_, spec);
    }

  public:
    static constexpr std::size_t outside_k = SIZE_MAX; // of any block

    lister_t(tensor_visitor_t visitor, void *context) noexcept : visitor_(visitor), context_(context) {}

    void matrix(char const *name, tensor_role_t role, std::size_t rows, std::size_t columns,
                std::size_t block = outside_k) noexcept {
        tensor_spec_t spec;
        spec.rank = 2, spec.rows = rows, spec.columns = columns, spec.role = role;
        place(spec, name, block), emit(spec);
    }
    void vector(char const *name, tensor_role_t role, dtype_t dtype, std::size_t columns,
                std::size_t block = outside_k) noexcept {
        tensor_spec_t spec;
        spec.rank = 1, spec.rows = 1, spec.columns = columns, spec.role = role, spec.dtype = dtype;
        place(spec, name, block), emit(spec);
    }

  private:
    static void place(tensor_spec_t &spec, char const *name, std::size_t block) noexcept {
        if (block == outside_k)
            std::snprintf(spec.name_text, sizeof(spec.name_text), "%s", name);
        else
            std::snprintf(spec.name_text, sizeof(spec.name_text), "blocks.%zu.%s", block, name);
        spec.block = block == outside_k ? 0 : block;
    }
};

void list_block(lister_t &list, geometry_t const &geometry, std::size_t block) noexcept {
    using enum tensor_role_t;
    std::size_t const hidden = geometry.hidden, inner = geometry.inner();
    list.vector("attention.norm", norm_k, dtype_t::f32_k, hidden, block);
    list.matrix("attention.qkv", qkv_k, 3 * hidden, hidden, block);
    list.matrix("attention.output", linear_k, hidden, hidden, block);
    list.vector("mlp.norm", norm_k, dtype_t::f32_k, hidden, block);
    list.matrix("mlp.gate", linear_k, inner, hidden, block);
    list.matrix("mlp.up", linear_k, inner, hidden, block);
    list.matrix("mlp.down", linear_k, hidden, inner, block);
}

/** `<medium>.<name>` */
struct media_name_t {
    char text[tensor_spec_t::name_capacity_k];

    media_name_t(medium_t medium, char const *name) noexcept {
        std::snprintf(text, sizeof(text), "%s.%s", media_names_k[std::size_t(medium)], name);
    }
};

void list_entry(lister_t &list, model_options_t const &options, medium_t medium) noexcept {
    using enum tensor_role_t;
    std::size_t const hidden = options.geometry.hidden;
    auto const name = [&](char const *field) { return media_name_t(medium, field); };
    list.matrix(name("projection.weight").text, linear_k, hidden, options.token_values(medium));
    list.vector(name("projection.bias").text, entry_bias_k, dtype_t::bf16_k, hidden);
    list.vector(name("mask").text, embedding_k, dtype_t::bf16_k, hidden);
}

void list_reconstruction(lister_t &list, model_options_t const &options, medium_t medium) noexcept {
    using enum tensor_role_t;
    std::size_t const values = options.token_values(medium);
    list.matrix(media_name_t(medium, "reconstruction.weight").text, linear_k, values, options.geometry.hidden);
    list.vector(media_name_t(medium, "reconstruction.bias").text, bias_k, dtype_t::bf16_k, values);
}

void list_heads(lister_t &list, model_options_t const &options) noexcept {
    using enum tensor_role_t;
    std::size_t const hidden = options.geometry.hidden;
    list.vector("pool.query", pool_query_k, dtype_t::bf16_k, hidden);
    list.matrix("pool.hidden", linear_k, hidden, hidden);
    list.matrix("pool.output", pool_output_k, hidden, hidden);
    if (options.token_width) list.matrix("tokens.projection", linear_k, options.token_width, hidden);
    if (options.decoder) {
        list.matrix("decoder.weight", linear_k, byte_values_k, hidden);
        list.vector("decoder.bias", bias_k, dtype_t::bf16_k, byte_values_k);
    }
    if (std::size_t const groups = options.choice_groups)
        list.vector("choices.inverse_temperatures", inverse_temperature_k, dtype_t::f32_k, groups);
    if (std::size_t const groups = options.contrastive_groups) {
        list.vector("contrastive.log_inverse_temperature", log_inverse_temperature_k, dtype_t::f32_k, groups);
        list.vector("contrastive.bias", pair_bias_k, dtype_t::f32_k, groups);
    }
    if (std::size_t const groups = options.late_interaction_groups) {
        list.vector("late_interaction.log_inverse_temperature", log_inverse_temperature_k, dtype_t::f32_k, groups);
        list.vector("late_interaction.bias", pair_bias_k, dtype_t::f32_k, groups);
    }
}

} // namespace

tensor_layout_t tensor_spec_t::layout() const noexcept {
    tensor_layout_t layout;
    layout.name = name(), layout.dtype = dtype, layout.rank = rank;
    layout.shape[0] = is_matrix() ? rows : columns;
    if (is_matrix()) layout.shape[1] = columns;
    return layout;
}

void visit_tensors(model_options_t const &options, tensor_visitor_t visitor, void *context) noexcept {
    lister_t list(visitor, context);
    list.matrix("text.embedding", tensor_role_t::embedding_k, vocabulary_k, options.geometry.hidden);
    for (std::size_t medium = 0; medium < media_k; ++medium)
        if (options.enters(medium_t(medium))) list_entry(list, options, medium_t(medium));
    for (std::size_t block = 0; block < options.geometry.depth; ++block) list_block(list, options.geometry, block);
    list.vector("norm", tensor_role_t::norm_k, dtype_t::f32_k, options.geometry.hidden);
    list_heads(list, options);
    for (std::size_t medium = 0; medium < media_k; ++medium)
        if (options.reconstructs[medium]) list_reconstruction(list, options, medium_t(medium));
}

std::size_t count_tensors(model_options_t const &options) noexcept {
    std::size_t count = 0;
    for_each_tensor(options, [&](tensor_spec_t const &) { ++count; });
    return count;
}

std::size_t count_parameters(model_options_t const &options) noexcept {
    std::size_t count = 0;
    for_each_tensor(options, [&](tensor_spec_t const &spec) { count += spec.elements(); });
    return count;
}

} // namespace uform
