set(wellspring_unity_limit 12)  # maximum number of files compiled as one

# wellspring_sources(target [LIMIT n] [OPTIONS option ...] <file> ...): adds files, relative to the current folder, to a
# target. With WELLSPRING_UNITY the files of a folder are compiled as one, in groups of at most LIMIT, so names in their
# anonymous namespaces must differ. A file with options of its own in COMPILE_OPTIONS must not be among them.
function(wellspring_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 add "" "LIMIT" "OPTIONS")
  set(sources ${add_UNPARSED_ARGUMENTS})
  list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
  if(WELLSPRING_UNITY)
    wellspring_unite(sources "${target}" "${add_LIMIT}")
  endif()
  target_sources(${target} PRIVATE ${sources})
  if(add_OPTIONS)
    set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${add_OPTIONS})
  endif()
endfunction()

# Replaces the files of the list `result` by files that include up to `limit` of one folder and language.
function(wellspring_unite result target limit)
  if(NOT limit)
    set(limit ${wellspring_unity_limit})
  endif()
  set(united "")
  foreach(file ${${result}})
    get_filename_component(file "${file}" ABSOLUTE)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(ending "${file}" LAST_EXT)
    file(RELATIVE_PATH folder "${CMAKE_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}${ending}" key)
    list(LENGTH files_${key} count)
    if(count EQUAL 0 OR count EQUAL limit)
      get_property(number GLOBAL PROPERTY wellspring_unity_${target}_${key})  # empty: the first
      math(EXPR number "0${number} + 1")
      set_property(GLOBAL PROPERTY wellspring_unity_${target}_${key} ${number})
      set(current_${key} "${CMAKE_BINARY_DIR}/unity/${target}/${key}_${number}${ending}")
      list(APPEND united "${current_${key}}")
      set(files_${key} "")
    endif()
    list(APPEND files_${key} "${file}")
    string(APPEND text_${current_${key}} "#include \"${file}\"\n")
  endforeach()
  foreach(file ${united})
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text_${file}}" @ONLY)
  endforeach()
  set(${result} "${united}" PARENT_SCOPE)
endfunction()

# wellspring_library_sources([EXCEPT regex ...] [TOOLKIT_ONLY regex ...] [ALONE regex ...] [COLD regex ...]): adds every
# .cpp file below the current folder to libwellspring, and every .cu file in a build with CUDA. A new file needs no line
# anywhere. EXCEPT names files that something else adds; TOOLKIT_ONLY host files that need the CUDA toolkit; ALONE files
# that no other file may be compiled with; COLD files whose code runs once per run or per report: -O1 takes a third less
# time to compile them. All match paths relative to the folder.
function(wellspring_library_sources)
  cmake_parse_arguments(PARSE_ARGV 0 files "" "" "EXCEPT;TOOLKIT_ONLY;ALONE;COLD")
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
  wellspring_take(alone sources ${files_ALONE})
  wellspring_take(cold sources ${files_COLD})
  target_sources(libwellspring PRIVATE ${alone})
  wellspring_sources(libwellspring ${sources})
  wellspring_cold(libwellspring ${cold})
endfunction()

# Moves the files that match a pattern from the list `from` to the list `to`.
function(wellspring_take to from)
  set(taken "")
  set(left ${${from}})
  foreach(pattern ${ARGN})
    set(matching ${left})
    list(FILTER matching INCLUDE REGEX "^(${pattern})\\.cpp$")
    list(FILTER left EXCLUDE REGEX "^(${pattern})\\.cpp$")
    list(APPEND taken ${matching})
  endforeach()
  set(${to} "${taken}" PARENT_SCOPE)
  set(${from} "${left}" PARENT_SCOPE)
endfunction()

# wellspring_cold(target <file> ...): adds files that a release build compiles with -O1.
function(wellspring_cold target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(options OPTIONS -O1)
  endif()
  wellspring_sources(${target} ${ARGN} ${options})
endfunction()
