// How the user can name this program in a command. Host only.
#pragma once

#include <string>

namespace wellspring::cli {

/// "wellspring" where PATH leads to this executable, otherwise its path, relative when below the
/// working directory.
std::string program_name();

}  // namespace wellspring::cli
