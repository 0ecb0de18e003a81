# What the compiler must be told about single class units. Their instructions are chosen within them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Scheduled before registers are allocated, GCC 12's tiles of 20 accumulators spill three of them in every step.
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/../src/encoder/neon.cpp PROPERTIES COMPILE_OPTIONS -fno-schedule-insns)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/../src/encoder/sve.cpp PROPERTIES COMPILE_OPTIONS -msve-vector-bits=256)
endif()
