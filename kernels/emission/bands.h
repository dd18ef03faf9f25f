// Emission of images that are painted in order, later strokes over earlier ones. One team processes
// the strokes of a sample, with barriers where the order matters, and stores bytes. Called by the
// emitters; host and device.
//
// A functor of this form has, in addition to the requirements of scene_buffer.h,
//
//     static constexpr forms::Bands kForm;               states the optional hooks
//     using Texel = std::uint8_t;                        value of a pixel before it is coloured
//     Texel background() const;                          value of pixels without a stroke
//     std::size_t band_scratch(SampleShape) const;       bytes of scratch for paint_band; may throw
//     template <class Team>
//     void paint_band(Team&, const Scene&, const Band&, Texel*) const;
//     template <int N>
//     void shade(const Scene&, const Texel*, const PixelRun<N>&, ColourRun<N>&) const;
//
// Texels take a quarter of the memory of a canvas that stores the order in its cells (canvas.h). A
// picture, or half of one, therefore fits into a multiprocessor's shared memory, where stores are
// cheapest. A larger picture is cut into bands of rows, with one team each. Every team processes
// all strokes but draws only within its band, so the bytes do not depend on the number of bands.
// Pictures are not cut on a host, whose few threads would repeat all strokes for each band. A
// picture that is too large for scratch is painted in planned memory instead.
#pragma once

#include "kernels/emission/paint.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/emission/stored_cells.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace wellspring {

/// Rows of a picture. The texel of pixel (x, y) has the index (y - y0) * pitch + x.
struct Band {
  std::int32_t y0 = 0, rows = 0, pitch = 0;

  /// Texels from one row to the next; rows are padded to blocks of 16 bytes.
  WS_INLINE static constexpr std::int32_t pitch_of(std::int32_t width) {
    return (width + 15) / 16 * 16;
  }
};

namespace detail {

struct alignas(16) TexelBlock {
  std::uint64_t low, high;
};

/// Called by all members: paints a band over the background. Ends with a barrier.
template <class F, class Team>
WS_INLINE void paint_over_background(Team& team, const F& image, const typename F::Scene& scene,
                                     const Band& band, TexelBlock* blocks) {
  const std::uint64_t eight = 0x0101010101010101u * image.background();
  const std::int32_t count = band.rows * band.pitch / static_cast<int>(sizeof(TexelBlock));
  for (std::int32_t i = team.rank(); i < count; i += team.size()) blocks[i] = {eight, eight};
  team.sync();
  image.paint_band(team, scene, band, reinterpret_cast<typename F::Texel*>(blocks));
  team.sync();
}

}  // namespace detail

/// Common part of the functors that paint and shade a sample in one launch.
template <class F, class T>
struct PaintPicture {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  BatchView batch;
  Band whole;

  static constexpr RunsOn kRunsOn = detail::kRunsOn<T>;
  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  /// Estimated cost of row b, for the scheduling of host threads.
  float cost(std::int64_t b) const requires TellsCost<F> {
    return slots[b].source == source ? image.cost(drawn[b].scene) : 0;
  }

 protected:
  template <class Team>
  WS_INLINE void paint(Team& team, std::int64_t b, detail::TexelBlock* blocks) const {
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    detail::paint_over_background(team, image, sample.scene, whole, blocks);
    const SampleShape shape = batch.layout.shape();
    const PixelTile tile = {0, 0, shape.width, shape.height};
    const auto* const texels = reinterpret_cast<const typename F::Texel*>(blocks);
    detail::paint_tile<T>(team, sample.view, tile, batch, b,
                          [&](const auto& run, auto& colour)
                              WS_INLINED { image.shade(sample.scene, texels, run, colour); });
  }
};

/// Team functor for texels that fit into scratch memory.
template <class F, class T>
struct PaintBandInScratch : PaintPicture<F, T> {
  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (this->slots[b].source != this->source) return;
    const auto texels = static_cast<std::size_t>(this->whole.rows) * this->whole.pitch;
    this->paint(team, b,
                team.template scratch<detail::TexelBlock>(texels / sizeof(detail::TexelBlock)));
  }
};

/// Team functor for texels in planned memory.
template <class F, class T>
struct PaintBandInMemory : PaintPicture<F, T> {
  typename F::Texel* pictures;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (this->slots[b].source != this->source) return;
    const auto texels = static_cast<std::int64_t>(this->whole.rows) * this->whole.pitch;
    this->paint(team, b, reinterpret_cast<detail::TexelBlock*>(pictures + b * texels));
  }
};

/// Team functor: paints a band in scratch and copies it to planned memory.
template <class F>
struct PaintBands {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  typename F::Texel* pictures;
  std::int32_t height, band_rows, pitch, bands;

  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const std::int64_t b = index / bands;
    if (slots[b].source != source) return;
    Band band = {static_cast<std::int32_t>(index % bands) * band_rows, band_rows, pitch};
    if (band.y0 + band.rows > height) band.rows = height - band.y0;
    auto* const place = reinterpret_cast<detail::TexelBlock*>(
        pictures + (b * height + band.y0) * static_cast<std::int64_t>(pitch));
    const std::int32_t count = band.rows * pitch / static_cast<int>(sizeof(detail::TexelBlock));
    auto* const blocks = team.template scratch<detail::TexelBlock>(static_cast<std::size_t>(count));
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    detail::paint_over_background(team, image, sample.scene, band, blocks);
    for (std::int32_t i = team.rank(); i < count; i += team.size()) place[i] = blocks[i];
  }
};

/// Planned memory and launches of band functors.
template <class F>
class BandEmitter {
  using Texel = typename F::Texel;
  static_assert(sizeof(Texel) == 1);

 public:
  /// `most_scratch`: scratch limit per team, bytes. `most_bands`: maximum number of bands; a
  /// picture that needs more is painted in planned memory.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& image,
            SampleShape source_shape, std::size_t most_scratch, std::int32_t most_bands,
            const LatentRoles& roles = {}) {
    drawn_.plan(memory, group, rows, roles);
    pitch_ = Band::pitch_of(source_shape.width);
    rest_ =
        image.band_scratch(source_shape) + sizeof(detail::TexelBlock) + detail::drawn_scratch<F>();
    const std::size_t room = most_scratch > rest_ ? most_scratch - rest_ : 0;
    const auto fitting = static_cast<std::int32_t>(room / static_cast<std::size_t>(pitch_));
    in_place_ = std::int64_t{fitting} * most_bands < source_shape.height;
    bands_ = in_place_ ? 1 : (source_shape.height + fitting - 1) / fitting;
    band_rows_ = (source_shape.height + bands_ - 1) / bands_;
    pictures_ = {};
    if (in_place_ || bands_ > 1) {
      pictures_ = memory.reserve<Texel>(
          group, "pictures", static_cast<std::size_t>(rows * source_shape.height) * pitch_);
    }
  }
  /// Number of bands per picture; 0: painted in planned memory.
  int bands() const { return in_place_ ? 0 : bands_; }

  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& image, SampleShape source_shape,
            const EmitCall& call) const {
    const DrawnImage<F>* const drawn = drawn_.draw(launch, name, image, source_shape, call);
    const std::int64_t rows = call.batch.size;
    const std::size_t texels =
        in_place_ ? 0 : static_cast<std::size_t>(band_rows_) * static_cast<std::size_t>(pitch_);
    const TeamShape team = {kSampleTeam.threads, texels + rest_};
    if (bands_ == 1) {
      const Band whole = {0, source_shape.height, pitch_};
      detail::visit_x<F>(launch.device(), call.batch.dtype, [&]<class T>(T) {
        const PaintPicture<F, T> picture{image, call.slots, call.source, drawn, call.batch, whole};
        if (in_place_) {
          launch.league(name, rows, team, PaintBandInMemory<F, T>{picture, pictures_.data()});
        } else {
          launch.league(name, rows, team, PaintBandInScratch<F, T>{picture});
        }
      });
      return;
    }
    launch.league(name, rows * bands_, team,
                  PaintBands<F>{image, call.slots, call.source, drawn, pictures_.data(),
                                source_shape.height, band_rows_, pitch_, bands_});
    shade_stored(launch, name, image, drawn, call, pictures_.data(),
                 std::int64_t{source_shape.height} * pitch_);
  }

 private:
  DrawnImages<F> drawn_;
  Planned<Texel> pictures_;
  std::size_t rest_ = 0;
  std::int32_t pitch_ = 0, band_rows_ = 0, bands_ = 1;
  bool in_place_ = true;
};

}  // namespace wellspring
