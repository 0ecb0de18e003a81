/**
 *  @file reversed_team.hpp
 *  @brief A wide lane whose workers run one after another, the last first: what a pool may do at worst, repeatably.
 */
#pragma once
#include <cstring>
#include <vector>

#include <uform/utilities/lane.hpp>

namespace uform::testing {

/** Fills a lane's scratch with NaNs, so that whoever reads before writing shows it: fresh scratch is zeroed. */
inline void poison(lane_t &lane) {
    scratch_scope_t scope(lane);
    std::size_t const bytes = std::size_t(4) << 20;
    if (auto *memory = lane.claim<std::uint8_t>(bytes)) std::memset(memory, 0xff, bytes);
}

class reversed_team_t {
    std::vector<lane_t> workers_;

    static void run(void *self, team_t::task_t task, void *context) noexcept {
        for (std::size_t worker = static_cast<reversed_team_t *>(self)->workers_.size(); worker-- > 0;)
            task(context, worker);
    }

  public:
    explicit reversed_team_t(std::size_t width) : workers_(width) {
        for (lane_t &worker : workers_) poison(worker);
    }
    reversed_team_t(reversed_team_t const &) = delete;
    team_t team() {
        team_t team;
        team.run = &run, team.self = this, team.workers = workers_.data(), team.count = workers_.size();
        return team;
    }
};

} // namespace uform::testing
