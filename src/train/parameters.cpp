/**
 *  @file parameters.cpp
 *  @brief Layout and binding of what a run learns.
 */
#include <uform/train/parameters.hpp>

#include <uform/encoder/binding.hpp>
#include <uform/utilities/random.hpp>

namespace uform {
namespace {

/** Tensors start on cache lines; a block's gate and up stay adjacent, both being whole lines long. */
std::size_t padded(std::size_t elements) noexcept { return (elements + 31) / 32 * 32; }

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for the trainer is out"); }

} // namespace

failure_t parameters_t::allocate(model_options_t const &options) noexcept {
    options_ = options;
    std::size_t const count = count_tensors(options);
    if (!specs_.resize(count) || !master_offsets_.resize(count) || !gradient_offsets_.resize(count) ||
        !moment_offsets_.resize(count) || !views_.resize(count) || !masters_.blocks.resize(options.geometry.depth))
        return out_of_memory();
    std::size_t narrow = 0, wide = 0, moments = 0;
    elements_ = 0;
    for_each_tensor(options, [&](tensor_spec_t const &spec) {
        specs_[spec.index] = spec;
        std::size_t const size = padded(spec.elements());
        master_offsets_[spec.index] =
            std::exchange(spec.is_f32() ? wide : narrow, (spec.is_f32() ? wide : narrow) + size);
        gradient_offsets_[spec.index] = std::exchange(elements_, elements_ + size);
        moment_offsets_[spec.index] =
            std::exchange(moments, moments + padded(moment_sizes(spec.rows, spec.columns).total()));
    });
    moments_count_ = moments;
    if (!narrow_.resize(narrow) || !wide_.resize(wide)) return out_of_memory();
    for (tensor_spec_t const &spec : specs_) {
        if (spec.is_f32())
            bind_tensor<bf16_t const *, float const *>(masters_, spec, nullptr, this->wide(spec.index));
        else
            bind_tensor<bf16_t const *, float const *>(masters_, spec, this->narrow(spec.index), nullptr);
    }
    return {};
}

failure_t parameters_t::allocate_gradients() noexcept {
    if (slabs_) return {};
    std::size_t const slabs = std::clamp<std::size_t>(slab_floats_k / elements_, 1, slabs_limit_k);
    if (!moments_.resize(moments_count_) || !gradients_.resize(slabs * elements_)) return out_of_memory();
    for (std::size_t slab = 0; slab < slabs; ++slab) {
        if (!towers_[slab].blocks.resize(options_.geometry.depth)) return out_of_memory();
        if (!bind_gradients(slab)) return out_of_memory();
    }
    slabs_ = slabs;
    for (tensor_spec_t const &spec : specs_) views_[spec.index] = view_of(spec);
    return {};
}

failure_t parameters_t::draw(initialization_t const &initialization, executor_t &executor) noexcept {
    constexpr std::size_t rows_a_time = 64;
    for (tensor_spec_t const &spec : specs_) {
        std::size_t const chunks = (spec.rows + rows_a_time - 1) / rows_a_time;
        failure_t const failure = executor.deal(chunks, [&](std::size_t chunk, lane_t &) {
            std::size_t const first = chunk * rows_a_time, count = std::min(rows_a_time, spec.rows - first);
            std::size_t const at = first * spec.columns;
            if (spec.is_f32())
                initialize_rows(spec, initialization, options_, {first, count}, wide(spec.index) + at);
            else
                initialize_rows(spec, initialization, options_, {first, count}, narrow(spec.index) + at);
        });
        if (failure) return failure;
    }
    return {};
}

tensor_view_t parameters_t::view_of(tensor_spec_t const &spec) const noexcept {
    moment_sizes_t const sizes = moment_sizes(spec.rows, spec.columns);
    tensor_view_t view;
    (spec.is_f32() ? (void)(view.master_f32 = wide(spec.index)) : (void)(view.master_bf16 = narrow(spec.index)));
    view.gradient = gradient(spec.index);
    view.row_means = moments_.data() + moment_offsets_[spec.index];
    view.column_means = view.row_means + sizes.row_means;
    view.first_moment = view.column_means + sizes.column_means;
    view.rows = spec.rows, view.columns = spec.columns;
    view.stream = stream_of_name(spec.name());
    view.decay = spec.is_matrix();
    if (spec.role == tensor_role_t::log_inverse_temperature_k) view.maximum = 4.6051702f; // log 100
    return view;
}

bool parameters_t::bind_gradients(std::size_t slab) noexcept {
    tower_tensors_t<float *, float *> d;
    if (!d.blocks.resize(options_.geometry.depth)) return false;
    for (tensor_spec_t const &spec : specs_) {
        float *at = gradients_.data() + slab * elements_ + gradient_offsets_[spec.index];
        bind_tensor<float *, float *>(d, spec, at, at);
    }
    tower_gradients_t<float> &tower = towers_[slab];
    tower.embedding_sum = d.embedding, tower.norm_sum = d.norm;
    std::copy(std::begin(d.media), std::end(d.media), std::begin(tower.media_sum));
    for (std::size_t i = 0; i < d.blocks.size(); ++i) {
        auto const &b = d.blocks[i];
        tower.blocks[i] = {b.attention_norm, b.qkv, b.output, b.mlp_norm, b.gate, b.down}; // up lies behind gate
    }
    tower.pool = {d.pool_query, d.pool_hidden, d.pool_output};
    tower.tokens_projection_sum = d.tokens_projection;
    tower.decoder_weight_sum = d.decoder_weight, tower.decoder_bias_sum = d.decoder_bias;
    return true;
}

bool parameters_t::copy_master(tensor_spec_t const &spec, tensor_t const &tensor) noexcept {
    tensor_layout_t const layout = spec.layout();
    bool same = tensor.dtype == layout.dtype && tensor.rank == layout.rank;
    for (std::size_t axis = 0; same && axis < layout.rank; ++axis) same = tensor.shape[axis] == layout.shape[axis];
    if (!same) return false;
    void *target = spec.is_f32() ? static_cast<void *>(wide(spec.index)) : static_cast<void *>(narrow(spec.index));
    std::memcpy(target, tensor.data.data(), tensor.data.size());
    return true;
}

std::span<std::byte const> parameters_t::master_bytes(std::size_t tensor) const noexcept {
    tensor_spec_t const &spec = specs_[tensor];
    void const *data =
        spec.is_f32() ? static_cast<void const *>(wide(tensor)) : static_cast<void const *>(narrow(tensor));
    return {static_cast<std::byte const *>(data), spec.elements() * bytes_of(spec.dtype)};
}

std::span<float> parameters_t::moments(std::size_t tensor) const noexcept {
    tensor_spec_t const &spec = specs_[tensor];
    return {moments_.data() + moment_offsets_[tensor], moment_sizes(spec.rows, spec.columns).total()};
}

std::size_t parameters_t::find(std::string_view name) const noexcept {
    for (tensor_spec_t const &spec : specs_)
        if (spec.name() == name) return spec.index;
    return absent_k;
}

void parameters_t::clear(std::size_t slab, bool matrices_of_blocks) noexcept {
    float *const gradients = gradients_.data() + slab * elements_;
    for (tensor_spec_t const &spec : specs_)
        if ((spec.is_of_block() && spec.is_matrix()) == matrices_of_blocks)
            std::memset(gradients + gradient_offsets_[spec.index], 0, spec.elements() * sizeof(float));
}

void parameters_t::reduce(std::size_t used, std::size_t first, std::size_t last) noexcept {
    float *sum = gradients_.data();
    for (std::size_t slab = 1; slab < used; ++slab) {
        float const *addend = gradients_.data() + slab * elements_;
        for (std::size_t i = first; i < last; ++i) sum[i] += addend[i];
    }
}

} // namespace uform
