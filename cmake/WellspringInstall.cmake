# Rules of `cmake --install`, for this machine and similar ones, and the target `bundle`: a folder that runs elsewhere,
# with every shared library except the C library and the GPU driver.
include(GNUInstallDirs)

option(WELLSPRING_BUNDLE_CUDA_LIBS
       "Put cuDNN, cuBLASLt and NVRTC (1.1 GB) into the bundle; OFF: the target machine has them" ON)
set(WELLSPRING_BUNDLE_GENERATORS "" CACHE STRING "Headers (a.h;b.h) whose compiled generators are put into the bundle")
option(WELLSPRING_BUNDLE_TESTS "Put the tests of devices into the bundle, for gpu-check" ON)

# Libraries are searched next to the program, then at their paths on the build machine. The build tree uses the same path:
# CMake would pad a path of its own with empty entries, and each of them means the current folder.
function(set_library_path from_program)
  set_target_properties(${ARGN} PROPERTIES
    INSTALL_RPATH "$ORIGIN/${from_program}/${CMAKE_INSTALL_LIBDIR};${WELLSPRING_CUDA_LIBRARY_DIRS}"
    INSTALL_RPATH_USE_LINK_PATH ON
    BUILD_WITH_INSTALL_RPATH ON)
endfunction()
set_library_path(.. wellspring)
install(TARGETS wellspring RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(PROGRAMS scripts/gpu-check scripts/wellspring-env DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY scripts/gpu_check DESTINATION ${CMAKE_INSTALL_BINDIR} FILES_MATCHING PATTERN "*.py")
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/wellspring/configs)
# Scripts that fetch data and convert weights for these configurations.
install(PROGRAMS scripts/fetch-cifar10 scripts/torch-weights
        DESTINATION ${CMAKE_INSTALL_DATADIR}/wellspring/scripts)
install(FILES README.md LICENSE CHANGELOG.md CITATION.cff
        DESTINATION ${CMAKE_INSTALL_DATADIR}/wellspring)
# The program writes its manual page and its completion from its own options.
foreach(page IN ITEMS "--man ${CMAKE_INSTALL_MANDIR}/man1/wellspring.1"
                      "--completion ${CMAKE_INSTALL_DATADIR}/bash-completion/completions/wellspring")
  separate_arguments(page)
  list(GET page 0 option)
  list(GET page 1 file)
  cmake_path(GET file PARENT_PATH folder)
  install(CODE "set(page \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file}\")
    message(STATUS \"Installing: \${page}\")
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:wellspring>\" help ${option}
                    OUTPUT_FILE \"\${page}\" COMMAND_ERROR_IS_FATAL ANY)")
endforeach()

# The library: `find_package(Wellspring)` finds it and defines Wellspring::libwellspring. Its headers are included by
# their path in the source tree.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Wellspring)
install(TARGETS libwellspring wellspring_flags wellspring_dependencies EXPORT WellspringTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library EXCLUDE_FROM_ALL)
install(EXPORT WellspringTargets NAMESPACE Wellspring:: DESTINATION ${package_dir}
        COMPONENT library EXCLUDE_FROM_ALL)
foreach(folder core kernels generators export sources train measure)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wellspring COMPONENT library
          EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
endforeach()
install(FILES "${CMAKE_BINARY_DIR}/core/version.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wellspring/core
        COMPONENT library EXCLUDE_FROM_ALL)
# Generators of the user (generators/own) are compiled with the program's headers.
foreach(folder core kernels generators)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wellspring
          FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
endforeach()
install(FILES "${CMAKE_BINARY_DIR}/core/version.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/wellspring/core)
configure_file(cmake/WellspringConfig.cmake.in "${CMAKE_BINARY_DIR}/WellspringConfig.cmake" @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/WellspringConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/WellspringConfig.cmake" "${CMAKE_BINARY_DIR}/WellspringConfigVersion.cmake"
              cmake/FindcuDNN.cmake
        DESTINATION ${package_dir} COMPONENT library EXCLUDE_FROM_ALL)

# The same for pkg-config: wellspring.pc, with the flags of wellspring_flags and the libraries of wellspring_dependencies.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${pc_dir}" OUTPUT_VARIABLE pc_up)
set(pc_requires fmt yaml-cpp zlib libpng libturbojpeg libwebp)
set(pc_flags ${host_flags} ${OpenMP_CXX_FLAGS})
get_target_property(pc_libraries DNNL::dnnl LOCATION)
if(WELLSPRING_HDF5)
  list(APPEND pc_requires liblz4 libzstd)
  if(HDF5_ARCHIVE_LINKS)
    list(APPEND pc_libraries "${HDF5_ARCHIVE}" -lsz -lm)
  else()
    list(APPEND pc_libraries ${hdf5_LINK_LIBRARIES})
  endif()
endif()
if(WELLSPRING_OPENSSL)
  list(APPEND pc_requires libcrypto)
endif()
if(WELLSPRING_HAS_CUDA_TOOLKIT)
  list(APPEND pc_flags -DWELLSPRING_CUDA=1 "-I${CUDAToolkit_INCLUDE_DIRS}")
  list(APPEND pc_libraries "${CUDA_cudart_static_LIBRARY}" -lrt)
  if(WELLSPRING_CUDNN)
    list(APPEND pc_libraries "${cuDNN_LIBRARY}" "-Wl,-rpath,${cuDNN_LIBRARY_DIR}")
  endif()
endif()
list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE pc_dl)  # empty where the C library has it
list(APPEND pc_libraries ${pc_dl} -pthread)
foreach(list pc_requires pc_flags pc_libraries)
  list(JOIN ${list} " " ${list})
endforeach()
configure_file(cmake/wellspring.pc.in "${CMAKE_BINARY_DIR}/wellspring.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/wellspring.pc" DESTINATION ${pc_dir} COMPONENT library EXCLUDE_FROM_ALL)

# Lists the executables of a folder and of its subfolders.
function(collect_programs folder result)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  set(programs "")
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      list(APPEND programs ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    collect_programs("${below}" more)
    list(APPEND programs ${more})
  endforeach()
  set(${result} "${programs}" PARENT_SCOPE)
endfunction()

# A component with the tests that need a device.
if(WELLSPRING_TESTS)
  collect_programs(tests test_programs)
  list(REMOVE_ITEM test_programs test_headers)  # an empty program that holds the precompiled headers
  set(test_dir ${CMAKE_INSTALL_LIBEXECDIR}/wellspring)
  set_library_path(../.. ${test_programs})
  install(TARGETS ${test_programs} RUNTIME DESTINATION ${test_dir} COMPONENT tests EXCLUDE_FROM_ALL)
  install(CODE "execute_process(
      COMMAND \"${CMAKE_SOURCE_DIR}/scripts/device-tests\"
      OUTPUT_FILE \"\${CMAKE_INSTALL_PREFIX}/${test_dir}/device-tests.txt\"
      COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT tests EXCLUDE_FROM_ALL)
endif()

# The other programs that gpu-check measures with (bench/gpu), and the scripts of its peers.
set(tool_dir ${CMAKE_INSTALL_LIBEXECDIR}/wellspring/tools)
get_property(gpu_programs GLOBAL PROPERTY WELLSPRING_GPU_PROGRAMS)
get_property(gpu_modules GLOBAL PROPERTY WELLSPRING_GPU_MODULES)
set(gpu_tools ${gpu_programs} ${gpu_modules})
if(gpu_tools)
  set_library_path(../../.. ${gpu_programs})
  install(TARGETS ${gpu_tools}
          RUNTIME DESTINATION ${tool_dir} COMPONENT tools EXCLUDE_FROM_ALL
          LIBRARY DESTINATION ${tool_dir} COMPONENT tools EXCLUDE_FROM_ALL)
endif()
install(FILES bench/peers/torch_step.py bench/peers/jax_step.py bench/peers/shapes.py
        DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/wellspring/peers COMPONENT tools EXCLUDE_FROM_ALL)

set(bundle_dir "${CMAKE_BINARY_DIR}/bundle/wellspring")
set(bundle_archs "")
if(WELLSPRING_HAS_CUDA)
  list(TRANSFORM CMAKE_CUDA_ARCHITECTURES REPLACE "-.*" "" OUTPUT_VARIABLE bundle_archs)
endif()
add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND}
    "-DBUILD_DIR=${CMAKE_BINARY_DIR}" "-DBUNDLE_DIR=${bundle_dir}"
    "-DLIBRARY_DIR=${CMAKE_INSTALL_LIBDIR}" "-DCUDA_LIBRARY_DIRS=${WELLSPRING_CUDA_LIBRARY_DIRS}"
    "-DWITH_CUDA_LIBS=${WELLSPRING_BUNDLE_CUDA_LIBS}"
    "-DGENERATORS=${WELLSPRING_BUNDLE_GENERATORS}" "-DGENERATOR_ARCHS=${bundle_archs}"
    "-DWITH_TESTS=$<AND:$<BOOL:${WELLSPRING_TESTS}>,$<BOOL:${WELLSPRING_BUNDLE_TESTS}>>"
    -P "${CMAKE_SOURCE_DIR}/cmake/bundle.cmake"
  COMMENT "Bundling into ${bundle_dir}" VERBATIM USES_TERMINAL)
add_dependencies(bundle wellspring)
if(WELLSPRING_TESTS AND WELLSPRING_BUNDLE_TESTS)
  add_dependencies(bundle ${test_programs} ${gpu_tools})
endif()
