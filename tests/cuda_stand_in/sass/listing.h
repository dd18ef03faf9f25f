// The compiler's listing of device code, as nvdisasm prints it, parsed into instructions and
// operands. Called by the machine that runs them; host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring::sass {

enum class OperandKind : std::uint8_t {
  vector_register,    ///< R0 to R254; RZ is kZeroRegister
  uniform_register,   ///< UR0 to UR62; URZ is kZeroUniform
  predicate,          ///< P0 to P6; PT is kTrue
  uniform_predicate,  ///< UP0 to UP6; UPT is kTrue
  barrier,            ///< B0 to B15
  immediate,          ///< bits, or a decimal number whose bits depend on the instruction
  constant,           ///< c[bank][offset], perhaps with a register in the offset
  address,            ///< [R4.64+UR2+0x10]
  special,            ///< SR_TID.X
  label               ///< an instruction of the kernel
};
inline constexpr int kZeroRegister = 255, kZeroUniform = 63, kTrue = 7, kNoRegister = -1;

struct Operand {
  OperandKind kind = OperandKind::immediate;
  int index = kNoRegister;    ///< register, predicate or barrier; for an address, its register
  int uniform = kNoRegister;  ///< the uniform register of an address
  bool wide = false;          ///< the register of an address is a pair
  bool negative = false, absolute = false, inverted = false;  ///< - || ~ or !
  bool decimal = false;    ///< an immediate written as a number, not as bits
  std::int64_t value = 0;  ///< bits, offset in bytes, or position of a label
  double number = 0;
  std::string name = {};  ///< name of a special register

  bool is_predicate() const {
    return kind == OperandKind::predicate || kind == OperandKind::uniform_predicate;
  }
};

struct Line {
  std::string text;                    ///< the source text, for messages
  std::string opcode;                  ///< "IMAD"; uniform instructions drop the U
  std::vector<std::string> modifiers;  ///< "WIDE", "U32"
  std::vector<Operand> operands;
  Operand guard = {OperandKind::predicate, kTrue};

  bool has(std::string_view modifier) const;
};

/// The instructions of a kernel and of the functions that follow it, each 16 bytes of code.
using Listing = std::vector<Line>;

/// The texts of all kernels in the files *.sass of a folder, by mangled name. They are long: parse
/// only the kernels in use.
std::map<std::string, std::string> read_listings(const std::filesystem::path& folder);
/// Listings of the kernels in one text. Throws std::runtime_error with the line if it is unreadable.
std::map<std::string, Listing> parse_listings(const std::string& text);

}  // namespace wellspring::sass
