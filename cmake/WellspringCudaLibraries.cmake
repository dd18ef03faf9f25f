# NVIDIA's libraries that kernels/ops/cuda uses. Included if CUDA is on.
#
# Nothing here needs the driver: a binary built with CUDA starts on a machine that has none.
# cuDNN is linked (its front library is small); cuBLASLt is opened when the first dense layer is
# planned on a GPU, since loading its 540 MB costs every start of the program 60 ms and 200 MB.
if(WELLSPRING_CUDNN)
  find_package(cuDNN 9)
  find_package(cuDNNFrontend)
endif()
if(WELLSPRING_CUDNN AND (NOT cuDNN_FOUND OR NOT cuDNNFrontend_FOUND))
  if(NOT cuDNN_FOUND)
    set(missing "cuDNN 9 was")
    set(command "scripts/fetch-cudnn-frontend --with-cudnn")
  else()
    set(missing "The headers of cudnn-frontend were")
    set(command "scripts/fetch-cudnn-frontend")
  endif()
  message(FATAL_ERROR
    "${missing} not found, and convolutions on a GPU need them.\n"
    "Run\n    ${command}\nin ${CMAKE_SOURCE_DIR} and configure again; or build without convolutions on a GPU:\n"
    "    cmake --preset release -DWELLSPRING_CUDNN=OFF\n"
    "(Elsewhere on this machine? Set CUDNN_ROOT or CUDNN_FRONTEND_INCLUDE_DIR.)")
endif()
message(STATUS "Wellspring: cuDNN ${WELLSPRING_CUDNN} ${cuDNN_VERSION}, cudnn-frontend ${cuDNNFrontend_VERSION}")

# Paths of the libraries on the build machine; an installed program looks next to itself first.
get_filename_component(cublas_dir "${CUDA_cublasLt_LIBRARY}" DIRECTORY)
set(WELLSPRING_CUDA_LIBRARY_DIRS ${cuDNN_LIBRARY_DIR} "${cublas_dir}")
list(REMOVE_DUPLICATES WELLSPRING_CUDA_LIBRARY_DIRS)
