# Finds what the Python module needs: Python's headers, nanobind and NumPy. scripts/fetch-nanobind installs the latter two
# into .venv. Sets WELLSPRING_HAS_PYTHON, or WELLSPRING_NO_PYTHON to what is missing; with WELLSPRING_PYTHON=ON, anything
# missing is an error.
set(WELLSPRING_HAS_PYTHON OFF)
set(WELLSPRING_NO_PYTHON "WELLSPRING_PYTHON is off")
if(NOT SKBUILD AND NOT Python_EXECUTABLE AND EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${CMAKE_SOURCE_DIR}/.venv/bin/python")
endif()
if(WELLSPRING_PYTHON AND NOT WELLSPRING_TRAINING)
  message(FATAL_ERROR "WELLSPRING_PYTHON needs WELLSPRING_TRAINING=ON")
elseif(WELLSPRING_PYTHON)
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule NumPy)
  if(Python_FOUND)
    execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                    OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_package(nanobind CONFIG QUIET)
    if(nanobind_FOUND AND Python_NumPy_FOUND)
      set(WELLSPRING_HAS_PYTHON ON)
    else()
      set(WELLSPRING_NO_PYTHON "nanobind or NumPy is missing (scripts/fetch-nanobind installs both)")
    endif()
  else()
    set(WELLSPRING_NO_PYTHON "Python 3.10 or later with its headers is missing (Debian: apt install python3-dev)")
  endif()
  if(WELLSPRING_PYTHON STREQUAL "ON" AND NOT WELLSPRING_HAS_PYTHON)
    message(FATAL_ERROR "WELLSPRING_PYTHON=ON: ${WELLSPRING_NO_PYTHON}")
  endif()
endif()

# Optional: the headers of XLA's foreign function interface, for wellspring.jax and for a test on the stand-in.
set(WELLSPRING_JAX_HEADERS "")
if(Python_EXECUTABLE)
  execute_process(COMMAND "${Python_EXECUTABLE}" -c
                    "import importlib.util as u; print(u.find_spec('jaxlib').submodule_search_locations[0])"
                  OUTPUT_VARIABLE jaxlib OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(jaxlib AND EXISTS "${jaxlib}/include/xla/ffi/api/ffi.h")
    set(WELLSPRING_JAX_HEADERS "${jaxlib}/include")
  endif()
endif()
