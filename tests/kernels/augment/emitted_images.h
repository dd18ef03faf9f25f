// Emission of a stored image through lists of augmentations with passes. For the tests of operations
// on whole images; host only.
#pragma once

#include "kernels/augment/augmentation_passes.h"
#include "kernels/emission/byte_images.h"
#include "kernels/emission/emitter.h"
#include "tests/support/augmentation.h"
#include "tests/support/host_batch.h"
#include "tests/support/team_launcher.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {

inline constexpr std::uint64_t kImageSeed = 5;
inline constexpr SampleShape kImageShape = {36, 40, 3};

/// The image of tests/truth/torchvision_values.py as stored bytes.
inline std::vector<std::uint8_t> test_image(SampleShape shape = kImageShape) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    bytes.push_back(static_cast<std::uint8_t>((i * i * 7 + i * 13) % 151 + 30 * (i % 3)));
  return bytes;
}

struct Emitted {
  std::vector<std::uint8_t> bytes = test_image();
  SampleShape source_shape = kImageShape, shape = kImageShape;
  int members = 1;

  /// Emits samples with these ordinals, all of one image.
  template <class T = float>
  std::vector<T> operator()(const std::string& yaml, std::vector<std::uint64_t> ordinals = {0}) {
    const auto count = static_cast<std::int64_t>(ordinals.size());
    const AugmentationPlan plan = plan_of(yaml, frame_of(source_shape), frame_of(shape));
    const HostBatch batch(count, SampleLayout::image(shape), DTypeOf<T>::value);
    std::vector<Slot> slots;
    for (std::uint32_t i = 0; i < ordinals.size(); ++i) slots.push_back({0, ordinals[i], 0, i});
    const std::int32_t label = 3;
    ByteImages images;
    images.pixels = bytes.data();
    images.labels = &label;
    images.shape = source_shape;
    MemoryPlan memory(Device::cpu());
    Emitter<ByteImages> stage;
    AugmentationPasses passes;
    stage.plan(memory, "test", count, images, source_shape);
    passes.plan(memory, "test", count, shape, plan);
    memory.commit();
    const TeamLauncher launch{members};
    EmitCall call = {slots.data(), 0, kImageSeed, plan, passes.target(batch.view())};
    stage.emit(launch, "test", images, source_shape, call);
    call.batch = batch.view();
    passes.finish(launch, call);
    const auto x = batch.x<T>();
    return {x.begin(), x.end()};
  }
};

}  // namespace wellspring::test
