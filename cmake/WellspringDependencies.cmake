# Third-party libraries, gathered in the interface target `wellspring_dependencies`.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
if(WELLSPRING_TRAINING)
  find_package(CLI11 REQUIRED)
endif()
find_package(dnnl REQUIRED)   # oneDNN: 2.6 (Debian 12) to 3.x
find_package(ZLIB REQUIRED)
if(WELLSPRING_OPENSSL)
  find_package(OpenSSL REQUIRED COMPONENTS Crypto)
endif()
find_package(PNG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(turbojpeg REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(webp REQUIRED IMPORTED_TARGET libwebp)

# HDF5, linked statically where possible: Debian's shared library loads thirty others (curl, Kerberos, LDAP), which
# would add about 40 ms to every start of the program.
set(hdf5_libraries "")
if(WELLSPRING_HDF5)
  pkg_search_module(hdf5 REQUIRED hdf5-serial hdf5)
  find_library(HDF5_ARCHIVE NAMES libhdf5_serial.a libhdf5.a HINTS ${hdf5_LIBRARY_DIRS})
  set(hdf5_libraries ${hdf5_LINK_LIBRARIES})
  if(HDF5_ARCHIVE)
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_INCLUDES ${hdf5_INCLUDE_DIRS})
    set(CMAKE_REQUIRED_LIBRARIES "${HDF5_ARCHIVE}" sz ZLIB::ZLIB m ${CMAKE_DL_LIBS} Threads::Threads)
    check_cxx_source_compiles("#include <hdf5.h>
                               int main() { return H5open(); }" HDF5_ARCHIVE_LINKS)
    if(HDF5_ARCHIVE_LINKS)
      # The archive's code cannot be part of a shared object, such as the Python module.
      set(shared "$<BOOL:$<TARGET_PROPERTY:WELLSPRING_SHARED_HDF5>>")
      set(hdf5_libraries "$<${shared}:${hdf5_LINK_LIBRARIES}>" "$<$<NOT:${shared}>:${CMAKE_REQUIRED_LIBRARIES}>")
    endif()
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
  endif()
  pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
  pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
  list(APPEND hdf5_libraries PkgConfig::lz4 PkgConfig::zstd)
endif()

add_library(wellspring_dependencies INTERFACE)
target_link_libraries(wellspring_dependencies INTERFACE
  Threads::Threads OpenMP::OpenMP_CXX fmt::fmt yaml-cpp nlohmann_json::nlohmann_json
  DNNL::dnnl ZLIB::ZLIB PNG::PNG PkgConfig::turbojpeg PkgConfig::webp ${hdf5_libraries}
  $<$<BOOL:${WELLSPRING_OPENSSL}>:OpenSSL::Crypto>)

if(WELLSPRING_HAS_CUDA_TOOLKIT)
  find_package(CUDAToolkit REQUIRED)
  target_link_libraries(wellspring_dependencies INTERFACE CUDA::cudart_static)
  target_include_directories(wellspring_dependencies SYSTEM INTERFACE
    $<BUILD_INTERFACE:${CUDAToolkit_INCLUDE_DIRS}>)
  include(WellspringCudaLibraries)
endif()
