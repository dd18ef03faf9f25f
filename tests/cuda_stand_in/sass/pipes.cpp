#include "tests/cuda_stand_in/sass/pipes.h"

#include <set>

namespace wellspring::sass {

Pipe pipe_of(const Line& line) {
  static const std::set<std::string> integer = {"IADD3", "VIADD",   "LEA",       "ISETP", "FSETP",
                                                "FSET",  "FMNMX",   "VIMNMX",    "IABS",  "LOP3",
                                                "SHF",   "VIMNMX3", "VIADDMNMX", "PRMT"};
  static const std::set<std::string> special = {"MUFU", "POPC", "FLO", "BREV"};
  const bool uniform =
      !line.operands.empty() && (line.operands[0].kind == OperandKind::uniform_register ||
                                 line.operands[0].kind == OperandKind::uniform_predicate);
  if (uniform) return Pipe::other;
  if (integer.contains(line.opcode)) return Pipe::integer;
  return special.contains(line.opcode) ? Pipe::special : Pipe::other;
}

}  // namespace wellspring::sass
