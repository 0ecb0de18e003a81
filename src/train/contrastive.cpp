/**
 *  @file contrastive.cpp
 *  @brief The float32 instance of the pair losses, compiled once.
 */
#include <uform/train/contrastive.hpp>

namespace uform {

template class contrastive_pass_t<float>;

} // namespace uform
