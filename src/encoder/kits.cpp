/**
 *  @file kits.cpp
 *  @brief Which CPU classes this build has kernels for.
 */
#include <uform/encoder/kit.hpp>
#include <uform/encoder/serial.hpp>

namespace uform {

kit_table_t const *kit_of(uform_cpu_class_t class_) noexcept {
    switch (class_) {
    case uform_cpu_class_serial_k:
        return &serial_table();
    default:
        return nullptr;
    }
}

} // namespace uform
