// Batches that Python enqueues in the caller's streams: bytes, order between streams, capture in graphs.
#include "python/generator_batches.h"

#include "core/error.h"
#include "kernels/batch/batch_columns.h"
#include "tests/support/augmentation.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::python {
namespace {

constexpr std::int64_t kPair = 2;
constexpr std::uint64_t kFirst = 5;

void succeeds(cudaError_t status) {
  EXPECT_EQ(status, cudaSuccess) << cudaGetErrorName(status);
}

class CallersStream {
 public:
  CallersStream() { succeeds(cudaStreamCreateWithFlags(&native_, cudaStreamNonBlocking)); }
  ~CallersStream() { succeeds(cudaStreamDestroy(native_)); }
  CallersStream(const CallersStream&) = delete;
  CallersStream& operator=(const CallersStream&) = delete;
  cudaStream_t native() const { return native_; }
  void synchronize() const { succeeds(cudaStreamSynchronize(native_)); }

 private:
  cudaStream_t native_ = nullptr;
};

/// Tells whether the work that a stream had at construction is done.
class Mark {
 public:
  explicit Mark(const CallersStream& stream) {
    succeeds(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    succeeds(cudaEventRecord(event_, stream.native()));
  }
  ~Mark() { succeeds(cudaEventDestroy(event_)); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  bool reached() const { return cudaEventQuery(event_) == cudaSuccess; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// The work that `body` enqueues in a stream, as a graph.
class CallersGraph {
 public:
  template <class Body>
  CallersGraph(const CallersStream& stream, const Body& body) : stream_(stream) {
    succeeds(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeThreadLocal));
    EXPECT_NO_THROW(body());
    cudaGraph_t graph = nullptr;
    succeeds(cudaStreamEndCapture(stream.native(), &graph));
    if (graph == nullptr) return;
    succeeds(cudaGraphInstantiate(&exec_, graph, 0));
    succeeds(cudaGraphDestroy(graph));
  }
  ~CallersGraph() {
    if (exec_ != nullptr) succeeds(cudaGraphExecDestroy(exec_));
  }
  CallersGraph(const CallersGraph&) = delete;
  CallersGraph& operator=(const CallersGraph&) = delete;
  void replay() const {
    ASSERT_NE(exec_, nullptr);
    succeeds(cudaGraphLaunch(exec_, stream_.native()));
    stream_.synchronize();
  }

 private:
  const CallersStream& stream_;
  cudaGraphExec_t exec_ = nullptr;
};

/// The columns of a batch, one after the other.
std::vector<std::byte> bytes_of(const TypedBatch& batch, Device device) {
  std::vector<std::byte> bytes;
  for (const BatchColumn& column : batch.columns()) {
    if (column.data == nullptr) continue;
    const std::size_t size = static_cast<std::size_t>(batch.view.size) * column.row_bytes();
    const std::size_t before = bytes.size();
    bytes.resize(before + size);
    std::byte* const to = bytes.data() + before;
    if (device.is_cpu()) {
      std::memcpy(to, column.data, size);
    } else {
      succeeds(cudaMemcpy(to, column.data, size, cudaMemcpyDeviceToHost));
    }
  }
  return bytes;
}

GeneratorBatches::Settings settings_of(const std::string& name, Device device,
                                       const std::string& augmentations = "{}") {
  GeneratorBatches::Settings settings;
  settings.generator = name;
  settings.size = 16;
  settings.seed = 7;
  settings.device = device;
  settings.threads = 1;
  settings.augmentations = test::augmentations_of(augmentations);
  return settings;
}

const Device kGpu = {Backend::cuda, 0};

std::vector<std::byte> on_cpu(GeneratorBatches& generator, std::uint64_t first, std::int64_t rows,
                              ElementType type, const Passes& passes = {}) {
  const auto memory = generator.memory(rows, type);
  generator.make(first, memory->batch(), passes);
  return bytes_of(memory->batch(), Device::cpu());
}

std::vector<ElementType> types_of(const GeneratorBatches& generator) {
  std::vector<ElementType> types = {ElementType::f32, ElementType::bf16, ElementType::f16};
  const SampleInfo& info = generator.generator().info();
  if (info.low >= 0 && info.high <= 1) types.push_back(ElementType::u8);
  return types;
}

/// Warms up in one stream and captures in another, as with torch.cuda.graph.
void expect_captured(const GeneratorBatches::Settings& cpu, const GeneratorBatches::Settings& gpu,
                     const Passes& passes = {}) {
  GeneratorBatches host(cpu), device(gpu);
  const CallersStream warm, captured;
  for (const ElementType type : types_of(host)) {
    SCOPED_TRACE(cpu.generator + " " + std::string(element_name(type)));
    const auto memory = device.memory(kPair, type);
    const TypedBatch batch = memory->batch();
    const Mark warmed(warm);
    device.enqueue({0, nullptr, passes}, batch, warm.native());
    const CallersGraph graph(captured, [&] {
      device.enqueue({kFirst, nullptr, passes}, batch, captured.native());
    });
    EXPECT_TRUE(warmed.reached());  // a graph cannot wait for work outside it
    graph.replay();
    EXPECT_EQ(bytes_of(batch, kGpu), on_cpu(host, kFirst, kPair, type, passes));
  }
}

TEST(CallersStreams, CaptureBatchesOfEveryGenerator) {
  for (const GeneratorEntry& entry : generator_registry())
    expect_captured(settings_of(entry.name, Device::cpu()), settings_of(entry.name, kGpu));
}

TEST(CallersStreams, CaptureAugmentedBatches) {
  const std::string list = "augment: [simclr]";
  expect_captured(settings_of("shapes", Device::cpu(), list), settings_of("shapes", kGpu, list),
                  {3, kPair});
}

TEST(CallersStreams, AreOrderedWithoutAWaitOfTheHost) {
  GeneratorBatches host(settings_of("shapes", Device::cpu())), device(settings_of("shapes", kGpu));
  const auto one = device.memory(kPair, ElementType::f32);
  const auto two = device.memory(kPair, ElementType::f32);
  const CallersStream first, second;
  device.enqueue({0}, one->batch(), first.native());  // allocates and waits
  const Mark before(first);
  device.enqueue({0}, one->batch(), first.native());
  device.enqueue({kFirst}, two->batch(), second.native());
  EXPECT_TRUE(stand_in::seed() != 0 || !before.reached());  // with other seeds, any call may run it
  second.synchronize();
  EXPECT_TRUE(before.reached());  // both use the same slots and scenes
  EXPECT_EQ(bytes_of(one->batch(), kGpu), on_cpu(host, 0, kPair, ElementType::f32));
  EXPECT_EQ(bytes_of(two->batch(), kGpu), on_cpu(host, kFirst, kPair, ElementType::f32));
}

TEST(CallersStreams, MayEndBeforeTheNextBatch) {
  GeneratorBatches device(settings_of("shapes", kGpu));
  const auto memory = device.memory(kPair, ElementType::f32);
  device.enqueue({0}, memory->batch(), CallersStream().native());
  device.make(kFirst, memory->batch());
  GeneratorBatches host(settings_of("shapes", Device::cpu()));
  EXPECT_EQ(bytes_of(memory->batch(), kGpu), on_cpu(host, kFirst, kPair, ElementType::f32));
}

TEST(CallersStreams, KeepTheMemoryOfGraphsWhenBatchesGrow) {
  GeneratorBatches host(settings_of("shapes", Device::cpu())), device(settings_of("shapes", kGpu));
  const auto memory = device.memory(kPair, ElementType::f32);
  const auto larger = device.memory(2 * kPair, ElementType::f32);
  const CallersStream stream;
  device.enqueue({0}, memory->batch(), stream.native());
  const CallersGraph graph(stream,
                           [&] { device.enqueue({kFirst}, memory->batch(), stream.native()); });
  device.enqueue({0}, larger->batch(), stream.native());
  graph.replay();
  EXPECT_EQ(bytes_of(memory->batch(), kGpu), on_cpu(host, kFirst, kPair, ElementType::f32));
}

TEST(CallersStreams, RefuseToAllocateInACapture) {
  GeneratorBatches device(settings_of("shapes", kGpu));
  const auto memory = device.memory(kPair, ElementType::f32);
  const auto half = device.memory(kPair, ElementType::f16);
  const CallersStream stream;
  const auto expect_refused = [&](const TypedBatch& batch, const std::string& part) {
    try {
      device.enqueue({0}, batch, stream.native());
      FAIL() << "not refused: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("before the capture"), std::string::npos);
    }
  };
  // The refusals leave the captures valid.
  const CallersGraph first(stream, [&] { expect_refused(memory->batch(), "2 rows of type F32"); });
  device.enqueue({0}, memory->batch(), stream.native());
  const CallersGraph second(stream, [&] { expect_refused(half->batch(), "2 rows of type F16"); });
}

TEST(CallersStreams, CountItemsThatDoNotFit) {
  auto settings = settings_of("tracks", Device::cpu());
  settings.parameters = {{"items", "10", {}}};
  GeneratorBatches host(settings);
  settings.device = kGpu;
  GeneratorBatches device(settings);
  const CallersStream first, second;
  for (const auto& [stream, rows] : {std::pair(&first, kPair), std::pair(&second, 2 * kPair)}) {
    const auto memory = device.memory(rows, ElementType::f32);
    device.enqueue({kFirst}, memory->batch(), stream->native());
    on_cpu(host, kFirst, rows, ElementType::f32);
    stream->synchronize();
  }
  EXPECT_GT(host.overflow().items, 0U);
  EXPECT_EQ(device.overflow().items, host.overflow().items);
  EXPECT_EQ(device.overflow().samples, host.overflow().samples);
}

}  // namespace
}  // namespace wellspring::python
