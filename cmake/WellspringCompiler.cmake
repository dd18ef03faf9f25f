# Compiler settings shared by every target, in the interface target `wellspring_flags`.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # The sloppiness lets ccache keep objects made with precompiled headers; the folder settings let clones share objects.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# wellspring_precompile(target <header> ...): parses these third-party headers, and those that nearly every file needs,
# once for all C++ files of a target. This saves a third to a half of a file's compile time. Our own headers are not
# precompiled, so that a file that lacks an include does not compile.
set(wellspring_common_headers <fmt/format.h> <algorithm> <filesystem> <functional> <map> <memory>
    <optional> <span> <string> <variant> <vector>)
function(wellspring_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")  # for ccache
  endif()
  set(headers ${wellspring_common_headers} ${ARGN})
  list(TRANSFORM headers REPLACE "^(.+)$" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# CUDA: one architecture unless CMAKE_CUDA_ARCHITECTURES or CUDAARCHS names others.
set(WELLSPRING_HAS_CUDA OFF)
set(WELLSPRING_HAS_CUDA_TOOLKIT OFF)
if(WELLSPRING_CUDA_STAND_IN)
  # Text that --version and doctor print. It is not a number, so the device's capability is not compared.
  set(CMAKE_CUDA_ARCHITECTURES "stand-in for a GPU")
  set(WELLSPRING_HAS_CUDA ON)
elseif(NOT WELLSPRING_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    # Each architecture adds compile time, so the default is only the architecture of this machine's GPU, or Hopper
    # without a GPU. The preset `distribution` has all of them.
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader --id=0
                    OUTPUT_VARIABLE capability ERROR_QUIET)
    if(capability MATCHES "^([0-9]+)\\.([0-9])")
      set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2}-real)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 90-real)
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc takes C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    set(CMAKE_CUDA_SEPARABLE_COMPILATION OFF)
    set(WELLSPRING_HAS_CUDA ON)
    set(WELLSPRING_HAS_CUDA_TOOLKIT ON)
  elseif(WELLSPRING_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WELLSPRING_CUDA=ON but no CUDA compiler was found (put nvcc on PATH, set "
                        "CUDACXX, or configure with the preset 'cpu').")
  endif()
endif()
message(STATUS "Wellspring: CUDA ${WELLSPRING_HAS_CUDA} ${CMAKE_CUDA_ARCHITECTURES}")

add_library(wellspring_flags INTERFACE)
target_compile_features(wellspring_flags INTERFACE cxx_std_20)
# The program's library path also applies to the libraries that its libraries load, so a bundle needs no tool that
# edits them.
target_link_options(wellspring_flags INTERFACE LINKER:--disable-new-dtags)

# Contraction is off on both sides, so + - * / sqrt and explicit fma are rounded in the same way on host and device.
set(host_flags -ffp-contract=off -fno-math-errno -fno-trapping-math)
set(device_flags -fmad=false --expt-relaxed-constexpr -Werror=cross-execution-space-call)
set(host_warnings -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND WELLSPRING_MARCH)
  list(APPEND host_flags -march=${WELLSPRING_MARCH})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms in std::string's operator+ and assignment (GCC bugs 105329, 105651). Newer compilers keep these
  # warnings.
  list(APPEND host_warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
       -Wno-stringop-overread)
endif()
if(WELLSPRING_UNITY)
  # A local name may be the same as one in another file of the folder. Builds of single files keep this warning.
  list(APPEND host_warnings -Wno-shadow)
endif()
if(WELLSPRING_WERROR)
  list(APPEND host_warnings -Werror)
endif()
if(WELLSPRING_SANITIZE)
  # Sanitizers' own code makes GCC warn inside the standard library. Builds without sanitizers keep these warnings.
  list(APPEND host_flags -fsanitize=${WELLSPRING_SANITIZE} -fno-omit-frame-pointer
       -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  if(WELLSPRING_SANITIZE MATCHES "undefined")
    # AddressSanitizer already reports accesses through null and beyond an object. Casts of reals out of an integer's
    # range have no defined result, and differ between hosts and devices.
    list(APPEND host_flags -fsanitize=float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow
         -fno-sanitize=null,object-size)
  endif()
  target_link_options(wellspring_flags INTERFACE -fsanitize=${WELLSPRING_SANITIZE})
  target_compile_definitions(wellspring_flags INTERFACE WELLSPRING_SANITIZED=1)
endif()
if(WELLSPRING_SANITIZE OR WELLSPRING_CUDA_STAND_IN)
  # With sanitizers, -O1 takes nearly three times as long to compile as -Og.
  list(APPEND host_flags -Og -g1)
endif()
# A project that links the installed library needs the flags that affect results, but not our warnings.
target_compile_options(wellspring_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${host_flags}>"
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${host_warnings}>>")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-O3>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects garbage only from 512 MiB on. By default it begins at 128 MiB or less, which costs up to a tenth of the
  # time of a large file. The compiler's peak memory rises from 0.7 to 1 GB.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>")
endif()

if(WELLSPRING_CUDA_STAND_IN)
  target_compile_definitions(wellspring_flags INTERFACE WELLSPRING_CUDA=1 WELLSPRING_CUDA_STAND_IN=1)
elseif(WELLSPRING_HAS_CUDA)
  set(cuda_flags ${device_flags} -Xcompiler=-Wall,-ffp-contract=off,-fno-math-errno,-fno-trapping-math,-fopenmp -lineinfo
      --threads=2)  # compiles the architectures of a file in parallel
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND WELLSPRING_MARCH)
    list(APPEND cuda_flags -Xcompiler=-march=${WELLSPRING_MARCH})
  endif()
  if(WELLSPRING_WERROR)
    list(APPEND cuda_flags -Werror=all-warnings)
  endif()
  if(WELLSPRING_KERNEL_REPORT)
    list(APPEND cuda_flags -Xptxas=-v)
  endif()
  target_compile_options(wellspring_flags INTERFACE
    "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>>")
  target_compile_definitions(wellspring_flags INTERFACE WELLSPRING_CUDA=1)
endif()
