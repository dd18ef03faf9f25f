// The kernels in a folder of listings, found by the names that the launchers give them. Called by
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
  /// Throws std::runtime_error for an unreadable listing.
  explicit Kernels(const std::filesystem::path& folder) : listings_(read_listings(folder)) {}

  /// The kernels in the folder that WELLSPRING_STAND_IN_LISTINGS names; null if it is not set.
  static Kernels* of_environment();

  /// `name`: a KernelHandle's name. Throws std::runtime_error for an unknown name or instruction.
  Code& find(const std::string& name);
  /// Selects whether later launches run listings (the default) or the host's loops.
  void use(bool listings) { in_use_ = listings; }
  bool in_use() const { return in_use_; }
  /// Number of warp instructions in all runs.
  std::uint64_t warp_instructions() const;

 private:
  bool in_use_ = true;
  std::map<std::string, Listing> listings_;             ///< by mangled name
  std::map<std::string, std::string> mangled_;          ///< by functor, as functor_of returns it
  std::map<std::string, std::unique_ptr<Code>> codes_;  ///< by the name of the handle
};

}  // namespace wellspring::sass
