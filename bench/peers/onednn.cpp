/**
 *  @file onednn.cpp
 *  @brief oneDNN's BFloat16 product, its weights in whatever layout it asks for, packed before anything is timed.
 */
#include <memory>

#include <omp.h>

#include <dnnl.hpp>

#include "peer.hpp"

using namespace dnnl;

namespace {

engine const engine_k(engine::kind::cpu, 0);

matmul::primitive_desc describe(memory::desc const &a, memory::desc const &w, memory::desc const &y) {
#if DNNL_VERSION_MAJOR >= 3
    return {engine_k, a, w, y};
#else
    return {matmul::desc(a, w, y), engine_k};
#endif
}

std::function<void()> prepare(peer::product_t const &work) {
    using tag = memory::format_tag;
    auto const bf16 = memory::data_type::bf16;
    auto const rows = memory::dim(work.rows), depth = memory::dim(work.depth), columns = memory::dim(work.columns);
    omp_set_num_threads(int(work.threads));
    memory::desc const a_desc({rows, depth}, bf16, tag::ab), y_desc({rows, columns}, bf16, tag::ab);
    auto const packed = describe(a_desc, {{depth, columns}, bf16, tag::any}, y_desc);

    memory const a(a_desc, engine_k), y(y_desc, engine_k), w(packed.weights_desc(), engine_k);
    memory const given({{depth, columns}, bf16, tag::ba}, engine_k, const_cast<std::uint16_t *>(work.w.data()));
    for (std::size_t row = 0; row < work.rows; row += 64)
        std::memcpy(static_cast<std::uint16_t *>(a.get_data_handle()) + row * work.depth, work.a.data(),
                    2 * work.a.size());
    stream queue(engine_k);
    reorder(given, w).execute(queue, const_cast<memory &>(given), const_cast<memory &>(w));
    queue.wait();

    matmul const product(packed);
    std::unordered_map<int, memory> const arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
    std::function<void()> const body = [=] {
        stream queue_of_run = queue;
        product.execute(queue_of_run, arguments);
        queue_of_run.wait();
    };
    body();
    auto const *answer = static_cast<std::uint16_t const *>(y.get_data_handle());
    peer::write_answer(work, {answer, answer + 64 * work.columns});
    return body;
}

} // namespace

int main() {
    dnnl_version_t const &version = *dnnl_version();
    std::string const name = "onednn_" + std::to_string(version.major) + "." + std::to_string(version.minor);
    return peer::serve(name.c_str(), prepare);
}
