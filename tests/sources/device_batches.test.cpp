// Batches for Python and JAX on a GPU, in the caller's stream: what the handler of XLA's foreign
// function interface calls (python/jax.cpp), without XLA.
#include "kernels/runtime/device.h"
#include "kernels/runtime/step_graph.h"

#include <gtest/gtest.h>

#include "python/generator_batches.h"
#include <cstring>
#include <string>
#include <vector>

namespace wellspring::python {
namespace {

constexpr std::int64_t kRows = 6;

std::vector<std::byte> copied(Stream& stream, const void* from, std::size_t bytes) {
  std::vector<std::byte> to(bytes);
  stream.copy(to.data(), from, bytes, CopyDirection::device_to_host, "batch");
  stream.synchronize();
  return to;
}

void expect_equal(Stream& stream, const TypedBatch& made, const TypedBatch& expected) {
  const auto there = made.columns(), here = expected.columns();
  for (std::size_t c = 0; c < here.size(); ++c) {
    if (here[c].data == nullptr) continue;
    const std::size_t bytes = kRows * here[c].row_bytes();
    EXPECT_EQ(std::memcmp(copied(stream, there[c].data, bytes).data(), here[c].data, bytes), 0)
        << here[c].name;
  }
}

TEST(DeviceBatches, ReadTheFirstIdOnTheDeviceAndCanBeCaptured) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("cuda");
  for (const auto& [generator, type] :
       std::vector<std::pair<std::string, ElementType>>{{"shapes", ElementType::f32},
                                                        {"shapes", ElementType::bf16},
                                                        {"shapes", ElementType::f16},
                                                        {"shapes", ElementType::u8},
                                                        {"ginkgo", ElementType::f32}}) {
    SCOPED_TRACE(generator + " " + std::to_string(static_cast<int>(type)));
    GeneratorBatches host({.generator = generator, .size = 20, .seed = 5, .threads = 1});
    GeneratorBatches batches({.generator = generator, .size = 20, .seed = 5, .device = device});
    const auto memory = batches.memory(kRows, type), expected = host.memory(kRows, type);
    MemoryPlan plan(device);
    const auto words = plan.reserve<std::uint32_t>("test", "first", 2);
    plan.commit();
    Stream callers(device);
    const auto enqueue = [&] {
      batches.enqueue({0, words.data()}, memory->batch(), callers.native());
    };
    const auto set_first = [&](std::uint64_t first) {
      const std::uint32_t halves[] = {static_cast<std::uint32_t>(first),
                                      static_cast<std::uint32_t>(first >> 32)};
      callers.copy(words.data(), halves, sizeof halves, CopyDirection::host_to_device, "first");
      callers.synchronize();
    };
    constexpr std::uint64_t kLarge = (std::uint64_t{7} << 40) + 3;
    set_first(kLarge);
    enqueue();
    host.make(kLarge, expected->batch());
    expect_equal(callers, memory->batch(), expected->batch());

    // After the first batch, a call neither allocates nor waits, so a graph can record it.
    const auto graph = StepGraph::record(callers, [&](Stream&) { enqueue(); });
    EXPECT_TRUE(graph->census().no_host_transfer());
    set_first(11);
    graph->launch(callers);
    host.make(11, expected->batch());
    expect_equal(callers, memory->batch(), expected->batch());
  }
}

}  // namespace
}  // namespace wellspring::python
