# cudnn-frontend: the header-only C++ interface to cuDNN's graphs.
#
# Searched in <source>/.venv (where scripts/fetch-cudnn-frontend puts it) and on the system. Hint:
# the cache variable CUDNN_FRONTEND_INCLUDE_DIR, the folder that holds cudnn_frontend.h.
# Defines: cuDNN::frontend, cuDNNFrontend_VERSION.
file(GLOB frontend_wheels "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/include")
find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${frontend_wheels}
          DOC "Folder that holds cudnn_frontend.h")
if(CUDNN_FRONTEND_INCLUDE_DIR)
  file(STRINGS "${CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h" frontend_lines
       REGEX "^#define CUDNN_FRONTEND_(MAJOR|MINOR|PATCH)_VERSION +[0-9]+")
  list(TRANSFORM frontend_lines REPLACE "^#define CUDNN_FRONTEND_[A-Z]+_VERSION +([0-9]+).*" "\\1")
  list(JOIN frontend_lines "." cuDNNFrontend_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuDNNFrontend REQUIRED_VARS CUDNN_FRONTEND_INCLUDE_DIR
                                  VERSION_VAR cuDNNFrontend_VERSION)
if(cuDNNFrontend_FOUND AND NOT TARGET cuDNN::frontend)
  add_library(cuDNN::frontend INTERFACE IMPORTED)
  set_target_properties(cuDNN::frontend PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_FRONTEND_INCLUDE_DIR}"
    # Its own copy of a JSON library would double the compile time; we serialise nothing through it.
    INTERFACE_COMPILE_DEFINITIONS CUDNN_FRONTEND_SKIP_JSON_LIB
    INTERFACE_LINK_LIBRARIES cuDNN::cudnn)
  # From 1.19 on the headers contain an engine that calls the run-time compiler.
  if(cuDNNFrontend_VERSION VERSION_GREATER_EQUAL 1.19)
    target_link_libraries(cuDNN::frontend INTERFACE CUDA::nvrtc)
  endif()
endif()
