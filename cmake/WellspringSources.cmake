# wellspring_library_sources([EXCEPT regex ...] [TOOLKIT_ONLY regex ...] [COLD regex ...]): adds every .cpp file below
# the current folder to libwellspring, and every .cu file in a build with CUDA. A new file needs no line anywhere.
# EXCEPT names files that something else adds; TOOLKIT_ONLY host files that need the CUDA toolkit; COLD files whose
# code runs once per run or per report: -O1 takes a third less time to compile them. All match paths relative to the folder.
function(wellspring_library_sources)
  cmake_parse_arguments(PARSE_ARGV 0 files "" "" "EXCEPT;TOOLKIT_ONLY;COLD")
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
  foreach(pattern ${files_COLD})
    set(cold ${sources})
    list(FILTER cold INCLUDE REGEX "^${pattern}\\.cpp$")
    wellspring_cold(TARGET libwellspring ${cold})
  endforeach()
endfunction()

# wellspring_cold(TARGET name <file> ...): compiles these files with -O1 in a release build.
function(wellspring_cold)
  cmake_parse_arguments(PARSE_ARGV 0 cold "" "TARGET" "")
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND cold_UNPARSED_ARGUMENTS)
    set_property(SOURCE ${cold_UNPARSED_ARGUMENTS} TARGET_DIRECTORY ${cold_TARGET} APPEND PROPERTY COMPILE_OPTIONS -O1)
  endif()
endfunction()
