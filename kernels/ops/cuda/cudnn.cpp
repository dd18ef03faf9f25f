// The only translation unit that includes cudnn-frontend: it takes ten seconds to compile here, and
// five times as long in a .cu file.
#include "kernels/ops/cuda/cudnn.h"

#include "kernels/ops/cuda/cudnn_impl.h"
#include "kernels/ops/cuda/versions.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace wellspring::ops::cuda {
namespace {

// Names of the tensors in a graph's variant pack.
enum Uid : std::int64_t { kFirst = 1, kSecond = 2, kResult = 3, kBias = 4 };

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
         {fmt::format("cuDNN returned no description of {}", state_->name), status.get_message()});
  }
  while (!json.empty() && json.back() == 0) json.pop_back();  // removes terminating zeros
  return {json.begin(), json.end()};
}

struct ConvGraph::Impl : CudnnGraph {
  ConvGraphSpec spec;

  Impl(const ConvGraphSpec& s, const CudnnTarget& t)
      : CudnnGraph(s.to_string(), t, s.conv.compute), spec(s) {
    describe();
    plan(spec.workspace_limit, unwanted());
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

  std::vector<fe::NumericalNote_t> unwanted() const {
    std::vector<fe::NumericalNote_t> notes = {fe::NumericalNote_t::NONDETERMINISTIC,
                                              fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION};
    // f32 means f32: no TF32, whose tensor cores round the inputs to 10 fraction bits, and no
    // transforms that trade accuracy for speed.
    if (spec.conv.compute == DType::f32) {
      notes.insert(notes.end(),
                   {fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS,
                    fe::NumericalNote_t::FFT, fe::NumericalNote_t::WINOGRAD});
    }
    return notes;
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
  impl_->set(kFirst, tensors[0]);
  impl_->set(kSecond, tensors[1]);
  impl_->set(kResult, tensors[2]);
  if (impl_->has_bias()) impl_->set(kBias, bias);
  impl_->run(workspace);
}

std::string_view to_string(AttentionPass pass) {
  return pass == AttentionPass::forward ? "forward" : "backward";
}

struct AttentionGraph::Impl : CudnnGraph {
  // Names of the tensors in the variant pack. The parts of qkv and of dqkv are in order.
  enum Uid : std::int64_t {
    kQkv = 1,
    kOutput = 4,
    kLogSum = 5,
    kQueryCount = 6,
    kKeyCount = 7,
    kOutputGradient = 8,
    kQkvGradient = 9
  };
  using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

  AttentionSpec spec;
  AttentionPass pass;

  Impl(const AttentionSpec& s, AttentionPass p, const CudnnTarget& t)
      : CudnnGraph(fmt::format("{} of {}", cuda::to_string(p), s.to_string()), t, s.compute),
        spec(s),
        pass(p) {
    pass == AttentionPass::forward ? describe_forward() : describe_backward();
    plan(kWorkspaceLimit, {fe::NumericalNote_t::NONDETERMINISTIC});
  }

  /// Maximum workspace of a plan, in bytes; the deterministic backward pass keeps a bf16 value per
  /// score there.
  static constexpr std::size_t kWorkspaceLimit = std::size_t{2} << 30;

  /// Values per token of y.
  std::int64_t features() const { return std::int64_t{spec.heads} * spec.head_width; }

  /// cuDNN orders the dimensions batch, head, token, feature. `stride`: values per token.
  fe::graph::Tensor_attributes heads(std::int64_t uid, const char* label,
                                     std::int64_t stride) const {
    return fe::graph::Tensor_attributes()
        .set_uid(uid)
        .set_name(label)
        .set_data_type(cudnn_type(spec.compute))
        .set_dim({spec.batch, spec.heads, spec.tokens, spec.head_width})
        .set_stride({spec.tokens * stride, spec.head_width, stride, 1});
  }
  fe::graph::Tensor_attributes log_sums() const {
    const std::int64_t rows = spec.tokens;
    return fe::graph::Tensor_attributes()
        .set_uid(kLogSum)
        .set_name("log_sum")
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim({spec.batch, spec.heads, rows, 1})
        .set_stride({spec.heads * rows, rows, 1, 1});
  }
  Tensor counts(Uid uid, const char* label) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_uid(uid)
                            .set_name(label)
                            .set_data_type(fe::DataType_t::INT32)
                            .set_dim({spec.batch, 1, 1, 1})
                            .set_stride({1, 1, 1, 1}));
  }
  std::array<Tensor, 3> qkv() {
    return {graph.tensor(heads(kQkv, "q", 3 * features())),
            graph.tensor(heads(kQkv + 1, "k", 3 * features())),
            graph.tensor(heads(kQkv + 2, "v", 3 * features()))};
  }

  /// Attributes that both passes have.
  template <class Attributes>
  Attributes attributes() {
    Attributes made;
    made.set_name("attention")
        .set_attn_scale(static_cast<float>(1 / std::sqrt(static_cast<double>(spec.head_width))));
    if (spec.masked) {
      made.set_padding_mask(true)
          .set_seq_len_q(counts(kQueryCount, "query_count"))
          .set_seq_len_kv(counts(kKeyCount, "key_count"));
    }
    return made;
  }

  void describe_forward() {
    const auto [q, k, v] = qkv();
    auto [y, log_sum] =
        graph.sdpa(q, k, v, attributes<fe::graph::SDPA_attributes>().set_generate_stats(true));
    *y = heads(kOutput, "y", features()).set_output(true);
    *log_sum = log_sums().set_output(true);
  }

  void describe_backward() {
    const auto [q, k, v] = qkv();
    const auto gradients = graph.sdpa_backward(
        q, k, v, graph.tensor(heads(kOutput, "y", features())),
        graph.tensor(heads(kOutputGradient, "dy", features())), graph.tensor(log_sums()),
        attributes<fe::graph::SDPA_backward_attributes>().set_deterministic_algorithm(true));
    constexpr const char* kNames[] = {"dq", "dk", "dv"};
    for (std::int64_t part = 0; part < 3; ++part) {
      const auto i = static_cast<std::size_t>(part);
      *gradients[i] = heads(kQkvGradient + part, kNames[i], 3 * features()).set_output(true);
    }
  }

  /// q, k and v within a tensor [batch, tokens, 3, heads, head_width].
  void set_parts(std::int64_t uid, const void* tensor) {
    for (std::int64_t part = 0; part < 3; ++part) {
      set(uid + part, static_cast<const std::byte*>(tensor) +
                          static_cast<std::size_t>(part * features()) * size_of(spec.compute));
    }
  }
};

AttentionGraph::AttentionGraph(const AttentionSpec& spec, AttentionPass pass,
                               const CudnnTarget& target)
    : impl_(std::make_unique<Impl>(spec, pass, target)) {}
AttentionGraph::~AttentionGraph() = default;
AttentionGraph::AttentionGraph(AttentionGraph&&) noexcept = default;
AttentionGraph& AttentionGraph::operator=(AttentionGraph&&) noexcept = default;
std::size_t AttentionGraph::workspace_bytes() const {
  return impl_->workspace_bytes;
}
void AttentionGraph::run(const Tensors& tensors, Workspace workspace) {
  impl_->set_parts(Impl::kQkv, tensors.qkv);
  impl_->set(Impl::kOutput, tensors.y);
  impl_->set(Impl::kLogSum, tensors.log_sum);
  if (impl_->spec.masked) {
    impl_->set(Impl::kQueryCount, tensors.count);
    impl_->set(Impl::kKeyCount, tensors.count);
  }
  if (impl_->pass == AttentionPass::backward) {
    impl_->set(Impl::kOutputGradient, tensors.dy);
    impl_->set_parts(Impl::kQkvGradient, tensors.dqkv);
  }
  impl_->run(workspace);
}

}  // namespace wellspring::ops::cuda
