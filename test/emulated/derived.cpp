/**
 *  @file derived.cpp
 *  @brief What detection makes of the processor it runs on: the class derived, and each Arm class as a pin.
 *
 *  The emulator is told which processor to be; test/emulated/CMakeLists.txt knows what must be printed for each.
 */
#include <cstdio>

#include <uform/encoder/kit.hpp>
#include <uform/utilities/classes.hpp>
#include <uform/utilities/names.hpp>

int main() {
    using namespace uform;
    std::printf("derived %s", name_of_cpu_class(derive_class(has_kernels)));
    for (uform_cpu_class_t const pin :
         {uform_cpu_class_neon_k, uform_cpu_class_aws_graviton2_k, uform_cpu_class_aws_graviton3_k}) {
        uform_cpu_class_t resolved = uform_cpu_class_unknown_k;
        failure_t const failure = resolve_class(pin, has_kernels, resolved);
        if (!failure)
            std::printf("; %s runs", name_of_cpu_class(resolved));
        else
            std::printf("; %s: %s", failure.message, failure.detail);
    }
    std::printf("\n");
    return 0;
}
