# cuDNN: headers and the front library, which loads its engines when they are first used.
#
# Searched in the CUDA toolkit, on the system, and in the wheel `nvidia-cudnn-cu<major>` inside
# <source>/.venv. Hints: CUDNN_ROOT (variable or environment).
# Defines: cuDNN::cudnn, cuDNN_VERSION, cuDNN_LIBRARY_DIR.
file(GLOB cudnn_wheels "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cudnn")
set(cudnn_hints ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_TARGET_DIR}
    ${CUDAToolkit_LIBRARY_ROOT} ${cudnn_wheels})

find_path(cuDNN_INCLUDE_DIR cudnn_version.h HINTS ${cudnn_hints} PATH_SUFFIXES include)
find_library(cuDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${cudnn_hints}
             PATH_SUFFIXES lib lib64 lib/x64)
if(cuDNN_INCLUDE_DIR)
  file(STRINGS "${cuDNN_INCLUDE_DIR}/cudnn_version.h" cudnn_lines
       REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
  list(TRANSFORM cudnn_lines REPLACE "^#define CUDNN_[A-Z]+ +([0-9]+).*" "\\1")
  list(JOIN cudnn_lines "." cuDNN_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuDNN REQUIRED_VARS cuDNN_LIBRARY cuDNN_INCLUDE_DIR
                                  VERSION_VAR cuDNN_VERSION)
mark_as_advanced(cuDNN_INCLUDE_DIR cuDNN_LIBRARY)
if(cuDNN_FOUND AND NOT TARGET cuDNN::cudnn)
  get_filename_component(cuDNN_LIBRARY_DIR "${cuDNN_LIBRARY}" DIRECTORY)
  add_library(cuDNN::cudnn SHARED IMPORTED)
  set_target_properties(cuDNN::cudnn PROPERTIES
    IMPORTED_LOCATION "${cuDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${cuDNN_INCLUDE_DIR}"
    # Warns about the legacy interface, so that only the graph interface is used.
    INTERFACE_COMPILE_DEFINITIONS CUDNN_WARN_DEPRECATED)
endif()
