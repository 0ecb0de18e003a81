/**
 *  @file binding.hpp
 *  @brief Which field of `tower_tensors_t` a tensor of the list is: the one place where names meet pointers.
 */
#pragma once
#include <string_view>

#include <uform/encoder/tensors.hpp>
#include <uform/encoder/weights.hpp>

namespace uform {

/** Points the field of a medium that `name`, "projection.weight" or the like, stands for. */
template <typename matrix_>
bool bind_medium(media_tensors_t<matrix_> &tensors, std::string_view name, matrix_ matrix) noexcept {
    if (name == "projection.weight") return tensors.projection = matrix, true;
    if (name == "projection.bias") return tensors.bias = matrix, true;
    if (name == "mask") return tensors.mask = matrix, true;
    if (name == "reconstruction.weight") return tensors.reconstruction = matrix, true;
    if (name == "reconstruction.bias") return tensors.reconstruction_bias = matrix, true;
    return false;
}

/** Points the field that `spec` names at `matrix`, or at `scale` for a norm; false for a tensor outside the tower. */
template <typename matrix_, typename scale_>
bool bind_tensor(tower_tensors_t<matrix_, scale_> &tensors, tensor_spec_t const &spec, matrix_ matrix,
                 scale_ scale) noexcept {
    using tower = tower_tensors_t<matrix_, scale_>;
    using block = block_tensors_t<matrix_, scale_>;
    struct field_t {
        std::string_view name;
        matrix_ tower::*outside;
        matrix_ block::*inside;
    };
    static constexpr field_t fields[] = {
        {"text.embedding", &tower::embedding, nullptr},
        {"pool.query", &tower::pool_query, nullptr},
        {"pool.hidden", &tower::pool_hidden, nullptr},
        {"pool.output", &tower::pool_output, nullptr},
        {"decoder.weight", &tower::decoder_weight, nullptr},
        {"decoder.bias", &tower::decoder_bias, nullptr},
        {"tokens.projection", &tower::tokens_projection, nullptr},
        {"attention.qkv", nullptr, &block::qkv},
        {"attention.output", nullptr, &block::output},
        {"mlp.gate", nullptr, &block::gate},
        {"mlp.up", nullptr, &block::up},
        {"mlp.down", nullptr, &block::down},
    };
    std::string_view name = spec.name();
    if (name == "norm") return tensors.norm = scale, true;
    bool const inside = spec.is_of_block();
    if (inside) name.remove_prefix(name.find('.', 7) + 1);
    if (inside && name == "attention.norm") return tensors.blocks[spec.block].attention_norm = scale, true;
    if (inside && name == "mlp.norm") return tensors.blocks[spec.block].mlp_norm = scale, true;
    for (std::size_t medium = 0; medium < media_k && !inside; ++medium) {
        std::string_view const media = media_names_k[medium];
        if (name.size() > media.size() && name.starts_with(media) && name[media.size()] == '.')
            return bind_medium(tensors.media[medium], name.substr(media.size() + 1), matrix);
    }
    for (field_t const &field : fields) {
        if (field.name != name || inside != (field.inside != nullptr)) continue;
        if (inside)
            tensors.blocks[spec.block].*field.inside = matrix;
        else
            tensors.*field.outside = matrix;
        return true;
    }
    return false;
}

} // namespace uform
