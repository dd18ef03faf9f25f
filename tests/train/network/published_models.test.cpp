// Compares models with torchvision and timm on the same weights (from a file as other programs
// write it), in both modes, forward and backward.
#include "core/error.h"
#include "kernels/runtime/dtype.h"
#include "tests/ops/operation_test.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/network/published_models_reference.h"
#include "tests/train/network/published_weights.h"
#include "train/checkpoint/checkpoint.h"
#include "train/models/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

class PublishedModels : public ops::test::OperationTest {};

// Gradients pass through the layers twice and are divided by each normalisation's standard deviation,
// so their tolerance is eight times larger still, or eight times PyTorch's own single-precision
// error.
TEST_P(PublishedModels, AgreeWithTorchvisionAndTimm) {
  for (const test::PublishedModel& expected : test::published_models()) {
#ifdef WELLSPRING_SANITIZED
    // These are slow, and the other resnet18 has all their operations.
    if (expected.model == "resnet50" || (expected.model == "resnet18" && expected.size == 16))
      continue;
#endif
    std::vector<ParamSetting> settings;
    for (const auto& [name, value] : expected.settings) settings.push_back({name, value, {}});
    SCOPED_TRACE(expected.model);
    const int side = expected.size;
    std::vector<OutputSpec> outputs = {{kSampleOutput, 10}};
    if (expected.settings.contains("distilled")) outputs.push_back({"distilled", 10});
    const std::size_t logits = 20 * outputs.size();
    const Tape tape =
        make_model(expected.model, settings)->record(SampleLayout::image(side, side, 3), outputs);
    MemoryPlan memory(stream().device());
    Network network(tape, {.batch = 2}, stream(), memory);
    ParameterArena& arena = network.parameters();
    arena.plan(memory, DType::f32, {});
    const double bound = bound_of(arena);
    const auto pixels = static_cast<std::size_t>(2 * side * side * 3);
    const Planned<float> x = memory.reserve<float>("test", "x", pixels);
    memory.commit();
    arena.initialise(stream(), 1);
    const test::TemporaryFolder folder;
    write_weights(arena, folder / "weights.safetensors");
    const TransferReport report =
        transfer_weights({(folder / "weights.safetensors").string(), HeadInit::keep}, {},
                         {side, side, 3}, arena, stream());
    EXPECT_TRUE(report.missing.empty() && report.unexpected.empty()) << report.to_string();
    const auto upload = [&](void* to, const std::vector<double>& values) {
      const std::vector<float> floats(values.begin(), values.end());
      stream().copy(to, floats.data(), floats.size() * sizeof(float), CopyDirection::host_to_device,
                    "test");
      stream().synchronize();
    };
    upload(x.data(), test::formula("images", pixels));
    BatchView batch;
    batch.size = 2;
    batch.x = x.data();
    const auto read = [&](const void* from, std::size_t n) {
      std::vector<float> values(n);
      stream().copy(values.data(), from, n * sizeof(float), CopyDirection::device_to_host, "test");
      stream().synchronize();
      return values;
    };
    const auto scale = [](const std::vector<double>& values) {
      return std::max(1.0, ops::test::largest_magnitude(values));
    };

    network.forward({stream(), batch, nullptr, nullptr, PassMode::evaluate});
    ops::test::expect_within(read(network.outputs(), logits), expected.evaluated,
                             bound * scale(expected.evaluated), "evaluated");
    const Pass training{stream(), batch};
    network.forward(training);
    ops::test::expect_within(read(network.outputs(), logits), expected.trained,
                             bound * scale(expected.trained), "trained");
    upload(network.output_gradient(), test::formula("direction", logits));
    network.backward(training);
    const std::vector<float> master = ParameterArena::download(stream(), arena.weights());
    for (std::size_t i = 0; i < arena.tensors().size(); ++i) {
      const ParameterTensor& tensor = arena.tensors()[i];
      if (const auto found = expected.running.find(tensor.name); found != expected.running.end()) {
        const auto begin = master.begin() + tensor.offset;
        ops::test::expect_within(std::vector<float>(begin, begin + 8), found->second,
                                 bound * scale(found->second), tensor.name);
      }
      if (!tensor.trained()) continue;
      double square = 0;
      for (const float g :
           read(arena.gradient({static_cast<int>(i)}), static_cast<std::size_t>(tensor.elements())))
        square += double{g} * g;
      ASSERT_TRUE(expected.gradient_norms.contains(tensor.name)) << tensor.name;
      const double norm = expected.gradient_norms.at(tensor.name);
      EXPECT_NEAR(std::sqrt(square), norm, 8 * std::max(bound, expected.gradient_error) * norm)
          << tensor.name;
    }
  }
}

WS_ON_EVERY_BACKEND(PublishedModels);

}  // namespace
}  // namespace wellspring::test
