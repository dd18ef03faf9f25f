#include "kernels/ops/narrow.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void narrow(Stream& stream, std::int64_t n, const float* from, ElementType type, void* to) {
  const auto launch = [&]<class To>(To* typed) {
    league(stream, "narrow", chunks(n), {kChunkTeam}, Narrow<To>{from, typed, n});
  };
  if (type == ElementType::u8) return launch(static_cast<Pixel8*>(to));
  launch(static_cast<f16*>(to));
}

}  // namespace wellspring::ops
