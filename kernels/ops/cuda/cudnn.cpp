// The only translation unit that includes cudnn-frontend: here it takes ten seconds to compile, in
// a .cu file five times as long.
#include "kernels/ops/cuda/cudnn.h"

#include "core/error.h"
#include "kernels/ops/cuda/versions.h"
#include "kernels/runtime/cuda_check.h"

#include <cudnn.h>
#include <cudnn_frontend.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

namespace wellspring::ops::cuda {
namespace {

namespace fe = cudnn_frontend;

// Names of the tensors in a graph's variant pack.
enum Uid : std::int64_t { kFirst = 1, kSecond = 2, kResult = 3, kBias = 4 };

void check(cudnnStatus_t status, std::string_view call, Device device) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail(ErrorKind::device,
       {fmt::format("cuDNN on {}: {} failed", device.to_string(), call),
        fmt::format("{}, cuDNN {}", cudnnGetErrorString(status), cudnnGetVersion()),
        "`wellspring doctor` shows the versions of the driver, CUDA and cuDNN"});
}

/// A stream's handle. It is made once and destroyed with its last user.
class CudnnHandle {
 public:
  explicit CudnnHandle(const Stream& stream) : device_(stream.device()) {
    const wellspring::cuda::DeviceScope scope(device_.index);
    check(cudnnCreate(&handle_), "cudnnCreate", device_);
    const cudnnStatus_t status =
        cudnnSetStream(handle_, static_cast<cudaStream_t>(stream.native()));
    if (status != CUDNN_STATUS_SUCCESS) {
      cudnnDestroy(handle_);
      check(status, "cudnnSetStream", device_);
    }
  }
  ~CudnnHandle() { cudnnDestroy(handle_); }
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  cudnnHandle_t get() const { return handle_; }
  Device device() const { return device_; }

 private:
  Device device_;
  cudnnHandle_t handle_ = nullptr;
};

fe::DataType_t cudnn_type(DType dtype) {
  return dtype == DType::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::FLOAT;
}

/// cuDNN orders the dimensions N, C, H, W and infers the layout from the strides. These are the
/// packed NHWC strides, even for sizes of 1, because cuDNN uses them to check contiguity.
fe::graph::Tensor_attributes nhwc(Uid uid, const char* name, DType dtype,
                                  std::array<std::int64_t, 4> nchw) {
  const auto [n, c, h, w] = nchw;
  (void)n;
  return fe::graph::Tensor_attributes()
      .set_uid(uid)
      .set_name(name)
      .set_data_type(cudnn_type(dtype))
      .set_dim({nchw.begin(), nchw.end()})
      .set_stride({h * w * c, 1, w * c, c});
}

}  // namespace

std::string_view to_string(ConvPass pass) {
  switch (pass) {
    case ConvPass::forward:
      return "forward";
    case ConvPass::backward_data:
      return "backward data";
    case ConvPass::backward_weights:
      return "backward weights";
  }
  return "?";
}

std::string ConvGraphSpec::to_string() const {
  return fmt::format("{} of {}, result {}{}", cuda::to_string(pass), conv.to_string(),
                     wellspring::to_string(result),
                     epilogue == Epilogue::separate ? ", separate epilogue" : "");
}

std::string cudnn_version() {
  const std::size_t v = cudnnGetVersion();  // MAJOR * 10000 + MINOR * 100 + PATCH
  return fmt::format("{}.{}.{} (cudnn-frontend {}.{}.{})", v / 10000, v / 100 % 100, v % 100,
                     CUDNN_FRONTEND_MAJOR_VERSION, CUDNN_FRONTEND_MINOR_VERSION,
                     CUDNN_FRONTEND_PATCH_VERSION);
}

struct CudnnTarget::State {
  std::shared_ptr<CudnnHandle> handle;                     // a live stream, or
  std::shared_ptr<const fe::DeviceProperties> properties;  // a chip that is only described
  int sm_version = 0;                                      // with properties: 90 means 9.0
  std::string name;
};

CudnnTarget CudnnTarget::of(const Stream& stream) {
  auto state = std::make_shared<State>();
  state->handle = stream.library<CudnnHandle>();
  state->name = stream.device().to_string();
  return CudnnTarget(std::move(state));
}

CudnnTarget CudnnTarget::described_by(std::string_view json) {
  auto state = std::make_shared<State>();
  auto properties = std::make_shared<fe::DeviceProperties>();
  try {
    const auto fields = nlohmann::json::parse(json);
    state->name = fields.at("deviceName").get<std::string>();
    state->sm_version = fields.at("deviceVer").get<int>() / 10;  // 900 means compute capability 9.0
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::data, {"the description of a GPU cannot be read", problem.what()});
  }
  auto status = properties->deserialize(std::vector<std::uint8_t>(json.begin(), json.end()));
  if (status.is_bad()) {
    fail(ErrorKind::data,
         {fmt::format("cuDNN rejects the description of {}", state->name), status.get_message()});
  }
  state->properties = std::move(properties);
  return CudnnTarget(std::move(state));
}

std::string CudnnTarget::description() const {
  std::shared_ptr<const fe::DeviceProperties> properties = state_->properties;
  fe::error_t status;
  if (!properties) {
    const int device = state_->handle->device().index;
    const wellspring::cuda::DeviceScope scope(device);
    auto own = std::make_shared<fe::DeviceProperties>();
    status = own->set_device_id(device).build();
    properties = std::move(own);
  }
  std::vector<std::uint8_t> json;
  if (status.is_good()) status = properties->serialize(json);
  if (status.is_bad()) {
    fail(ErrorKind::device,
         {fmt::format("cuDNN gives no description of {}", state_->name), status.get_message()});
  }
  while (!json.empty() && json.back() == 0) json.pop_back();  // removes terminating zeros
  return {json.begin(), json.end()};
}

struct ConvGraph::Impl {
  ConvGraphSpec spec;
  CudnnTarget target;
  fe::graph::Graph graph;
  std::unordered_map<std::int64_t, void*> pointers;  // device pointers of a run, indexed by Uid
  std::size_t workspace_bytes = 0;
  std::string engine;

  Impl(const ConvGraphSpec& s, const CudnnTarget& t) : spec(s), target(t) {
    const CudnnTarget::State& state = target.state();
    graph.set_io_data_type(cudnn_type(spec.conv.compute))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (state.properties) {
      graph.set_device_properties(state.properties).set_sm_version(state.sm_version);
    }
    describe();
    plan(state);
    for (const Uid uid : {kFirst, kSecond, kResult}) pointers[uid] = nullptr;
    if (has_bias()) pointers[kBias] = nullptr;
  }

  bool has_bias() const {
    return spec.pass == ConvPass::forward && spec.epilogue == Epilogue::fused && spec.conv.bias;
  }
  bool has_relu() const {
    return spec.pass == ConvPass::forward && spec.epilogue == Epilogue::fused &&
           spec.conv.activation == Activation::relu;
  }

  /// Builds the operation graph of the pass.
  void describe() {
    const Conv2dSpec& conv = spec.conv;
    const std::array<std::int64_t, 4> x = {conv.batch, conv.in_channels, conv.in_height,
                                           conv.in_width};
    const std::array<std::int64_t, 4> w = {conv.out_channels, conv.in_channels, conv.kernel,
                                           conv.kernel};
    const std::array<std::int64_t, 4> y = {conv.batch, conv.out_channels, conv.out_height(),
                                           conv.out_width()};
    const auto window = [&](auto attributes) {
      return attributes.set_padding({conv.padding, conv.padding})
          .set_stride({conv.stride, conv.stride})
          .set_dilation({1, 1});
    };
    switch (spec.pass) {
      case ConvPass::forward: {
        auto image = graph.tensor(nhwc(kFirst, "x", conv.compute, x));
        auto filter = graph.tensor(nhwc(kSecond, "w", conv.compute, w));
        auto result = graph.conv_fprop(image, filter, window(fe::graph::Conv_fprop_attributes()));
        if (has_bias()) {
          auto bias = graph.tensor(nhwc(kBias, "bias", DType::f32, {1, conv.out_channels, 1, 1}));
          result = graph.pointwise(
              result, bias, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
        }
        if (has_relu()) {
          result = graph.pointwise(
              result, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
        }
        return finish(*result, "y", y);
      }
      case ConvPass::backward_data: {
        auto gradient = graph.tensor(nhwc(kFirst, "dy", conv.compute, y));
        auto filter = graph.tensor(nhwc(kSecond, "w", conv.compute, w));
        auto result =
            graph.conv_dgrad(gradient, filter, window(fe::graph::Conv_dgrad_attributes()));
        return finish(*result, "dx", x);
      }
      case ConvPass::backward_weights: {
        auto image = graph.tensor(nhwc(kFirst, "x", conv.compute, x));
        auto gradient = graph.tensor(nhwc(kSecond, "dy", conv.compute, y));
        auto result = graph.conv_wgrad(gradient, image, window(fe::graph::Conv_wgrad_attributes()));
        return finish(*result, "dw", w);
      }
    }
  }

  void finish(fe::graph::Tensor_attributes& result, const char* name,
              std::array<std::int64_t, 4> nchw) const {
    result = nhwc(kResult, name, spec.result, nchw).set_output(true);
  }

  /// Chooses the first plan of cuDNN's heuristics that meets our guarantees; builds it on a live
  /// target.
  void plan(const CudnnTarget::State& state) {
    const cudnnHandle_t handle = state.handle ? state.handle->get() : nullptr;
    in_scope([&] {
      require(graph.validate());
      require(graph.build_operation_graph(handle));
      require(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
      leave_out_unwanted();
      require(graph.check_support());
      if (!state.handle) return;
      require(graph.build_plans());
      adopt();
    });
  }

  void choose(std::size_t index) {
    WS_EXPECT(target.state().handle);
    in_scope([&] {
      require(graph.build_plan_at_index(static_cast<std::int64_t>(index)));
      adopt();
    });
  }

  /// Calls a function while the live target's device is current.
  template <class Call>
  void in_scope(const Call& call) const {
    const CudnnTarget::State& state = target.state();
    if (!state.handle) return call();
    const wellspring::cuda::DeviceScope scope(state.handle->device().index);
    call();
  }

  /// Records properties of the plan built last, which is the plan that runs.
  void adopt() {
    std::int64_t bytes = 0;
    require(graph.get_workspace_size(bytes));
    workspace_bytes = static_cast<std::size_t>(bytes);
    require(graph.get_plan_name(engine));
  }

  void leave_out_unwanted() {
    graph.deselect_workspace_greater_than(static_cast<std::int64_t>(spec.workspace_limit));
    graph.deselect_numeric_notes(
        {fe::NumericalNote_t::NONDETERMINISTIC, fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION});
    // f32 means f32: no TF32, whose tensor cores round the inputs to 10 fraction bits, and no
    // transforms that trade accuracy for speed.
    if (spec.conv.compute == DType::f32) {
      graph.deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE,
                                    fe::NumericalNote_t::DOWN_CONVERT_INPUTS,
                                    fe::NumericalNote_t::FFT, fe::NumericalNote_t::WINOGRAD});
    }
  }

  void require(fe::error_t status) const {  // by value, because its accessors are not const
    if (status.is_good()) return;
    fail(ErrorKind::device,
         {fmt::format("cuDNN cannot run {} on {}", spec.to_string(), target.state().name),
          status.get_message(),
          "change the shape of the layer or its compute type, or run on the CPU"});
  }

  void run(std::array<const void*, 3> tensors, const float* bias, Workspace workspace) {
    const CudnnTarget::State& state = target.state();
    WS_EXPECT(state.handle);
    WS_EXPECT(workspace.bytes >= workspace_bytes);
    // cuDNN's interface has no const, but inputs are not written.
    pointers[kFirst] = const_cast<void*>(tensors[0]);
    pointers[kSecond] = const_cast<void*>(tensors[1]);
    pointers[kResult] = const_cast<void*>(tensors[2]);
    if (has_bias()) pointers[kBias] = const_cast<float*>(bias);
    const wellspring::cuda::DeviceScope scope(state.handle->device().index);
    auto status = graph.execute(state.handle->get(), pointers, workspace.data);
    if (status.is_good()) return;
    fail(ErrorKind::device,
         {fmt::format("cuDNN failed to launch {} on {}", spec.to_string(), state.name),
          fmt::format("{} (plan {})", status.get_message(), engine)});
  }
};

ConvGraph::ConvGraph(const ConvGraphSpec& spec, const CudnnTarget& target)
    : impl_(std::make_unique<Impl>(spec, target)) {}
ConvGraph::~ConvGraph() = default;
ConvGraph::ConvGraph(ConvGraph&&) noexcept = default;
ConvGraph& ConvGraph::operator=(ConvGraph&&) noexcept = default;
const ConvGraphSpec& ConvGraph::spec() const {
  return impl_->spec;
}
std::size_t ConvGraph::workspace_bytes() const {
  return impl_->workspace_bytes;
}
const std::string& ConvGraph::engine() const {
  return impl_->engine;
}
std::size_t ConvGraph::plan_count() const {
  return static_cast<std::size_t>(impl_->graph.get_execution_plan_count());
}
std::string ConvGraph::plan_engine(std::size_t index) const {
  std::string name;
  impl_->require(impl_->graph.get_plan_name_at_index(static_cast<std::int64_t>(index), name));
  return name;
}
void ConvGraph::choose(std::size_t index) {
  impl_->choose(index);
}
bool ConvGraph::choose(std::string_view engine) {
  for (std::size_t i = 0; i < plan_count(); ++i) {
    if (plan_engine(i) != engine) continue;
    try {
      choose(i);
      return true;
    } catch (const Error&) {  // the memory limit or cuDNN's version excludes it
      return false;
    }
  }
  return false;
}
void ConvGraph::run(std::array<const void*, 3> tensors, const float* bias, Workspace workspace) {
  impl_->run(tensors, bias, workspace);
}

}  // namespace wellspring::ops::cuda
