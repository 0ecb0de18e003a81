/**
 *  @file refusals_unit.cpp
 *  @brief What the tools make of an engine that runs out of memory and of a file system without locks: stand-ins for both,
 *  which the linker puts where the tools call `uform_image_encode` and `flock`.
 */
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/file.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/media_encoder.hpp"
#include "support/output_lock.hpp"

using namespace uform::tools;

namespace {

std::function<uform_outcome_t(file_batch_t const &)> encode_files; // the verb
int lock_refusal = 0;                                              // what `flock` fails with, if not zero

} // namespace

extern "C" {

int __real_flock(int descriptor, int operation);
int __wrap_flock(int descriptor, int operation);
void __wrap_uform_image_encode(uform_image_encode_t *arguments);

int __wrap_flock(int descriptor, int operation) {
    if (!lock_refusal) return __real_flock(descriptor, operation);
    errno = lock_refusal;
    return -1;
}

void __wrap_uform_image_encode(uform_image_encode_t *arguments) {
    file_batch_t files;
    char const *const bytes = static_cast<char const *>(arguments->files.data);
    for (std::size_t i = 0; i < arguments->count; ++i)
        files.add(std::string_view(bytes + arguments->files.offsets[i],
                                   arguments->files.offsets[i + 1] - arguments->files.offsets[i]));
    *arguments->outcome = encode_files(files);
}
}

namespace {

uform_outcome_t ended(uform_status_t status, char const *message = "", std::size_t item = SIZE_MAX) {
    return {status, message, item, {}};
}

/** Encodes "a", "bad" and "c" where together memory runs out at "bad", which alone ends as told; what is refused as
 *  `index: reason`, or the message of a failure. */
std::string with_bad_alone(std::function<uform_outcome_t()> const &alone) {
    encode_files = [&](file_batch_t const &files) {
        if (files.count() == 1 && files[0] == "bad") return alone();
        for (std::size_t i = 0; i < files.count(); ++i)
            if (files[i] == "bad") return ended(uform_status_out_of_memory_k, "memory is out", i);
        return ended(uform_status_success_k);
    };
    executor_t const executor = make_executor(1, uform_cpu_class_derived_k);
    model_t const model;
    media_encoder_t encoder("m.safetensors", model, executor, uform_modality_image_k);
    file_batch_t batch;
    for (std::string_view const file : {"a", "bad", "c"}) batch.add(file);
    std::vector<refused_t> refused;
    std::string told;
    try {
        encoder.encode(batch, surface_t::embeddings_k, 0, uform_scalar_f32_k, refused);
    } catch (tool_error_t const &error) {
        return error.what();
    }
    for (refused_t const &each : refused) told += fmt::format("{}: {}", each.index, each.reason);
    return told;
}

class lock_folder_t {
  public:
    lock_folder_t()
        : folder_(std::filesystem::temp_directory_path() / fmt::format("uform_refusals_unit.{}", ::getpid())) {
        std::filesystem::create_directory(folder_);
    }
    ~lock_folder_t() { std::filesystem::remove_all(folder_); }
    std::string output() const { return (folder_ / "out").string(); }
    std::string lock() const { return output() + ".lock"; }
    bool has_lock() const { return std::filesystem::exists(std::filesystem::symlink_status(lock())); }

  private:
    std::filesystem::path folder_;
};

} // namespace

TEST(MediaEncoder, AFileThatMemoryRanOutForIsToldByItself) {
    auto const too_large = [] { return ended(uform_status_out_of_memory_k, "no memory for a picture", 0); };
    auto const malformed = [] { return ended(uform_status_malformed_k, "the file is cut short", 0); };
    auto const too_deep = [] { return ended(uform_status_out_of_memory_k, "scratch memory is out"); };
    EXPECT_EQ(with_bad_alone(too_large), "1: no memory for a picture");
    EXPECT_EQ(with_bad_alone(too_deep), "1: scratch memory is out");
    EXPECT_EQ(with_bad_alone(malformed), "1: the file is cut short");
}

TEST(MediaEncoder, WhatNoFileIsToBlameForEndsTheTool) {
    auto const fine = [] { return ended(uform_status_success_k); };
    auto const broken = [] { return ended(uform_status_internal_k, "a lane died"); };
    EXPECT_EQ(with_bad_alone(fine),
              "m.safetensors: out-of-memory, memory is out, item 1; use a smaller batch or model");
    EXPECT_EQ(with_bad_alone(broken), "m.safetensors: internal, a lane died; this is a bug, please report it");
}

TEST(MediaEncoder, ASignalWhileAFileIsTriedAloneIsOne) {
    auto const interrupted = [] {
        std::raise(SIGINT);
        return ended(uform_status_cancelled_k, "cancelled", 0);
    };
    auto const tool = [&] {
        install_interrupt_handlers();
        std::exit(
            guarded("tool", [&] { return with_bad_alone(interrupted).empty() ? exit_success_k : exit_failure_k; }));
    };
    EXPECT_EXIT(tool(), testing::ExitedWithCode(exit_interrupted_k), "^$");
}

TEST(OutputLock, GoesWithTheRunThatHeldIt) {
    lock_folder_t const folder;
    {
        output_lock_t const held(folder.output());
        EXPECT_TRUE(folder.has_lock());
        EXPECT_THROW(output_lock_t second(folder.output()), tool_error_t);
        EXPECT_TRUE(folder.has_lock());
    }
    EXPECT_FALSE(folder.has_lock());
}

TEST(OutputLock, LeavesWhatIsNoLockOfARun) {
    lock_folder_t const folder;
    std::ofstream(folder.lock()) << "notes";
    { output_lock_t const held(folder.output()); }
    EXPECT_EQ(std::filesystem::file_size(folder.lock()), 5u);
    {
        std::filesystem::remove(folder.lock());
        output_lock_t const held(folder.output());
        std::filesystem::remove(folder.lock());
        std::ofstream(folder.lock()) << ""; // another run's, since somebody removed the first
    }
    EXPECT_TRUE(folder.has_lock());
}

TEST(OutputLock, RemovesNothingWithoutHoldingIt) {
    lock_folder_t const folder;
    for (int const refusal : {ENOLCK, EOPNOTSUPP}) {
        lock_refusal = refusal;
        { output_lock_t const none(folder.output()); }
        lock_refusal = 0;
        EXPECT_TRUE(folder.has_lock());
    }
}
