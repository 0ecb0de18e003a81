/**
 *  @file late_interaction.cpp
 *  @brief The instance of the MaxSim losses that trains, compiled once.
 */
#include <uform/train/late_interaction.hpp>

namespace uform {

template class late_interaction_pass_t<kit_table_t>;

} // namespace uform
