# wellspring_generators(images/shapes:Shapes ...): a generator is its header, generators/images/shapes.h,
# and one of these entries, which names it and its functor. From each entry and short templates, the build writes:
#
#   generators/registered/shapes.cpp     its row of the registry
#   generators/registered/shapes.cu      its device code (with CUDA)
#   generators/generators.inc            the list that generators/registry.cpp reads
#   tests/generators/shapes_teams.cpp    its test with teams of all sizes (see below)
#
# A file is rewritten only when its text changes, so a new generator compiles two or three small files and the
# registry, and links.
function(wellspring_generators)
  set(list_file "${CMAKE_CURRENT_BINARY_DIR}/generators.inc")
  set(list "")
  foreach(entry ${ARGN})
    wellspring_split_entry(${entry} header name type)
    string(APPEND list "WS_GENERATOR(${name})\n")
    set(row "${CMAKE_CURRENT_BINARY_DIR}/registered/${name}.cpp")
    configure_file(generator.cpp.in "${row}" @ONLY)
    list(APPEND rows "${row}")
  endforeach()
  wellspring_sources(libwellspring LIMIT 4 ${rows})
  wellspring_variants(${ARGN})
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "${list}" @ONLY)
  set_property(GLOBAL PROPERTY WELLSPRING_GENERATORS "${ARGN}")
endfunction()

# wellspring_variants(images/textured_leaves:TexturedLeaves ...): functors that replace a generator's own for some
# parameters (F::instead in generators/functor_generator.h). They need only device code.
function(wellspring_variants)
  if(NOT WELLSPRING_HAS_CUDA)
    return()
  endif()
  foreach(entry ${ARGN})
    wellspring_split_entry(${entry} header name type)
    set(device_code "${CMAKE_CURRENT_BINARY_DIR}/registered/${name}.cu")
    configure_file(generator.cu.in "${device_code}" @ONLY)
    list(APPEND sources "${device_code}")
  endforeach()
  wellspring_sources(libwellspring LIMIT 4 ${sources})
endfunction()

# Writes the team tests of all generators from tests/generators/teams.cpp.in and returns their names.
function(wellspring_generator_tests result)
  get_property(entries GLOBAL PROPERTY WELLSPRING_GENERATORS)
  set(sources "")
  foreach(entry ${entries})
    wellspring_split_entry(${entry} header name type)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}_teams.cpp")
    configure_file(teams.cpp.in "${source}" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# images/shapes:Shapes -> images/shapes.h, shapes, Shapes.
function(wellspring_split_entry entry header name type)
  if(NOT entry MATCHES "^([a-z0-9_]+/([a-z0-9_]+)):([A-Za-z0-9_:]+)$")
    message(FATAL_ERROR "wellspring_generators: '${entry}' is not like images/shapes:Shapes")
  endif()
  set(${header} "generators/${CMAKE_MATCH_1}.h" PARENT_SCOPE)
  set(${name} "${CMAKE_MATCH_2}" PARENT_SCOPE)
  set(${type} "${CMAKE_MATCH_3}" PARENT_SCOPE)
endfunction()
