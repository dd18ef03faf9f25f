// The kernels in a folder of listings, found by the types of their parameter blocks. Called by
// the stand-in's launcher and by the issue-slot counter; host only.
#pragma once

#include "tests/cuda_stand_in/sass/machine.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace wellspring::sass {

class Kernels {
 public:
  explicit Kernels(const std::filesystem::path& folder) : listings_(read_listings(folder)) {}

  /// The kernels in the folder that WELLSPRING_STAND_IN_LISTINGS names; null if it is not set.
  static Kernels* of_environment();

  /// `block`: the mangled type of a kernel's parameter. Throws std::runtime_error if no kernel takes
  /// it, and for an unreadable listing or an unknown instruction. At the first call for a kernel,
  /// its mangled name is added to the file that WELLSPRING_STAND_IN_RAN names.
  Code& find(const std::string& block);
  /// Selects whether later launches run listings (the default) or the host's loops.
  void use(bool listings) { in_use_ = listings; }
  bool in_use() const { return in_use_; }
  /// Number of warp instructions in all runs.
  std::uint64_t warp_instructions() const;
  std::uint64_t warp_instructions(Pipe pipe) const;
  /// Memory traffic of all runs.
  Traffic traffic() const;

 private:
  bool in_use_ = true;
  std::map<std::string, std::string> listings_;         ///< texts, by mangled name
  std::map<std::string, std::string> mangled_;          ///< by the type of the block
  std::map<std::string, std::unique_ptr<Code>> codes_;  ///< by the mangled type of the block
};

}  // namespace wellspring::sass
