/**
 *  @file checkpoint_fixture.hpp
 *  @brief A freshly drawn model on disk, removed when the test is through, for tests that go through the C ABI.
 */
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <unistd.h>

#include <uform/encoder/initialize.hpp>
#include <uform/uform.h>

namespace uform::test {

inline uform_bytes_view_t view(std::string const &text) { return {text.data(), text.size()}; }

/** Loads a model from a file, with an outcome that is the caller's to judge; `executor` may be null. */
inline uform_outcome_t load_model(std::string const &path, uform_model_t &model, uform_executor_t executor = nullptr,
                                  uform_cpu_class_t cpu_class = uform_cpu_class_derived_k,
                                  uform_scalar_t quantization = uform_scalar_default_k) {
    uform_outcome_t outcome;
    uform_model_load_ram_t call {};
    call.model = &model, call.executor = executor, call.outcome = &outcome, call.path = view(path);
    call.cpu_class = cpu_class, call.quantization = quantization;
    uform_model_load_ram(&call);
    return outcome;
}

class checkpoint_fixture_t {
    std::string path_;

  public:
    explicit checkpoint_fixture_t(model_options_t const &options, std::uint64_t seed = 1) {
        static int count = 0;
        path_ = (std::filesystem::temp_directory_path() /
                 ("uform-model-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".safetensors"))
                    .string();
        checkpoint_writer_t writer;
        model_notes_t notes;
        notes.objective = "contrastive", notes.seed = seed;
        EXPECT_FALSE(begin_model(writer, path_, options, notes));
        initialization_t initialization;
        initialization.seed = seed;
        for_each_tensor(options, [&](tensor_spec_t const &spec) {
            std::vector<float> wide(spec.is_f32() ? spec.elements() : 0);
            std::vector<bf16_t> narrow(spec.is_f32() ? 0 : spec.elements());
            if (spec.is_f32())
                initialize_rows(spec, initialization, options, {0, spec.rows}, wide.data());
            else
                initialize_rows(spec, initialization, options, {0, spec.rows}, narrow.data());
            EXPECT_FALSE(
                writer.append(spec.is_f32() ? std::as_bytes(std::span(wide)) : std::as_bytes(std::span(narrow))));
        });
        EXPECT_FALSE(writer.commit());
    }
    ~checkpoint_fixture_t() { std::filesystem::remove(path_); }
    std::string const &path() const { return path_; }

    /** Loads it; `executor` may be null. */
    uform_model_t load(uform_executor_t executor = nullptr, uform_cpu_class_t cpu_class = uform_cpu_class_derived_k,
                       uform_scalar_t quantization = uform_scalar_default_k) const {
        uform_model_t model = nullptr;
        uform_outcome_t const outcome = load_model(path_, model, executor, cpu_class, quantization);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message << ": " << outcome.detail;
        return model;
    }
};

} // namespace uform::test
