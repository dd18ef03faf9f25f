#include "kernels/ops/upsample.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

ImageRows small_image(const PoolSpec& spec) {
  return ImageRows::of(spec.batch, spec.height, spec.width, spec.channels);
}

}  // namespace

void upsample_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y) {
  const ImageRows in = small_image(spec);
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "upsample_forward", in.teams(), {kChunkTeam},
           UpsampleForward<T>{static_cast<const T*>(x), static_cast<T*>(y), in});
  });
}

void upsample_backward(Stream& stream, const PoolSpec& spec, const void* dy, void* dx) {
  const ImageRows in = small_image(spec);
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "upsample_backward", in.teams(), {kChunkTeam},
           UpsampleBackward<T>{static_cast<const T*>(dy), static_cast<T*>(dx), in});
  });
}

}  // namespace wellspring::ops
