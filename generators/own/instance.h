// The code that a compiled header consists of: one registry entry. Included only by the file that
// generators/own/compile.cpp writes; host only.
#pragma once

#include "core/version.h"
#include "generators/functor_generator.h"
#include "generators/own/own_generator.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

namespace wellspring::own {

/// Version and sizes of types that the program and a compiled header share.
inline std::vector<std::string> interface_of_headers() {
  return {kVersion, std::to_string(sizeof(GeneratorEntry)), std::to_string(sizeof(SampleInfo)),
          std::to_string(sizeof(EmitCall)), std::to_string(sizeof(MemoryPlan))};
}

/// Information from the program for a compiled header.
struct ObjectContext {
  std::vector<std::string> interface;  ///< interface_of_headers()
  OwnHeader header;
  /// Receives the counter of random blocks, if the object has one.
  std::uint64_t (**drawn)() = nullptr;
  /// own::find_kernel, in programs that run on GPUs.
  const void* (*find_kernel)(const std::byte* cubin, const std::type_info& block) = nullptr;
};
inline ObjectContext& object_context() {
  static ObjectContext context;
  return context;
}

template <class F>
std::unique_ptr<Generator> make_own(const std::vector<ParamSetting>& settings, ImageSize size,
                                    const Generators& others) {
  return std::make_unique<OwnGenerator>(FunctorGenerator<F>::make(settings, size, others),
                                        object_context().header, settings, size);
}

/// False if the header was compiled with headers other than the program's.
template <class F>
bool fill(GeneratorEntry& entry, const ObjectContext& context) {
  if (context.interface != interface_of_headers()) return false;
  object_context() = context;
#if WS_COUNTS_DRAWS
  if (context.drawn != nullptr)
    *context.drawn = [] { return detail::blocks_drawn.load(std::memory_order_relaxed); };
#endif
  object_context().drawn = nullptr;
  entry = generator_entry<F>();
#if !WELLSPRING_CUDA
  entry.maker = &make_own<F>;  // the generator fetches the object with device code when it needs it
#endif
  return true;
}

/// The only symbol that a compiled header exports.
using Fill = bool(GeneratorEntry& entry, const ObjectContext& context);
inline constexpr const char* kFillSymbol = "wellspring_own_generator";

}  // namespace wellspring::own

#define WS_OWN_GENERATOR(F)                                                                   \
  extern "C" __attribute__((visibility("default"))) bool wellspring_own_generator(            \
      ::wellspring::GeneratorEntry& entry, const ::wellspring::own::ObjectContext& context) { \
    return ::wellspring::own::fill<F>(entry, context);                                        \
  }
