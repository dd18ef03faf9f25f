// A GPU cuts images into shorter runs of pixels and smaller bands than a CPU does. Here the host
// makes them so, for every generator of images: the bytes must be those of its own way.
#define WS_RUN_LENGTH 8
#include "generators/images/dead_leaves.h"
#include "generators/images/noise.h"
#include "generators/images/shapes.h"
#include "kernels/emission.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace wellspring {
namespace {

/// A team of one, of a type of its own: what it runs in is compiled here alone, with runs of 8.
class ShortRunTeam : public SoloTeam {
 public:
  using SoloTeam::SoloTeam;
};

template <class F>
void expect_equal_runs(const typename F::Params& params, SampleShape shape, const ViewSpec& view) {
  constexpr std::uint64_t kSeed = 21;
  const std::vector<Slot> slots = {{3, 3, 0, 0}, {4, 9, 0, 1}, {5, 11, 0, 2}};
  const auto size = static_cast<std::int64_t>(slots.size());
  const F functor(params);
  SampleLayout layout = SampleLayout::image(shape);
  layout.latents = F::kLatents;
  const test::HostBatch host(size, layout), device(size, layout);
  Stream stream(Device::cpu(), 1);
  emit_images(stream, "host", functor, shape, slots.data(), 0, kSeed, view, host.view());

  const Tiling tiling = detail::tiling_of<F>(shape, detail::kDeviceBandPixels);
  const ImageEmitter<F, float> emitter{functor, slots.data(),  0,     kSeed,
                                       view,    device.view(), shape, tiling};
  std::vector<std::byte> scratch(detail::scratch_of<F>());
  for (std::int64_t i = 0; i < size * tiling.count(); ++i) {
    ShortRunTeam team({scratch.data(), scratch.size(), 0});
    emitter(team, i);
  }
  EXPECT_TRUE(host == device) << shape.height << "x" << shape.width;
}

template <class F>
void expect_equal_runs(const typename F::Params& params) {
  ViewSpec warped;
  warped.rotate = 0.5f;
  warped.zoom_low = 0.8f;
  warped.zoom_high = 1.5f;
  warped.erase = 11;
  warped.mean[1] = 0.4f;
  for (const SampleShape shape : {SampleShape{224, 224, 3}, {33, 41, 3}, {7, 5, 3}}) {
    expect_equal_runs<F>(params, shape, {});
    expect_equal_runs<F>(params, shape, warped);
  }
}

TEST(DeviceRuns, GiveTheBytesOfTheHost) {
  expect_equal_runs<Noise>({});
  Shapes::Params shapes;
  shapes.texture = Shapes::Texture::any;
  expect_equal_runs<Shapes>(shapes);
  DeadLeaves::Params leaves;
  leaves.kind = DeadLeaves::Kind::mixed;
  leaves.max_leaves = 700;  // not a multiple of a batch, and reached
  expect_equal_runs<DeadLeaves>(leaves);
}

TEST(DeviceRuns, TeamsHaveAThreadARun) {
  const auto members = [](SampleShape shape) {
    return detail::members_of(detail::tiling_of<Noise>(shape, detail::kDeviceBandPixels));
  };
  EXPECT_EQ(members({224, 224, 3}), 256);  // bands of 36 rows, 1008 runs
  EXPECT_EQ(members({32, 32, 3}), 128);    // one band, no taller than the image
  EXPECT_EQ(members({2, 3, 3}), 32);
  EXPECT_EQ(members({1, 100'000, 3}), 256);
}

}  // namespace
}  // namespace wellspring
