/**
 *  @file uform.h
 *  @brief The whole C ABI of UForm: types, models, encoding, training.
 */
#ifndef UFORM_UFORM_H_
#define UFORM_UFORM_H_

#include <uform/encode.h>
#include <uform/model.h>
#include <uform/train.h>
#include <uform/types.h>

#endif
