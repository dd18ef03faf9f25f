# Runs at every build, with SOURCE and OUTPUT: writes a C++ file that holds the commit of the source, if it has changed.
set(commit "")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
  execute_process(COMMAND "${GIT}" -C "${SOURCE}" describe --always --dirty
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#include "core/version.h"

namespace wellspring {
const char* const kCommit = "@commit@";
}  // namespace wellspring
]])
