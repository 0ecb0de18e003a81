/**
 *  @file peers.hpp
 *  @brief Other people's libraries on the same work: programs of bench/peers, spoken to in lines and timed in turn with ours.
 *
 *  A peer prints its name, then answers every line it reads with one line: "ready" or "skip REASON" to a work, whose
 *  inputs lie in a folder and whose answer it leaves there; seconds of one run to "go SECONDS", the least to spend. In
 *  a round the peak is measured once, then ours runs, then each peer: all their shares are of that one peak.
 */
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>

#include "towers.hpp"

namespace bench {

/** A folder of one's own under /tmp, gone with its files at the end. */
class folder_t {
    std::string path_ = "/tmp/uform-bench-XXXXXX";

  public:
    folder_t() {
        if (!::mkdtemp(path_.data())) std::perror("mkdtemp"), std::exit(2);
    }
    ~folder_t() {
        for (char const *name : {"a", "w", "texts", "model", "answer"}) std::remove(file(name).c_str());
        ::rmdir(path_.c_str());
    }
    folder_t(folder_t const &) = delete;
    std::string const &path() const { return path_; }
    std::string file(char const *name) const { return path_ + "/" + name; }
    void write(char const *name, void const *data, std::size_t bytes) const {
        std::FILE *out = std::fopen(file(name).c_str(), "wb");
        if (!out || std::fwrite(data, 1, bytes, out) != bytes || std::fclose(out)) std::perror(name), std::exit(2);
    }
    /** False where the file has another size. */
    bool read(char const *name, void *data, std::size_t bytes) const {
        std::FILE *in = std::fopen(file(name).c_str(), "rb");
        if (!in) return false;
        bool const whole = std::fread(data, 1, bytes, in) == bytes && std::fgetc(in) == EOF;
        std::fclose(in);
        return whole;
    }
};

/** Whoever takes turns with what is measured. */
struct rival_t {
    virtual ~rival_t() = default;
    virtual std::string const &name() const = 0;
    /** Seconds of one run, of as many as take `least_seconds` together. */
    virtual double run(double least_seconds) = 0;
};

/** Other work of our own. */
class ours_t final : public rival_t {
    std::string name_;
    std::function<void()> body_;

  public:
    ours_t(std::string name, std::function<void()> body) : name_(std::move(name)), body_(std::move(body)) {}
    std::string const &name() const override { return name_; }
    double run(double least_seconds) override {
        body_(); // whoever ran before left caches and threads of its own
        std::size_t count = 0;
        double const start = wall_now();
        do body_(), ++count;
        while (wall_now() - start < least_seconds);
        return (wall_now() - start) / double(count);
    }
};

/**
 *  One running peer, stopped while it is not asked: threads of OpenBLAS or ONNX Runtime go on looking for work for tens of
 *  milliseconds, on a core that is then another's. What it prints on standard error is seen; where it ends, it counts as
 *  skipping everything.
 */
class peer_t final : public rival_t {
    std::string name_ = "?";
    pid_t pid_ = -1;
    std::FILE *to_ = nullptr, *from_ = nullptr;

    /** The next line, without its end; empty where the peer is gone. */
    std::string hear() {
        char line[512];
        if (!from_ || !std::fgets(line, sizeof(line), from_)) return {};
        line[std::strcspn(line, "\n")] = 0;
        return line;
    }
    std::string ask(std::string const &line) {
        if (!to_) return {};
        ::kill(pid_, SIGCONT);
        std::fprintf(to_, "%s\n", line.c_str()), std::fflush(to_);
        std::string const answer = hear();
        ::kill(pid_, SIGSTOP);
        return answer;
    }

  public:
    explicit peer_t(std::string const &command) {
        int there[2], back[2];
        if (::pipe2(there, O_CLOEXEC) || ::pipe2(back, O_CLOEXEC)) std::perror("pipe"), std::exit(2);
        std::signal(SIGPIPE, SIG_IGN);
        if (pid_ = ::fork(); pid_ == 0) {
            ::dup2(there[0], 0), ::dup2(back[1], 1);
            ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
            ::_exit(127);
        }
        ::close(there[0]), ::close(back[1]);
        to_ = ::fdopen(there[1], "w"), from_ = ::fdopen(back[0], "r");
        name_ = hear();
        if (name_.empty()) name_ = command, std::printf("SKIPPED %s: it does not start\n", command.c_str());
    }
    ~peer_t() override {
        std::fclose(to_), std::fclose(from_);
        ::kill(pid_, SIGCONT);
        ::waitpid(pid_, nullptr, 0);
    }
    peer_t(peer_t const &) = delete;

    std::string const &name() const override { return name_; }
    /** Whether it can do this work, and has left an answer to compare. */
    bool prepare(std::string const &work) {
        std::string const answer = ask(work);
        if (answer == "ready") return true;
        if (!answer.empty()) std::printf("SKIPPED %s: %s\n", name_.c_str(), answer.c_str());
        return false;
    }
    double run(double least_seconds) override {
        double const seconds = std::atof(ask("go " + std::to_string(least_seconds)).c_str());
        if (seconds <= 0) std::fprintf(stderr, "%s did not run\n", name_.c_str()), std::exit(1);
        return seconds;
    }
};

/** Those asked for with `--peer COMMAND`. */
struct peers_t {
    std::vector<std::unique_ptr<peer_t>> all;

    explicit peers_t(std::vector<std::string> const &commands) {
        for (std::string const &command : commands) all.push_back(std::make_unique<peer_t>(command));
    }
    /** Those that can do the work and whose answer `check` accepts; it ends the program where one is wrong. */
    template <typename check_>
    std::vector<rival_t *> prepare(std::string const &work, check_ const &check) const {
        std::vector<rival_t *> ready;
        for (auto const &peer : all)
            if (peer->prepare(work)) check(*peer), ready.push_back(peer.get());
        return ready;
    }
};

struct compared_t {
    run_t ours;
    shares_t peers; // medians, of the same peaks
};

/** Medians over rounds in which ours and every peer take turns, each for at least `least_seconds`. */
template <typename body_>
compared_t measure_in_turn(class_t const &each, std::size_t threads, double flops, std::size_t rounds,
                           std::vector<rival_t *> const &peers, body_ const &body) {
    constexpr double least_seconds = 0.03;
    constexpr unsigned settle_microseconds = 5000; // our own idle threads watch for work this long at most
    double spent = 0;
    for (int warm = 0; warm < 2 && spent < least_seconds; ++warm) { // of a short run, the second tells its time
        double const start = wall_now();
        body();
        spent = wall_now() - start;
    }
    auto const repeats = std::size_t(std::max(1.0, std::ceil(least_seconds / spent)));
    std::vector<std::vector<double>> shares(peers.size());
    run_t const ours = measure_wall(
        each, threads, flops, rounds, [&] { body(); }, repeats,
        [&](double peak) {
            for (std::size_t i = 0; i < peers.size(); ++i) {
                ::usleep(settle_microseconds);
                shares[i].push_back(flops / peers[i]->run(least_seconds) / peak);
            }
            ::usleep(peers.empty() ? 0 : settle_microseconds);
        });
    compared_t result {ours, {}};
    for (std::size_t i = 0; i < peers.size(); ++i) {
        std::sort(shares[i].begin(), shares[i].end());
        result.peers.emplace_back(peers[i]->name(), shares[i][rounds / 2]);
    }
    return result;
}

} // namespace bench
