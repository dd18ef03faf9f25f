// The code that a compiled header consists of: one registry entry. Included only by the file that
// generators/own/compile.cpp writes; host only.
#pragma once

#include "core/version.h"
#include "generators/functor_generator.h"
#include "generators/own/own_generator.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::own {

/// Version and sizes of types that the program and a compiled header share.
inline std::vector<std::string> interface_of_headers() {
  return {kVersion, std::to_string(sizeof(GeneratorEntry)), std::to_string(sizeof(SampleInfo)),
          std::to_string(sizeof(EmitCall)), std::to_string(sizeof(MemoryPlan))};
}

inline std::string& hash_of_header() {
  static std::string hash;
  return hash;
}

template <class F>
struct Made {
  static std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, int size,
                                         const Generators& others) {
    return std::make_unique<OwnGenerator>(FunctorGenerator<F>::make(settings, size, others),
                                          hash_of_header());
  }
};

/// False if the header was compiled with other headers than the program.
template <class F>
bool fill(GeneratorEntry& entry, const std::vector<std::string>& interface,
          const std::string& hash) {
  if (interface != interface_of_headers()) return false;
  hash_of_header() = hash;
  entry = generator_entry<F>();
  entry.maker = &Made<F>::make;
  return true;
}

/// The only symbol that a compiled header exports.
using Fill = bool(GeneratorEntry& entry, const std::vector<std::string>& interface,
                  const std::string& hash);
inline constexpr const char* kFillSymbol = "wellspring_own_generator";

}  // namespace wellspring::own

#define WS_OWN_GENERATOR(F)                                                           \
  extern "C" __attribute__((visibility("default"))) bool wellspring_own_generator(    \
      ::wellspring::GeneratorEntry& entry, const std::vector<std::string>& interface, \
      const std::string& hash) {                                                      \
    return ::wellspring::own::fill<F>(entry, interface, hash);                        \
  }
