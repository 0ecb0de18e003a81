/**
 *  @file reversed_team.hpp
 *  @brief A wide lane whose workers run one after another, the last first: what a pool may do at worst, repeatably.
 */
#pragma once
#include <vector>

#include <uform/utilities/lane.hpp>

namespace uform::testing {

class reversed_team_t {
    std::vector<lane_t> workers_;

    static void run(void *self, team_t::task_t task, void *context) noexcept {
        for (std::size_t worker = static_cast<reversed_team_t *>(self)->workers_.size(); worker-- > 0;)
            task(context, worker);
    }

  public:
    explicit reversed_team_t(std::size_t width) : workers_(width) {}
    reversed_team_t(reversed_team_t const &) = delete;
    team_t team() {
        team_t team;
        team.run = &run, team.self = this, team.workers = workers_.data(), team.count = workers_.size();
        return team;
    }
};

} // namespace uform::testing
