// Interface through which the forms of emission (pixels.h, canvas.h, ...) launch work. They use it
// instead of a stream, so that a test can run their launches with teams of any size. Host only.
#pragma once

#include "kernels/runtime/launch.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wellspring {

/// Enqueues launches on a stream.
struct StreamLauncher {
  Stream& stream;

  Device device() const { return stream.device(); }
  template <class F>
  void map(std::string_view name, std::int64_t n, const F& f) const {
    wellspring::map(stream, name, n, f);
  }
  template <class F>
  void league(std::string_view name, std::int64_t n, TeamShape shape, const F& f) const {
    wellspring::league(stream, name, n, shape, f);
  }
  void zero(std::string_view name, void* data, std::size_t bytes) const {
    stream.fill_zero(data, bytes, name);
  }
};

}  // namespace wellspring
