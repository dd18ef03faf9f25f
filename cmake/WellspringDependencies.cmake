# Third-party libraries, gathered in the interface target `wellspring_dependencies`.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(dnnl REQUIRED)   # oneDNN: 2.6 (Debian 12) to 3.x
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PNG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)

add_library(wellspring_dependencies INTERFACE)
target_link_libraries(wellspring_dependencies INTERFACE
  Threads::Threads OpenMP::OpenMP_CXX fmt::fmt yaml-cpp nlohmann_json::nlohmann_json
  DNNL::dnnl ZLIB::ZLIB OpenSSL::Crypto PNG::PNG PkgConfig::turbojpeg)

if(WELLSPRING_HAS_CUDA_TOOLKIT)
  find_package(CUDAToolkit REQUIRED)
  target_link_libraries(wellspring_dependencies INTERFACE CUDA::cudart_static)
  target_include_directories(wellspring_dependencies SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  include(WellspringCudaLibraries)
endif()
