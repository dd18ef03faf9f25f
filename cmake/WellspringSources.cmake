# wellspring_library_sources([EXCEPT regex ...] [TOOLKIT_ONLY regex ...]): adds every .cpp file below the current
# folder to libwellspring, and every .cu file in a build with CUDA. A new file needs no line anywhere.
# EXCEPT names files that something else adds; TOOLKIT_ONLY names host files that need the CUDA toolkit.
# Both match paths relative to the folder.
function(wellspring_library_sources)
  cmake_parse_arguments(PARSE_ARGV 0 files "" "" "EXCEPT;TOOLKIT_ONLY")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *.cpp *.cu)
  if(NOT WELLSPRING_HAS_CUDA)
    list(FILTER sources EXCLUDE REGEX "\\.cu$")
  endif()
  if(NOT WELLSPRING_HAS_CUDA_TOOLKIT)
    list(APPEND files_EXCEPT ${files_TOOLKIT_ONLY})
  endif()
  foreach(pattern ${files_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${pattern}$")
  endforeach()
  target_sources(libwellspring PRIVATE ${sources})
endfunction()
