/**
 *  @file packed_tower.hpp
 *  @brief A tower's weights in one allocation, in the order its kit reads them.
 *
 *  A served model packs once, straight from the mapped checkpoint; a trainer lays out once and packs every step,
 *  transposes included. Either way the kit alone knows the order inside a matrix.
 */
#pragma once
#include <uform/encoder/tensors.hpp>
#include <uform/encoder/tower.hpp>

namespace uform {

/** What of a tower is laid out, and how. */
struct tower_layout_t {
    std::size_t token_width = 0;
    std::size_t token_values[media_k] = {};            // of one token of each medium
    bool with_transposes = false;                      // for backwards, which bf16 alone can do
    uform_scalar_t block_scalar = uform_scalar_bf16_k; // of the blocks' matrices: bf16 or e4m3
    domains_t domains = {};                            // where the weights should lie
};

template <typename kit_>
class packed_tower_t {
  public:
    using wide_t = typename kit_::wide_t;
    using narrow_t = typename kit_::narrow_t;

    tower_weights_t<wide_t> weights;

    /** Lays the tower out and allocates it, zeroed; nothing is packed yet. Heads without a master stay absent. */
    [[nodiscard]] failure_t lay_out(kit_ const &kit, geometry_t const &geometry, masters_t<wide_t> const &masters,
                                    tower_layout_t const &layout) noexcept {
        weights.geometry = geometry, transposes_ = layout.with_transposes;
        if (!weights.blocks.resize(geometry.depth)) return out_of_memory();
        used_ = 0, memory_.reset();
        place_all(kit, geometry, masters, layout); // measures
        std::size_t const bytes = used_;
        if (!memory_.map(bytes, layout.domains)) return out_of_memory();
        used_ = 0;
        place_all(kit, geometry, masters, layout); // points
        return {};
    }
    bool is_laid_out() const noexcept { return memory_.size() != 0; }
    std::size_t bytes() const noexcept { return memory_.size() + weights.blocks.size() * sizeof(weights.blocks[0]); }

    /** Matrices to pack, so that threads can share them out: 4 a block, and the rest as one. */
    std::size_t units() const noexcept { return weights.geometry.depth * 4 + 1; }

    /** Packs one unit; units touch disjoint memory. */
    void pack_unit(kit_ const &kit, masters_t<wide_t> const &masters, std::size_t unit) noexcept {
        std::size_t const hidden = weights.geometry.hidden, inner = weights.geometry.inner();
        if (unit == weights.geometry.depth * 4) return pack_outside(kit, masters);
        block_weights_t<wide_t> &block = weights.blocks[unit / 4];
        auto const &master = masters.blocks[unit / 4];
        switch (unit % 4) {
        case 0:
            copy(master.attention_norm, block.attention_norm, hidden);
            pack(kit, master.qkv, block.qkv, block.qkv_transposed);
            break;
        case 1:
            copy(master.mlp_norm, block.mlp_norm, hidden);
            pack(kit, master.output, block.output, block.output_transposed);
            break;
        case 2:
            kit.pack(master.gate, 0, inner, block.gate_up);
            kit.pack(master.up, inner, inner, block.gate_up);
            if (transposes_) kit.pack_transposed(master.gate, block.gate_up_transposed); // masters keep up behind gate
            break;
        default:
            pack(kit, master.down, block.down, block.down_transposed);
        }
    }
    void pack_everything(kit_ const &kit, masters_t<wide_t> const &masters) noexcept {
        for (std::size_t unit = 0; unit < units(); ++unit) pack_unit(kit, masters, unit);
    }

  private:
    static failure_t out_of_memory() noexcept {
        return fail(uform_status_out_of_memory_k, "memory for the packed weights is out");
    }
    template <typename element_>
    element_ *place(std::size_t count) noexcept {
        std::size_t const at = used_;
        used_ += (count * sizeof(element_) + 63) / 64 * 64;
        return memory_.data() ? reinterpret_cast<element_ *>(memory_.data() + at) : nullptr;
    }
    packed_t place_packed(kit_ const &kit, std::size_t outputs, std::size_t inputs,
                          uform_scalar_t scalar = uform_scalar_bf16_k) noexcept {
        return {place<std::byte>(kit.pack_bytes(outputs, inputs, scalar)), outputs, inputs, scalar};
    }
    void place_pair(kit_ const &kit, std::size_t outputs, std::size_t inputs, packed_t &w, packed_t &transposed,
                    uform_scalar_t scalar = uform_scalar_bf16_k) noexcept {
        w = place_packed(kit, outputs, inputs, scalar);
        if (transposes_) transposed = place_packed(kit, inputs, outputs);
    }
    void place_all(kit_ const &kit, geometry_t const &geometry, masters_t<wide_t> const &masters,
                   tower_layout_t const &layout) noexcept {
        std::size_t const hidden = geometry.hidden, inner = geometry.inner();
        weights.embedding = place<narrow_t>(vocabulary_k * hidden);
        for (std::size_t medium = 0; medium < media_k; ++medium)
            place_entry(kit, hidden, layout.token_values[medium], masters.media[medium], weights.media[medium]);
        for (auto &block : weights.blocks) {
            block.attention_norm = place<wide_t>(hidden), block.mlp_norm = place<wide_t>(hidden);
            place_pair(kit, 3 * hidden, hidden, block.qkv, block.qkv_transposed, layout.block_scalar);
            place_pair(kit, hidden, hidden, block.output, block.output_transposed, layout.block_scalar);
            place_pair(kit, 2 * inner, hidden, block.gate_up, block.gate_up_transposed, layout.block_scalar);
            place_pair(kit, hidden, inner, block.down, block.down_transposed, layout.block_scalar);
            block.qkv.keeps_left = block.down.keeps_left = true; // docs/DESIGN.md, "Why E4M3 has no scales"
        }
        weights.norm = place<wide_t>(hidden), weights.pool.query = place<wide_t>(hidden);
        place_pair(kit, hidden, hidden, weights.pool.hidden, weights.pool.hidden_transposed);
        place_pair(kit, hidden, hidden, weights.pool.output, weights.pool.output_transposed);
        if (masters.tokens_projection)
            place_pair(kit, layout.token_width, hidden, weights.tokens_projection,
                       weights.tokens_projection_transposed);
        if (!masters.decoder_weight) return;
        place_pair(kit, byte_values_k, hidden, weights.decoder, weights.decoder_transposed);
        weights.decoder_bias = place<narrow_t>(byte_values_k);
    }
    /** What only a backward reads is there where transposes are. */
    void place_entry(kit_ const &kit, std::size_t hidden, std::size_t values,
                     media_tensors_t<narrow_t const *> const &master, media_weights_t<wide_t> &entry) noexcept {
        if (!master.projection) return;
        entry.projection = place_packed(kit, hidden, values);
        entry.bias = place<narrow_t>(hidden), entry.mask = place<narrow_t>(hidden);
        if (!master.reconstruction || !transposes_) return;
        place_pair(kit, values, hidden, entry.reconstruction, entry.reconstruction_transposed);
        entry.reconstruction_bias = place<narrow_t>(values);
    }
    void pack_entry(kit_ const &kit, std::size_t hidden, media_tensors_t<narrow_t const *> const &master,
                    media_weights_t<wide_t> &entry) const noexcept {
        if (!master.projection) return;
        kit.pack(master.projection, 0, hidden, entry.projection);
        copy(master.bias, entry.bias, hidden), copy(master.mask, entry.mask, hidden);
        if (!entry.reconstruction.data) return;
        pack(kit, master.reconstruction, entry.reconstruction, entry.reconstruction_transposed);
        copy(master.reconstruction_bias, entry.reconstruction_bias, entry.reconstruction.outputs);
    }
    void pack(kit_ const &kit, narrow_t const *master, packed_t w, packed_t transposed) const noexcept {
        kit.pack(master, 0, w.outputs, w);
        if (transposes_) kit.pack_transposed(master, transposed);
    }
    void pack_outside(kit_ const &kit, masters_t<wide_t> const &masters) noexcept {
        std::size_t const hidden = weights.geometry.hidden;
        copy(masters.embedding, weights.embedding, vocabulary_k * hidden);
        for (std::size_t medium = 0; medium < media_k; ++medium)
            pack_entry(kit, hidden, masters.media[medium], weights.media[medium]);
        copy(masters.norm, weights.norm, hidden);
        for (std::size_t i = 0; i < hidden; ++i)
            const_cast<wide_t *>(weights.pool.query)[i] = widen(masters.pool_query[i]);
        pack(kit, masters.pool_hidden, weights.pool.hidden, weights.pool.hidden_transposed);
        pack(kit, masters.pool_output, weights.pool.output, weights.pool.output_transposed);
        if (masters.tokens_projection)
            pack(kit, masters.tokens_projection, weights.tokens_projection, weights.tokens_projection_transposed);
        if (!masters.decoder_weight) return;
        pack(kit, masters.decoder_weight, weights.decoder, weights.decoder_transposed);
        copy(masters.decoder_bias, weights.decoder_bias, byte_values_k);
    }
    template <typename element_>
    static void copy(element_ const *from, element_ const *to, std::size_t count) noexcept { // `to` is ours to write
        std::copy(from, from + count, const_cast<element_ *>(to));
    }

    placed_t memory_;
    std::size_t used_ = 0;
    bool transposes_ = false;
};

} // namespace uform
