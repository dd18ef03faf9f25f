#include "kernels/ops/direct_conv.h"

#include "kernels/ops/column_sum.h"
#include "kernels/ops/part_totals.h"
#include "kernels/runtime/launch.h"

#include <algorithm>
#include <stdexcept>

namespace wellspring::ops {
namespace {

constexpr int kMostChannels = 4, kMostOutputs = 64;
/// Maximum number of floats in a tile for one output row; two teams then fit on a multiprocessor.
constexpr int kMostTileFloats = 10240;
/// Maximum number of floats in a tile for several output rows.
constexpr int kTileFloats = 4096;
/// Results (pack, group of columns) per forward team: two per thread.
constexpr int kForwardTeam = 128, kForwardItems = 2 * kForwardTeam;
/// Teams for the gradient: about four per multiprocessor of a large GPU. More teams would write and
/// read more partial sums.
constexpr std::int64_t kGradientTeams = 512;

DirectConvShape shape_of(const Conv2dSpec& spec) {
  return {.height = spec.in_height,
          .width = spec.in_width,
          .channels = spec.in_channels,
          .out_height = spec.out_height(),
          .out_width = spec.out_width(),
          .outputs = spec.out_channels,
          .padding = spec.padding,
          .rows = 1,
          .tile_rows = 1};
}

/// Output rows whose input fits into kTileFloats, at most `rows`.
int tile_rows(const DirectConvShape& shape, int rows) {
  return std::clamp(kTileFloats / shape.tile_line() - (shape.kKernel - 1), 1, rows);
}

DirectConvShape forward_shape(const Conv2dSpec& spec) {
  DirectConvShape shape = shape_of(spec);
  const int line = shape.column_groups() * shape.packs();
  shape.rows = tile_rows(shape, std::clamp(kForwardItems / line, 1, shape.out_height));
  shape.tile_rows = shape.rows;
  return shape;
}

DirectConvShape gradient_shape(const Conv2dSpec& spec) {
  DirectConvShape shape = shape_of(spec);
  const std::int64_t rows = spec.batch * shape.out_height;
  shape.rows = static_cast<int>(
      std::clamp<std::int64_t>((rows + kGradientTeams - 1) / kGradientTeams, 1, shape.out_height));
  shape.tile_rows = tile_rows(shape, shape.rows);
  return shape;
}

class DirectConv2d final : public Conv2d {
 public:
  explicit DirectConv2d(const Conv2dSpec& spec)
      : spec_(spec), forward_(forward_shape(spec)), gradient_(gradient_shape(spec)) {}

  std::size_t workspace_bytes() const override {
    const std::size_t bias = spec_.bias ? column_sum_partials(gradient_columns()) : 0;
    return static_cast<std::size_t>(parts()) * sizeof(Pack) + bias * sizeof(float);
  }
  bool sums_parts() const override { return true; }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace /*workspace*/) override {
    visit_float(spec_.compute, [&]<class T>(T) {
      using Forward = DirectConvForward<T>;
      league(stream, "direct_conv_forward", tasks(forward_),
             {kForwardTeam, Forward::scratch_packs(forward_) * sizeof(Pack)},
             Forward{forward_, static_cast<const T*>(x), static_cast<const T*>(w),
                     spec_.bias ? bias : nullptr, static_cast<T*>(y), spec_.activation});
    });
  }

  void backward_data(Stream&, const void*, const void*, void*, Workspace) override {
    throw std::logic_error(spec_.to_string() + ": planned without an input gradient");
  }

  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    auto* partials = static_cast<Pack*>(workspace.data);
    const int taps = gradient_.taps();
    visit_float(spec_.compute, [&]<class T>(T) {
      using Rows = DirectConvWeightRows<T>;
      league(stream, "direct_conv_weight_rows", tasks(gradient_),
             {Rows::kMembers, Rows::scratch_packs(gradient_) * sizeof(Pack)},
             Rows{gradient_, static_cast<const T*>(x), static_cast<const T*>(dy), partials});
    });
    sum_parts(stream, workspace.totals,
              {{.parts = partials->v,
                .sums = dw,
                .count = static_cast<int>(tasks(gradient_)),
                .columns = taps * spec_.out_channels,
                .taps = taps,
                .type = spec_.compute}});
    if (dbias != nullptr) column_sum(stream, gradient_columns(), dy, partials[parts()].v, dbias);
  }

 private:
  std::int64_t tasks(const DirectConvShape& shape) const { return spec_.batch * shape.blocks(); }
  /// Packs in the partial sums of the weight gradient.
  std::int64_t parts() const { return tasks(gradient_) * gradient_.taps() * gradient_.packs(); }
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
         spec.kernel == DirectConvShape::kKernel && spec.stride == 1 &&
         spec.out_channels % kPack == 0 && spec.out_channels <= kMostOutputs &&
         shape_of(spec).tile_floats() <= kMostTileFloats;
}

std::unique_ptr<Conv2d> plan_direct_conv(const Conv2dSpec& spec) {
  return std::make_unique<DirectConv2d>(spec);
}

}  // namespace wellspring::ops
