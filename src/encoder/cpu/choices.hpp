/**
 *  @file choices.hpp
 *  @brief The softmax over the legal bytes of each item, at the item's own temperature.
 */
#pragma once

void choices_softmax(lane_t &, choices_softmax_t<float> const &io) noexcept {
    for (std::size_t item = 0; item < io.items.count(); ++item) {
        std::size_t const first = io.items.offsets[item], count = io.items.offsets[item + 1] - first;
        if (count == 0) continue;
        float const scale = io.scales[item] * log2_e_k; // `softmax` takes powers of two
        for (std::size_t i = first; i < first + count; ++i)
            io.probabilities[i] = io.logits[item * byte_values_k + io.choices[i]] * scale;
        softmax(count, io.probabilities + first);
    }
}
