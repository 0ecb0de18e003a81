/**
 *  @file unload.cpp
 *  @brief The shared library as a plug-in host treats it: loaded, used, unloaded, without a thread or a mapping left.
 *
 *  Linked against nothing of UForm. Usage: unload LIBRARY.so CHECKPOINT ROUNDS
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <string>

#include <uform/uform.h>

namespace {

int threads_alive() {
    int count = 0;
    DIR *const tasks = ::opendir("/proc/self/task");
    while (dirent const *const task = tasks ? ::readdir(tasks) : nullptr) count += task->d_name[0] != '.';
    if (tasks) ::closedir(tasks);
    return count;
}

bool is_mapped(char const *name) {
    std::FILE *const maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    while (maps && std::fgets(line, sizeof(line), maps)) found = found || std::strstr(line, name);
    if (maps) std::fclose(maps);
    return found;
}

void require(bool condition, char const *what) {
    if (condition) return;
    std::fprintf(stderr, "unload: %s\n", what);
    std::exit(1);
}

template <typename verb_>
verb_ *find(void *library, char const *name) {
    void *const found = ::dlsym(library, name);
    require(found, name);
    return reinterpret_cast<verb_ *>(found);
}

void encode_once(void *library, std::string const &path) {
    uform_outcome_t outcome {};
    uform_executor_t executor = nullptr;
    uform_model_t model = nullptr;
    uform_arena_t arena = nullptr;
    uform_executor_for_ram_t make {};
    make.executor = &executor, make.outcome = &outcome, make.threads = 3;
    find<decltype(uform_executor_for_ram)>(library, "uform_executor_for_ram")(&make);
    require(threads_alive() > 3, "the executor started no threads");
    uform_model_load_ram_t load {};
    load.model = &model, load.executor = executor, load.outcome = &outcome, load.path = {path.data(), path.size()};
    find<decltype(uform_model_load_ram)>(library, "uform_model_load_ram")(&load);
    require(outcome.status == uform_status_success_k, outcome.message);
    uform_arena_init_t init {};
    init.arena = &arena, init.outcome = &outcome;
    find<decltype(uform_arena_init)>(library, "uform_arena_init")(&init);
    std::size_t const offsets[] = {0, 5};
    uform_rows_t rows {};
    uform_text_encode_t call {};
    call.model = model, call.executor = executor, call.outcome = &outcome, call.completion = uform_completion_queued_k;
    call.texts = {"bytes", offsets, uform_scalar_u8_k}, call.count = 1, call.embeddings = &rows, call.arena = arena;
    find<decltype(uform_text_encode)>(library, "uform_text_encode")(&call);
    uform_status_t const status = find<decltype(uform_outcome_wait)>(library, "uform_outcome_wait")(&outcome);
    require(status == uform_status_success_k, outcome.message);
    find<decltype(uform_arena_free)>(library, "uform_arena_free")(arena);
    find<decltype(uform_model_free)>(library, "uform_model_free")(model);
    find<decltype(uform_executor_free)>(library, "uform_executor_free")(executor);
}

} // namespace

int main(int count, char **arguments) {
    require(count == 4, "usage: unload LIBRARY.so CHECKPOINT ROUNDS");
    int const rounds = std::atoi(arguments[3]);
    for (int round = 0; round < rounds; ++round) {
        void *const library = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        require(library, "the library does not load");
        require(is_mapped("libuform.so"), "the library is not where it should be");
        encode_once(library, arguments[2]);
        require(::dlclose(library) == 0, "the library does not close");
        require(!is_mapped("libuform.so"), "the library is still mapped");
        require(threads_alive() == 1, "a thread was left behind");
    }
    std::printf("unload: %d rounds, no thread and no mapping left\n", rounds);
}
