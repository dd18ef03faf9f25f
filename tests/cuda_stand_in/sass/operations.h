// The operations of a listing's instructions, by family. Called by the machine; host only.
#pragma once

#include "tests/cuda_stand_in/sass/machine.h"

#include <map>
#include <string>

namespace wellspring::sass {

using Maker = Operation (*)(const Line&);
using Family = std::map<std::string, Maker>;

const Family& integer_family();
const Family& real_family();
const Family& memory_family();
const Family& control_family();

/// Throws std::runtime_error for an unknown instruction.
Operation operation_of(const Line& line);

}  // namespace wellspring::sass
