# WELLSPRING_CUDA_STAND_IN: the CUDA back end, compiled by the host compiler against the runtime in
# tests/cuda_stand_in, so that its host side runs in tests on machines without a toolkit or a GPU.
# Included last, when every target has its sources.
set(stand_in_dir "${CMAKE_SOURCE_DIR}/tests/cuda_stand_in")

# First in the include path: its kernels/runtime/launch.cuh replaces the library's.
target_include_directories(libwellspring BEFORE PUBLIC "${stand_in_dir}/include")
target_sources(libwellspring PRIVATE
  "${stand_in_dir}/graphs.cpp"
  "${stand_in_dir}/launch.cpp"
  "${stand_in_dir}/memory.cpp"
  "${stand_in_dir}/operations.cpp"
  "${stand_in_dir}/runtime.cpp"
  "${stand_in_dir}/streams.cpp")

set_source_files_properties("${stand_in_dir}/graphs.cpp" TARGET_DIRECTORY libwellspring PROPERTIES COMPILE_DEFINITIONS
                            WELLSPRING_KERNEL_REPORT="${CMAKE_SOURCE_DIR}/bench/results/kernels.md")

# The interpreter of listings is slow without optimisation.
set(machine accesses integers kernels listing machine memory_and_control pipes reals traffic)
list(TRANSFORM machine REPLACE "(.+)" "${stand_in_dir}/sass/\\1.cpp")
target_sources(libwellspring PRIVATE ${machine})
set_source_files_properties(${machine} TARGET_DIRECTORY libwellspring PROPERTIES
                            COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)

# Counts instructions per sample, for scripts/issue-slots.
add_executable(issue_slots EXCLUDE_FROM_ALL "${stand_in_dir}/issue_slots.cpp")
target_link_libraries(issue_slots PRIVATE libwellspring)

# .cu files contain only instantiations, which any C++ compiler can compile.
function(wellspring_compile_cuda_as_cxx target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cu$")
  list(TRANSFORM sources PREPEND "${folder}/" REGEX "^[^/]")  # sources of subfolders are absolute
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CXX)
endfunction()
wellspring_compile_cuda_as_cxx(libwellspring)
if(WELLSPRING_TRAINING)
  wellspring_compile_cuda_as_cxx(wellspring_bench)
endif()
if(WELLSPRING_TESTS)
  wellspring_compile_cuda_as_cxx(test_generators)
  wellspring_compile_cuda_as_cxx(test_kernels)
  wellspring_compile_cuda_as_cxx(test_sources)
endif()

# A stand-in for NCCL. The program provides the function that enqueues its sums.
if(WELLSPRING_TRAINING)
  add_library(stand_in_nccl SHARED "${stand_in_dir}/nccl.cpp")
  set_target_properties(stand_in_nccl PROPERTIES OUTPUT_NAME nccl SOVERSION 2 VERSION 2)
  target_link_libraries(stand_in_nccl PRIVATE wellspring_flags)
  set_target_properties(wellspring PROPERTIES ENABLE_EXPORTS ON)
  if(WELLSPRING_TESTS)
    add_test(NAME stand_in.ranks COMMAND python3 "${stand_in_dir}/ranks_test.py" $<TARGET_FILE:wellspring>
                                         $<TARGET_FILE_DIR:stand_in_nccl>)
    set_tests_properties(stand_in.ranks PROPERTIES TIMEOUT 600)
  endif()
endif()

# Such a program must not be mistaken for one that uses a GPU.
install(CODE "message(FATAL_ERROR \"This build plays a GPU (WELLSPRING_CUDA_STAND_IN): it is for tests and is not installed.\")")
