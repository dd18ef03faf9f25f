// The kernels of a folder of listings, found by the names that the launchers give them. Called by
// the stand-in's launcher and by what counts issue slots; host only.
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
  /// Throws std::runtime_error for a listing that cannot be read.
  explicit Kernels(const std::filesystem::path& folder) : listings_(read_listings(folder)) {}

  /// That of the folder that WELLSPRING_STAND_IN_LISTINGS names; null where it names none.
  static Kernels* of_environment();

  /// `name`: of a KernelHandle. Throws std::runtime_error where there is none, or where it has an
  /// instruction that is not known.
  Code& find(const std::string& name);
  /// Whether launches run listings from now on; the host's loops otherwise. At first they do.
  void use(bool listings) { in_use_ = listings; }
  bool in_use() const { return in_use_; }
  /// Warp instructions of all that ran.
  std::uint64_t warp_instructions() const;

 private:
  bool in_use_ = true;
  std::map<std::string, Listing> listings_;             ///< by mangled name
  std::map<std::string, std::string> mangled_;          ///< by functor, as functor_of has it
  std::map<std::string, std::unique_ptr<Code>> codes_;  ///< by the handle's name
};

}  // namespace wellspring::sass
