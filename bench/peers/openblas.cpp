/**
 *  @file openblas.cpp
 *  @brief OpenBLAS's product: of BFloat16 where the library has `cblas_sbgemm`, else of float32, and its name says which.
 *
 *  Debian builds OpenBLAS without BFloat16. Its float32 product then moves twice the bytes and can reach half of the
 *  BFloat16 peak at most; it is shown for what a program without BFloat16 gets.
 */
#include <memory>

#include <dlfcn.h>

#include <cblas.h>

#include "peer.hpp"

namespace {

using sbgemm_t = void (*)(int order, int a_transposed, int w_transposed, blasint rows, blasint columns, blasint depth,
                          float alpha, std::uint16_t const *a, blasint a_stride, std::uint16_t const *w,
                          blasint w_stride, float beta, float *y, blasint y_stride);

sbgemm_t find_sbgemm() { return reinterpret_cast<sbgemm_t>(dlsym(RTLD_DEFAULT, "cblas_sbgemm")); }

struct operands_t {
    std::vector<std::uint16_t> narrow_a, narrow_w;
    std::vector<float> a, w, y;
};

std::function<void()> prepare(peer::product_t const &work) {
    auto const rows = blasint(work.rows), depth = blasint(work.depth), columns = blasint(work.columns);
    auto const operands = std::make_shared<operands_t>();
    sbgemm_t const sbgemm = find_sbgemm();
    openblas_set_num_threads(int(work.threads));
    operands->y.resize(work.rows * work.columns);
    for (std::size_t row = 0; row < work.rows; row += 64)
        for (std::uint16_t bits : work.a)
            sbgemm ? operands->narrow_a.push_back(bits) : operands->a.push_back(peer::widen(bits));
    for (std::uint16_t bits : work.w)
        sbgemm ? operands->narrow_w.push_back(bits) : operands->w.push_back(peer::widen(bits));

    std::function<void()> const body = [=] {
        operands_t &of = *operands;
        if (sbgemm)
            sbgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, depth, 1, of.narrow_a.data(), depth,
                   of.narrow_w.data(), depth, 0, of.y.data(), columns);
        else
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, depth, 1, of.a.data(), depth,
                        of.w.data(), depth, 0, of.y.data(), columns);
    };
    body();
    std::vector<std::uint16_t> answer;
    for (std::size_t i = 0; i < 64 * work.columns; ++i) answer.push_back(peer::narrow(operands->y[i]));
    peer::write_answer(work, answer);
    return body;
}

} // namespace

int main() {
    std::fprintf(stderr, "openblas: kernels of %s, %s\n", openblas_get_corename(),
                 find_sbgemm() ? "BFloat16" : "no BFloat16 product: float32 instead");
    return peer::serve(find_sbgemm() ? "openblas_bf16" : "openblas_float32", prepare);
}
