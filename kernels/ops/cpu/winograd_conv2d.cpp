#include "kernels/ops/cpu/winograd_conv2d.h"

#include "kernels/ops/column_sum.h"
#include "kernels/ops/cpu/onednn.h"
#include "kernels/ops/cpu/vector_kernels.h"

#include <algorithm>
#include <omp.h>

namespace wellspring::ops::cpu {
namespace {

/// Each pass transforms the tiles of one tensor, group by group, and then writes its result panel
/// by panel. The forward and data passes process several groups at a time. Each sum is computed by
/// one thread, so the bits do not depend on the number of threads.
class WinogradConv2d final : public Conv2d {
 public:
  WinogradConv2d(const Conv2dSpec& spec, const WinogradImages& images, const Stream& stream)
      : spec_(spec),
        images_(images),
        kernels_(vector_kernels()->winograd),
        threads_(stream.active_threads()),
        scratch_floats_(kernels_.scratch(images)) {
    const auto tile_floats = [&](std::int64_t groups, int channels) {
      return static_cast<std::size_t>(groups) * kernels_.tiles(images, channels);
    };
    WorkspaceLayout layout;
    const std::int64_t at_once = std::min<std::int64_t>(kGroupsAtOnce, images.groups());
    tiles_ = layout.take(sizeof(float) *
                         std::max(tile_floats(at_once, images.phases() * spec.in_channels),
                                  tile_floats(images.groups(), spec.out_channels)));
    partials_ = layout.take(spec.bias ? column_sum_partials(sums()) * sizeof(float) : 0);
    scratch_ =
        layout.take(scratch_floats_ * sizeof(float) * static_cast<std::size_t>(stream.threads()));
    workspace_bytes_ = layout.bytes();
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes_);
    const WinogradEnd end{spec_.bias ? bias : nullptr, spec_.activation == Activation::relu};
    stream.run(NodeKind::kernel, "conv2d forward", [=, this] {
      in_parts([&](TileGroups groups) {
        transform(kernels_.input, spec_.in_channels, images_.phases() * spec_.in_channels, x,
                  groups, workspace);
        each_panel(spec_.out_channels, workspace, [&](int panel, float* scratch) {
          kernels_.forward(images_, spec_.in_channels, spec_.out_channels, groups, tiles(workspace),
                           static_cast<const float*>(w), panel, end, static_cast<float*>(y),
                           scratch);
        });
      });
    });
  }

  void backward_data(Stream& stream, const void* dy, const void* w, void* dx,
                     Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes_);
    stream.run(NodeKind::kernel, "conv2d backward data", [=, this] {
      in_parts([&](TileGroups groups) {
        transform(kernels_.arriving, spec_.out_channels, spec_.out_channels, dy, groups, workspace);
        each_panel(images_.phases() * spec_.in_channels, workspace, [&](int panel, float* scratch) {
          kernels_.backward_data(images_, spec_.in_channels, spec_.out_channels, groups,
                                 tiles(workspace), static_cast<const float*>(w), panel,
                                 static_cast<float*>(dx), scratch);
        });
      });
    });
  }

  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes_);
    stream.run(NodeKind::kernel, "conv2d backward weights", [=, this] {
      transform(kernels_.gradient, spec_.out_channels, spec_.out_channels, dy,
                {0, images_.groups()}, workspace);
      each_panel(images_.phases() * spec_.in_channels, workspace, [&](int panel, float* scratch) {
        kernels_.backward_weights(images_, spec_.in_channels, spec_.out_channels,
                                  static_cast<const float*>(x), tiles(workspace), panel,
                                  static_cast<float*>(dw), scratch);
      });
    });
    if (spec_.bias && dbias != nullptr)
      column_sum(stream, sums(), dy, static_cast<float*>(at(workspace, partials_)), dbias);
  }

 private:
  ColumnSumSpec sums() const {
    return {images_.batch * images_.height * images_.width, spec_.out_channels};
  }
  float* tiles(Workspace workspace) const { return static_cast<float*>(at(workspace, tiles_)); }

  template <class Body>
  void in_parts(const Body& body) const {
    const std::int64_t all = images_.groups();
    for (std::int64_t first = 0; first < all; first += kGroupsAtOnce)
      body(TileGroups{first, std::min(first + kGroupsAtOnce, all)});
  }

  void transform(WinogradKernels::Transform of_group, int channels, int transformed,
                 const void* image, TileGroups groups, Workspace workspace) const {
    const std::size_t stride = kernels_.tiles(images_, transformed);
    float* const to = tiles(workspace);
#pragma omp parallel for schedule(static) num_threads(threads_->count())
    for (std::int64_t group = groups.first; group < groups.end; ++group)
      of_group(images_, channels, static_cast<const float*>(image), group,
               to + static_cast<std::size_t>(group - groups.first) * stride);
  }

  /// Calls body(panel, scratch of the thread).
  template <class Body>
  void each_panel(int channels, Workspace workspace, const Body& body) const {
    auto* const scratch = static_cast<float*>(at(workspace, scratch_));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads_->count())
    for (int panel = 0; panel < channels / kWinogradPanel; ++panel)
      body(panel, scratch + static_cast<std::size_t>(omp_get_thread_num()) * scratch_floats_);
  }

  Conv2dSpec spec_;
  WinogradImages images_;
  const WinogradKernels& kernels_;
  std::shared_ptr<const ActiveThreads> threads_;
  std::size_t scratch_floats_;  ///< per thread
  // Offsets in the workspace.
  std::size_t tiles_ = 0, partials_ = 0, scratch_ = 0;
  std::size_t workspace_bytes_ = 0;
};

WinogradImages images_of(const Conv2dSpec& spec) {
  return {spec.batch, spec.out_height(), spec.out_width(), spec.stride};
}

bool fits(const Conv2dSpec& spec) {
  const bool whole_phases = spec.in_height % spec.stride == 0 && spec.in_width % spec.stride == 0;
  const bool shape = spec.compute == DType::f32 && spec.kernel == 3 && spec.stride <= 2 &&
                     spec.padding == 1 && whole_phases;
  if (!shape || spec.in_channels % kWinogradPanel != 0 || spec.out_channels % kWinogradPanel != 0)
    return false;
  // A tile takes 36 multiplications (81 with stride 2) instead of 144 (fewer at an edge). With 16
  // tiles, transforming the weights once per pass costs little.
  const WinogradImages images = images_of(spec);
  const std::int64_t pixels = spec.batch * images.height * images.width;
  return (spec.stride == 1 ? 8 : 12) * images.tiles() <= pixels && images.tiles() >= 16 &&
         vector_kernels() != nullptr;
}

}  // namespace

std::unique_ptr<Conv2d> plan_winograd_conv2d(const Conv2dSpec& spec, const Stream& stream) {
  if (!fits(spec)) return nullptr;
  return std::make_unique<WinogradConv2d>(spec, images_of(spec), stream);
}

bool winograd_better_shared(const Conv2dSpec& spec, std::int64_t shards) {
  const std::int64_t in = spec.in_channels, out = spec.out_channels;
  const std::int64_t values =
      spec.batch * (std::int64_t{spec.in_height} * spec.in_width * in +
                    std::int64_t{spec.out_height()} * spec.out_width() * out);
  // Threads share the panels, so there must be at least as many panels as shards.
  return fits(spec) && 9 * in * out * shards > values &&
         std::min(in, out) >= shards * kWinogradPanel;
}

}  // namespace wellspring::ops::cpu
