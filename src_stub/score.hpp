/**
 *  @file score.hpp
 *  @brief Choosing between bytes and late interaction, as checks and works of `run_verb`.
 */
#pragma once
#include <uform/encode.h>

namespace uform_stub {

void check_text_choose(uform_text_choose_t const &call);
/** Weights hashed from the text and the byte, over their sum: what is legal beside a byte scales its answer alone. */
void text_choose(uform_text_choose_t const &call);

void check_rerank(uform_rerank_t const &call);
/** MaxSim as its definition says it, in double. */
void rerank(uform_rerank_t const &call);

} // namespace uform_stub
