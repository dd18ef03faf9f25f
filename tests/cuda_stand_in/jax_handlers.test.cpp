// The handler that XLA calls on a GPU: bytes, order in the stream, graphs, errors. The test imitates XLA's side of its
// foreign function interface.
#include "python/jax_handlers.h"

#include "core/config/config.h"
#include "kernels/batch/batch_columns.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

// Types that XLA defines.
struct XLA_FFI_Error {
  std::string message;
};
struct XLA_FFI_ExecutionContext {
  void* stream;
};

namespace wellspring::python {
namespace {

constexpr std::int64_t kRows = 5;

void expect_success(cudaError_t status) {
  EXPECT_EQ(status, cudaSuccess) << cudaGetErrorName(status);
}

XLA_FFI_Error* create_error(XLA_FFI_Error_Create_Args* arguments) {
  return new XLA_FFI_Error{arguments->message};
}

XLA_FFI_Error* get_stream(XLA_FFI_Stream_Get_Args* arguments) {
  arguments->stream = arguments->ctx->stream;
  return nullptr;
}

XLA_FFI_Api xla() {
  XLA_FFI_Api api = {};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR,
                     XLA_FFI_API_MINOR};
  api.XLA_FFI_Error_Create = create_error;
  api.XLA_FFI_Stream_Get = get_stream;
  return api;
}

XLA_FFI_ByteSpan span(const std::string& text) {
  return {text.data(), text.size()};
}

/// An array in device memory.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    void* block = nullptr;
    expect_success(cudaMalloc(&block, count * sizeof(T)));
    data_ = static_cast<T*>(block);
  }
  ~DeviceArray() { expect_success(cudaFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> host(count_);
    expect_success(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t count_;
  T* data_;
};

/// A compiled function that makes x and label of `rows` samples of a generator.
class Call {
 public:
  Call(std::string key, const SampleLayout& layout, void* stream)
      : x(static_cast<std::size_t>(kRows * layout.elements())),
        label(kRows),
        first(3),
        key_(std::move(key)),
        context_{stream},
        x_dims_{kRows, layout.elements()} {}

  /// "", or the error message.
  std::string operator()() {
    const XLA_FFI_Api api = xla();
    std::array<XLA_FFI_Buffer, 3> buffers = {
        {{XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_U32, first.data(), 1, &three_},
         {XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_F32, x.data(), 2, x_dims_.data()},
         {XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_S32, label.data(), 1, &rows_}}};
    XLA_FFI_ArgType argument = XLA_FFI_ArgType_BUFFER;
    void* arguments = &buffers[0];
    std::array<XLA_FFI_RetType, 2> results = {XLA_FFI_RetType_BUFFER, XLA_FFI_RetType_BUFFER};
    std::array<void*, 2> returned = {&buffers[1], &buffers[2]};
    const std::string columns = "x label";
    std::array<std::string, 3> names = {"columns", "generator", "repeat"};
    std::array<XLA_FFI_ByteSpan, 3> name_spans = {span(names[0]), span(names[1]), span(names[2])};
    std::array<XLA_FFI_ByteSpan*, 3> name_pointers = {&name_spans[0], &name_spans[1],
                                                      &name_spans[2]};
    std::array<XLA_FFI_ByteSpan, 2> values = {span(columns), span(key_)};
    XLA_FFI_Scalar number = {XLA_FFI_DataType_S64, &repeat};
    std::array<void*, 3> value_pointers = {&values[0], &values[1], &number};
    std::array<XLA_FFI_AttrType, 3> types = {XLA_FFI_AttrType_STRING, XLA_FFI_AttrType_STRING,
                                             XLA_FFI_AttrType_SCALAR};
    XLA_FFI_CallFrame frame = {};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = &api;
    frame.ctx = &context_;
    frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
    frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, 1, &argument, &arguments};
    frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, 2, results.data(), returned.data()};
    frame.attrs = {XLA_FFI_Attrs_STRUCT_SIZE, nullptr, 3, types.data(), name_pointers.data(),
                   value_pointers.data()};
    const std::unique_ptr<XLA_FFI_Error> error(wellspring_jax_cuda(&frame));
    return error ? error->message : "";
  }

  DeviceArray<float> x;
  DeviceArray<std::int32_t> label;
  DeviceArray<std::uint32_t> first;
  std::int64_t repeat = 1;

 private:
  std::string key_;
  XLA_FFI_ExecutionContext context_;
  std::int64_t three_ = 3, rows_ = kRows;
  std::array<std::int64_t, 2> x_dims_;
};

GeneratorBatches::Settings settings(Device device) {
  GeneratorBatches::Settings settings;
  settings.generator = "gaussian_linear";
  settings.seed = 7;
  settings.device = device;
  settings.threads = 1;
  return settings;
}

GeneratorBatches::Settings augmented_settings(Device device) {
  GeneratorBatches::Settings augmented = settings(device);
  augmented.generator = "shapes";
  augmented.size = 8;
  const ConfigDocument document = ConfigDocument::parse("augment: [simclr]", "test");
  read_augmentations(document.root(), augmented.augmentations);
  return augmented;
}

/// x and label of consecutive samples starting at `first`, made on the CPU.
std::pair<std::vector<float>, std::vector<std::int32_t>> expected(
    std::uint64_t first, const Passes& passes = {},
    const GeneratorBatches::Settings& settings = python::settings(Device::cpu())) {
  GeneratorBatches generator(settings);
  const auto memory = generator.memory(kRows, ElementType::f32);
  const TypedBatch batch = memory->batch();
  generator.make(first, batch, passes);
  const auto* const x = static_cast<const float*>(batch.view.x);
  return {{x, x + kRows * generator.layout().elements()},
          {batch.view.label, batch.view.label + kRows}};
}

class JaxHandlers : public testing::Test {
 protected:
  JaxHandlers() : generator_(settings(Device{Backend::cuda, 0})) {
    expect_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    register_jax_generator("generator", generator_);
  }
  ~JaxHandlers() override { expect_success(cudaStreamDestroy(stream_)); }

  Call call() { return {"generator", generator_.layout(), stream_}; }
  void set_first(const Call& call, std::uint64_t first, std::uint32_t epoch = 0) {
    words_ = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first >> 32), epoch};
    expect_success(cudaMemcpyAsync(call.first.data(), words_.data(), sizeof words_,
                                   cudaMemcpyHostToDevice, stream_));
  }
  void expect_samples(const Call& call, std::uint64_t first) const {
    const auto [x, label] = expected(first);
    EXPECT_EQ(call.x.values(), x) << first;
    EXPECT_EQ(call.label.values(), label) << first;
  }

  GeneratorBatches generator_;
  cudaStream_t stream_ = nullptr;
  std::array<std::uint32_t, 3> words_ = {};
};

TEST_F(JaxHandlers, MakeTheSamplesOfTheCpuInTheStreamOfXla) {
  Call call = this->call();
  for (const std::uint64_t first : {std::uint64_t{5}, (std::uint64_t{1} << 62) + 5}) {
    set_first(call, first);  // enqueued before, so the handler must not read it on the host
    EXPECT_EQ(call(), "");
    expect_success(cudaStreamSynchronize(stream_));
    expect_samples(call, first);
  }
}

TEST_F(JaxHandlers, AreCapturedInAGraph) {
  Call call = this->call();
  set_first(call, 0);
  EXPECT_EQ(call(), "");  // allocates
  expect_success(cudaStreamSynchronize(stream_));
  expect_success(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(call(), "");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  expect_success(cudaStreamEndCapture(stream_, &graph));
  expect_success(cudaGraphInstantiate(&replay, graph, 0));
  for (const std::uint64_t first : {std::uint64_t{40}, std::uint64_t{1} << 33}) {
    set_first(call, first);
    expect_success(cudaGraphLaunch(replay, stream_));
    expect_success(cudaStreamSynchronize(stream_));
    expect_samples(call, first);
  }
  expect_success(cudaGraphExecDestroy(replay));
  expect_success(cudaGraphDestroy(graph));
}

TEST_F(JaxHandlers, ReadTheEpochOnTheDevice) {
  GeneratorBatches augmented(augmented_settings(Device{Backend::cuda, 0}));
  register_jax_generator("augmented", augmented);
  Call call("augmented", augmented.layout(), stream_);
  call.repeat = kRows;  // copies of one sample
  for (const std::uint32_t epoch : {0U, 3U}) {
    set_first(call, 9, epoch);
    EXPECT_EQ(call(), "");
    expect_success(cudaStreamSynchronize(stream_));
    const auto [x, label] = expected(9, {epoch, kRows}, augmented_settings(Device::cpu()));
    EXPECT_EQ(call.x.values(), x) << epoch;
    EXPECT_EQ(call.label.values(), label) << epoch;
  }
}

TEST_F(JaxHandlers, ReportErrorsToXla) {
  Call unknown("no such key", generator_.layout(), stream_);
  EXPECT_NE(unknown().find("trace the function again"), std::string::npos);
  GeneratorBatches on_cpu(settings(Device::cpu()));
  register_jax_generator("on the CPU", on_cpu);
  Call elsewhere("on the CPU", generator_.layout(), stream_);
  EXPECT_NE(elsewhere().find("the generator is on cpu"), std::string::npos);
  SampleLayout wider = generator_.layout();
  ++wider.features;
  Call wrong("generator", wider, stream_);
  EXPECT_NE(wrong().find("result 'x' is not a column of 5 rows"), std::string::npos);
}

}  // namespace
}  // namespace wellspring::python
