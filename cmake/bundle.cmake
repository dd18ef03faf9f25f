# Fills the bundle folder; run by the target `bundle` (see WellspringInstall.cmake) as a script.
# In: BUILD_DIR, BUNDLE_DIR, LIBRARY_DIR, CUDA_LIBRARY_DIRS, WITH_CUDA_LIBS, WITH_TESTS, GENERATORS, GENERATOR_ARCHS.
cmake_minimum_required(VERSION 3.25)

function(install_component)
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${BUNDLE_DIR}"
                          --strip ${ARGN}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${BUNDLE_DIR}")
install_component()
if(WITH_TESTS)
  install_component(--component tests)
  # Only the programs with tests that need a device.
  set(test_dir "${BUNDLE_DIR}/libexec/wellspring")
  file(STRINGS "${test_dir}/device-tests.txt" tests)
  list(TRANSFORM tests REPLACE " .*" "" OUTPUT_VARIABLE folders)
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    if(NOT EXISTS "${test_dir}/test_${folder}")
      message(FATAL_ERROR "bundle: test_${folder} has tests that need a device and was not installed")
    endif()
  endforeach()
  file(GLOB programs RELATIVE "${test_dir}" "${test_dir}/*")
  list(REMOVE_ITEM programs device-tests.txt)
  foreach(program ${programs})
    string(REGEX REPLACE "^test_" "" folder "${program}")
    if(NOT folder IN_LIST folders)
      file(REMOVE "${test_dir}/${program}")
    endif()
  endforeach()
  install_component(--component tools)
endif()

# The libraries that the programs are linked with, except the C library and the driver: both belong to the target machine.
file(GLOB programs "${BUNDLE_DIR}/bin/wellspring" "${BUNDLE_DIR}/libexec/wellspring/test_*"
                   "${BUNDLE_DIR}/libexec/wellspring/tools/*")
file(GLOB modules "${BUNDLE_DIR}/libexec/wellspring/tools/*.so")
list(REMOVE_ITEM programs ${modules})
set(not_ours "/ld-linux.*" "/libc\\.so.*" "/libm\\.so.*" "/libmvec\\.so.*" "/libdl\\.so.*"
    "/librt\\.so.*" "/libpthread\\.so.*" "/libresolv\\.so.*" "/libcuda\\.so.*")
if(NOT WITH_CUDA_LIBS)
  list(APPEND not_ours "/libcudnn.*" "/libcurand.*")
endif()
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${programs}
  MODULES ${modules}
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  POST_EXCLUDE_REGEXES ${not_ours})
if(missing)
  message(FATAL_ERROR "bundle: cannot find ${missing}")
endif()

# Libraries that are opened by name at run time: cuDNN's engines, the compiler that some of them use, and cuBLASLt.
if(WITH_CUDA_LIBS)
  foreach(dir ${CUDA_LIBRARY_DIRS})
    foreach(pattern "libcudnn*.so.[0-9]" "libcublasLt.so.[0-9]*" "libnvrtc.so.[0-9]*"
                    "libnvrtc-builtins.so.[0-9]*")
      file(GLOB found "${dir}/${pattern}")
      list(APPEND libraries ${found})
    endforeach()
  endforeach()
endif()

file(MAKE_DIRECTORY "${BUNDLE_DIR}/${LIBRARY_DIR}")
list(REMOVE_DUPLICATES libraries)
foreach(library ${libraries})
  get_filename_component(name "${library}" NAME)
  file(COPY_FILE "${library}" "${BUNDLE_DIR}/${LIBRARY_DIR}/${name}" ONLY_IF_DIFFERENT)
endforeach()

# Generators in headers, compiled for machines without a compiler (docs/own-generator.md).
foreach(header ${GENERATORS})
  foreach(arch none ${GENERATOR_ARCHS})
    set(for "")
    if(NOT arch STREQUAL "none")
      set(for --arch "sm_${arch}")
    endif()
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env "WELLSPRING_CACHE=${BUNDLE_DIR}-cache"
                            "${BUNDLE_DIR}/bin/wellspring" compile "${header}" ${for}
                            --into "${BUNDLE_DIR}/share/wellspring/generators"
                    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
file(REMOVE_RECURSE "${BUNDLE_DIR}-cache")

set(bytes 0)
file(GLOB_RECURSE files "${BUNDLE_DIR}/*")
foreach(file ${files})
  file(SIZE "${file}" size)
  math(EXPR bytes "${bytes} + ${size}")
endforeach()
math(EXPR mebibytes "(${bytes} + 524288) / 1048576")
message("bundle: ${BUNDLE_DIR}, ${mebibytes} MiB")
