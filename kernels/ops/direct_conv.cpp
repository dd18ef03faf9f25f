#include "kernels/ops/direct_conv.h"

#include "kernels/ops/column_sum.h"
#include "kernels/runtime/launch.h"

#include <algorithm>
#include <stdexcept>

namespace wellspring::ops {
namespace {

constexpr int kTeam = 256;
constexpr int kMostChannels = 4, kMostOutputs = 64;
/// Packs of outputs per forward team: two for each thread, so that the team reads its weights
/// seldom and small batches still spread over all multiprocessors.
constexpr int kForwardItems = 512;
/// Teams of the gradient: about four per multiprocessor of a large GPU. More of them write and read
/// more partial sums.
constexpr std::int64_t kGradientTeams = 512;

class DirectConv2d final : public Conv2d {
 public:
  explicit DirectConv2d(const Conv2dSpec& spec) : spec_(spec) {
    const int line = spec.out_width() * spec.out_channels / kPack;
    forward_ = shape(std::max(1, kForwardItems / line));
    gradient_ = shape(
        static_cast<int>((spec.batch * spec.out_height() + kGradientTeams - 1) / kGradientTeams));
  }

  std::size_t workspace_bytes() const override {
    return std::max(partials() * sizeof(Pack),
                    column_sum_partials(gradient_columns()) * sizeof(float));
  }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace /*workspace*/) override {
    visit_float(spec_.compute, [&]<class T>(T) {
      league(
          stream, "direct_conv_forward", tasks(forward_), team(forward_.slots()),
          DirectConvForward<T>{forward_, static_cast<const T*>(x), static_cast<const T*>(w),
                               spec_.bias ? bias : nullptr, static_cast<T*>(y), spec_.activation});
    });
  }

  void backward_data(Stream&, const void*, const void*, void*, Workspace) override {
    throw std::logic_error(spec_.to_string() + ": planned without an input gradient");
  }

  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    auto* partials = static_cast<Pack*>(workspace.data);
    const int slots = gradient_.slots();
    visit_float(spec_.compute, [&]<class T>(T) {
      league(stream, "direct_conv_weight_rows", tasks(gradient_),
             team(direct_conv_lanes(slots) * slots),
             DirectConvWeightRows<T>{gradient_, static_cast<const T*>(x), static_cast<const T*>(dy),
                                     partials});
      using Total = DirectConvWeightTotal<T>;
      league(stream, "direct_conv_weight_total", slots,
             {Total::kLanes, Total::kLanes * sizeof(Pack)},
             Total{gradient_, partials, tasks(gradient_), static_cast<T*>(dw)});
    });
    // The bias gradient comes later on the same stream, so the two share the workspace.
    if (dbias != nullptr) {
      column_sum(stream, gradient_columns(), dy, static_cast<float*>(workspace.data), dbias);
    }
  }

 private:
  DirectConvShape shape(int rows) const {
    return {spec_.in_height,    spec_.in_width,    spec_.in_channels,
            spec_.out_height(), spec_.out_width(), spec_.out_channels / kPack,
            spec_.stride,       spec_.padding,     std::min(rows, spec_.out_height())};
  }
  std::int64_t tasks(const DirectConvShape& shape) const { return spec_.batch * shape.blocks(); }
  std::size_t partials() const {
    return static_cast<std::size_t>(tasks(gradient_) * gradient_.slots());
  }
  static TeamShape team(int packs_of_scratch) {
    return {kTeam, static_cast<std::size_t>(packs_of_scratch) * sizeof(Pack)};
  }
  ColumnSumSpec gradient_columns() const {
    return {spec_.batch * spec_.out_height() * spec_.out_width(), spec_.out_channels,
            spec_.compute};
  }

  Conv2dSpec spec_;
  DirectConvShape forward_, gradient_;
};

}  // namespace

bool direct_conv_applies(const Conv2dSpec& spec) {
  return !spec.input_gradient && spec.in_channels <= kMostChannels &&
         spec.kernel == DirectConvShape::kKernel && spec.out_channels % kPack == 0 &&
         spec.out_channels <= kMostOutputs;
}

std::unique_ptr<Conv2d> plan_direct_conv(const Conv2dSpec& spec) {
  return std::make_unique<DirectConv2d>(spec);
}

}  // namespace wellspring::ops
