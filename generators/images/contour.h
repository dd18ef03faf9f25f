// Engine and parameters that generators `visual_atom` and `rcdb` share. A closed polyline around a
// centre grows from orbit to orbit, and each vertex moves by a random step along its own direction.
// Each orbit is drawn in its own shade over the earlier ones. Host and device.
//
// Sources: H. Kataoka et al., "Replacing labeled real-image datasets with auto-generated contours",
// CVPR 2022 (RCDB), and S. Takashima et al., "Visual atoms: pre-training vision transformers with
// sinusoidal waves", CVPR 2023 (VisualAtom). Lengths are in pixels of the published 512-pixel
// images and scale with the shorter side of the canvas; lines are one canvas pixel wide.
#pragma once

#include "generators/images/contour_lines.h"
#include "generators/images/contour_noise.h"
#include "generators/sample_info.h"
#include "generators/table_cache.h"
#include "kernels/emission/bands.h"
#include "kernels/emission/resample.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "kernels/runtime/team.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

namespace contour {

/// Side of the published images, pixels.
inline constexpr float kPublishedSide = 512;
/// Upper limits of the parameters.
inline constexpr int kMostVertices = 2000, kMostOrbits = 400;
/// Largest side of a canvas, pixels.
inline constexpr int kMostSide = 4096;
/// Orbits per block of random words.
inline constexpr int kTogether = 4;

// Number of vertices that a member moves at once: the number of vector lanes on the host, one on a
// device. It does not affect the result.
#if WS_DEVICE_CODE
#define WS_VERTICES 1
#else
#define WS_VERTICES 16
#endif
/// Length of a contour in scratch memory: its vertices plus a copy of the first one, padded to
/// whole vectors.
WS_INLINE constexpr std::int32_t padded(std::int32_t vertices) {
  return (vertices + 16) / 16 * 16;
}

/// One sample; lengths in image pixels.
struct Scene {
  SampleRng rng;
  std::int32_t width, height;
  std::int32_t vertices, orbits;
  float centre_x, centre_y, radius_x, radius_y;
  float growth;                 ///< mean increase of the radius per orbit
  float noise;                  ///< coefficient of the noise, which is subtracted from the growth
  float wave;                   ///< amplitude of each of two sines added to the growth
  std::int32_t wave_1, wave_2;  ///< periods of the two sines around the contour
  std::uint32_t shades;         ///< exclusive upper limit of the orbits' shades; at most 255
};

}  // namespace contour

/// First members of both generators' parameters.
struct ContourParams {
  int classes = 1000;
  std::int64_t class_seed = 1;
  int vertices_low = 0, vertices_high = 0;
  int orbits_low = 1, orbits_high = 200;
  float noise_low = 0, noise_high = 4;
  float line_width = 0.1f;
  int radius_low = 0, radius_high = 0;
  float oval = 2;
  int spread = 0;
  int render = 0;
};

/// Common base of both functors: everything except their parameters and how they draw a scene.
class ContourPainter {
 public:
  /// Distribution of the noise.
  class Tables {
   public:
    std::vector<std::string> prepare(TableCache&) { return {}; }
    void plan(MemoryPlan& memory);
    void load(Stream& stream);
    void bind(ContourPainter& functor) const { functor.read(knots_.data()); }

   private:
    Planned<float> knots_;
  };
  void read(const float* knots) { knots_ = knots; }

  using Scene = contour::Scene;
  using Texel = std::uint8_t;
  static constexpr forms::Bands kForm = {.tells_cost = true};
  static constexpr GeneratorHooks kHooks = {.tables = true};

  WS_INLINE Texel background() const { return background_; }
  /// Throws a config error if the image is larger than 4096 pixels.
  std::size_t band_scratch(SampleShape shape) const;
  /// Number of lines to draw.
  static float cost(const Scene& scene) {
    return static_cast<float>(scene.vertices) * static_cast<float>(scene.orbits);
  }

  template <class Team>
  WS_INLINE void paint_band(Team& team, const Scene& scene, const Band& band, Texel* texels) const {
    constexpr int kLines = LoneTeam<Team> ? 8 : 1;  // lines that a member draws at once
    const std::int32_t stride = contour::padded(scene.vertices);
    const auto room = static_cast<std::size_t>(contour::padded(most_vertices_));
    Vertices vertex;
    vertex.x = team.template scratch<float>(room);
    vertex.y = team.template scratch<float>(room);
    vertex.step_x = team.template scratch<float>(room);
    vertex.step_y = team.template scratch<float>(room);
    vertex.noise_x = team.template scratch<float>(room);
    vertex.noise_y = team.template scratch<float>(room);
    auto* const pixel = team.template scratch<std::uint32_t>(contour::kTogether * room);
    auto* const shade = team.template scratch<std::uint8_t>(contour::kMostOrbits);
    const float* knots = knots_;
    if constexpr (!LoneTeam<Team>) {
      auto* const copy = team.template scratch<float>(contour::kKnots);
      for (int i = team.rank(); i < contour::kKnots; i += team.size()) copy[i] = knots_[i];
      knots = copy;
    }
    draw_shades(team, scene, shade);
    place_vertices(team, scene, stride, vertex);
    team.sync();
    for (std::int32_t first = 0; first < scene.orbits; first += contour::kTogether) {
      move_vertices(team, scene, first / contour::kTogether, stride, vertex, knots, pixel);
      team.sync();
      WS_UNROLL(1)
      for (int j = 0; j < contour::kTogether; ++j) {
        if (first + j >= scene.orbits) break;
        const std::uint32_t* const at = pixel + j * stride;
        for (std::int32_t v = team.rank() * kLines; v < scene.vertices; v += team.size() * kLines) {
          const std::int32_t next = kLines == 1 && v + 1 == scene.vertices ? 0 : v + 1;
          contour::draw_lines<kLines>(at + v, at + next, scene.vertices - v, shade[first + j],
                                      scene.width, band, texels);
        }
        team.sync();  // the next orbit is drawn over this one
      }
    }
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const Texel* texels, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    const std::int32_t pitch = Band::pitch_of(scene.width);
    colour.grey = true;
    if (resamples_) {
      const auto pixel = [&](int x, int y) WS_INLINED {
        const bool inside = x >= 0 && x < scene.width && y >= 0 && y < scene.height;
        const float value = grey(inside ? texels[y * pitch + x] : background_);
        return Rgb{value, value, value};
      };
      for (int i = 0; i < N; ++i) colour.r[i] = resample(run, i, pixel).r;
      return;
    }
    const float x0 = run.x[0] - 0.5f, y0 = run.y[0] - 0.5f;
    const bool inside = x0 >= 0 && x0 + static_cast<float>(N) <= static_cast<float>(scene.width) &&
                        y0 >= 0 && y0 < static_cast<float>(scene.height);
    if (run.in_step && inside && x0 == math::floor(x0) && y0 == math::floor(y0)) {
      const Texel* const first =
          texels + static_cast<std::int32_t>(y0) * pitch + static_cast<std::int32_t>(x0);
      WS_LANES
      for (int i = 0; i < N; ++i) colour.r[i] = grey(first[i]);
      return;
    }
    int on_grid = 1;
    WS_LANES
    for (int i = 0; i < N; ++i) {
      const float x = run.x[i] - 0.5f, y = run.y[i] - 0.5f;
      on_grid &= static_cast<int>(x == math::floor(x)) & static_cast<int>(y == math::floor(y));
    }
    for (int i = 0; i < N; ++i) {
      colour.r[i] = on_grid != 0 ? at(scene, texels, pitch, run.x[i], run.y[i])
                                 : bilinear(scene, texels, pitch, run.x[i], run.y[i]);
    }
  }

 protected:
  /// `background`: shade of pixels without an orbit.
  ContourPainter(const ContourParams& params, Texel background)
      : most_vertices_(params.vertices_high),
        background_(background),
        resamples_(params.render > 0) {}

  /// Blocks of random words for painting one sample.
  static std::int64_t paint_draws(int vertices, int orbits) {
    const int groups = (orbits + contour::kTogether - 1) / contour::kTogether;
    return std::int64_t{groups} * (contour::padded(vertices) + 1);
  }

  /// Uniform integer in [low, high].
  WS_INLINE static std::int32_t between(RngStream& draw, std::int32_t low, std::int32_t high) {
    return low +
           static_cast<std::int32_t>(draw.integer(static_cast<std::uint32_t>(high - low + 1)));
  }
  /// Converts a length from published pixels to image sides.
  WS_INLINE static float sides(float length) { return length / contour::kPublishedSide; }
  /// Coordinate of a centre in image sides; `offset` from the middle is in units of half a
  /// published pixel.
  WS_INLINE static float centre_latent(float offset) { return 0.5f + 0.5f * sides(offset); }
  WS_INLINE static Scene centred(const SampleKey& key, float offset_x, float offset_y) {
    const float half = 0.5f * scale_of(key.shape);
    Scene scene;
    scene.rng = key.rng;
    scene.width = key.shape.width;
    scene.height = key.shape.height;
    scene.centre_x = math::fma(half, offset_x, 0.5f * static_cast<float>(key.shape.width));
    scene.centre_y = math::fma(half, offset_y, 0.5f * static_cast<float>(key.shape.height));
    return scene;
  }

  // For describe().
  /// Describes all classes of a generator: adds their names and numbers of draws to `info`.
  template <class Functor>
  static std::vector<typename Functor::Class> list_classes(const Functor& functor, int count,
                                                           SampleInfo& info) {
    std::vector<typename Functor::Class> classes;
    for (int k = 0; k < count; ++k) {
      classes.push_back(functor.class_of(static_cast<std::uint32_t>(k)));
      info.classes.push_back(class_name(k));
      info.draws.part =
          std::max(info.draws.part, paint_draws(classes.back().vertices, classes.back().orbits));
    }
    return classes;
  }
  using Ends = std::pair<float, float>;
  /// Range of a class member over all classes, times `unit`.
  template <class Class, class Value>
  static Ends range_over(const std::vector<Class>& classes, Value Class::*member, float unit) {
    const auto [low, high] =
        std::minmax_element(classes.begin(), classes.end(),
                            [&](const Class& a, const Class& b) { return a.*member < b.*member; });
    return {static_cast<float>((*low).*member) / unit, static_cast<float>((*high).*member) / unit};
  }
  /// Latents centre, radius, oval_x, oval_y; then the class's vertices, orbits, noise, line_width.
  template <class Class>
  static std::vector<LatentInfo> latents_of(const std::vector<Class>& classes, int spread,
                                            Ends radius, Ends oval_x, Ends oval_y) {
    constexpr float kSide = contour::kPublishedSide;
    return list_latents(spread, radius, oval_x, oval_y, range_over(classes, &Class::vertices, 1),
                        range_over(classes, &Class::orbits, 1),
                        range_over(classes, &Class::noise, kSide),
                        range_over(classes, &Class::line_width, kSide));
  }

  /// Image pixels per published pixel.
  WS_INLINE static float scale_of(SampleShape shape) {
    const std::int32_t side = shape.width < shape.height ? shape.width : shape.height;
    return static_cast<float>(side) / contour::kPublishedSide;
  }

 private:
  static std::string class_name(int k);
  static std::vector<LatentInfo> list_latents(int spread, Ends radius, Ends oval_x, Ends oval_y,
                                              Ends vertices, Ends orbits, Ends noise,
                                              Ends line_width);

  struct Vertices {
    float *x, *y;
    float *step_x, *step_y;    ///< step per orbit without noise
    float *noise_x, *noise_y;  ///< step per unit of noise
  };

  template <class Team>
  WS_INLINE void draw_shades(Team& team, const Scene& scene, std::uint8_t* shade) const {
    for (int i = team.rank() * contour::kTogether; i < scene.orbits;
         i += team.size() * contour::kTogether) {
      const Philox4 block =
          scene.rng.block(Purpose::colour, static_cast<std::uint32_t>(i / contour::kTogether));
      WS_UNROLL(4)
      for (int j = 0; j < contour::kTogether; ++j) {
        const std::uint32_t value = below(block.word[j], scene.shades);
        shade[i + j] = static_cast<std::uint8_t>(value > 255 ? 255u : value);
      }
    }
  }

  /// Places the vertices of the initial contour.
  template <class Team>
  WS_INLINE void place_vertices(Team& team, const Scene& scene, std::int32_t count,
                                const Vertices& vertex) const {
    const auto vertices = static_cast<float>(scene.vertices);
    // Drops whole turns from the integer first, because they would cost significant digits.
    const auto wave = [&](std::int32_t v, std::int32_t periods) {
      const auto part = static_cast<float>(v * periods % scene.vertices) / vertices;
      return scene.wave * math::sin_turns(part);
    };
    for (std::int32_t v = team.rank(); v < count; v += team.size()) {
      const auto to = math::sincos_turns(static_cast<float>(v) / vertices);
      const float step = scene.growth + (wave(v, scene.wave_1) + wave(v, scene.wave_2));
      vertex.x[v] = math::fma(scene.radius_x, to.cosine, scene.centre_x);
      vertex.y[v] = math::fma(scene.radius_y, to.sine, scene.centre_y);
      vertex.step_x[v] = to.cosine * step;
      vertex.step_y[v] = to.sine * step;
      vertex.noise_x[v] = -(to.cosine * scene.noise);
      vertex.noise_y[v] = -(to.sine * scene.noise);
    }
  }

  /// Moves each vertex by the next kTogether orbits and stores its pixels: [kTogether, stride].
  template <class Team>
  WS_INLINE void move_vertices(Team& team, const Scene& scene, std::int32_t group,
                               std::int32_t stride, const Vertices& vertex, const float* knots,
                               std::uint32_t* pixel) const {
    constexpr int kLanes = WS_VERTICES;
    const std::uint32_t draws = static_cast<std::uint32_t>(group) << 16;
    const std::int32_t count = WS_DEVICE_CODE ? scene.vertices : stride;
    for (std::int32_t v = team.rank() * kLanes; v < count; v += team.size() * kLanes) {
      std::uint32_t words[contour::kTogether][kLanes];
      WS_LANES
      for (int l = 0; l < kLanes; ++l) {
        const Philox4 block =
            scene.rng.block(Purpose::texture, draws + static_cast<std::uint32_t>(v + l));
        words[0][l] = block.word[0];
        words[1][l] = block.word[1];
        words[2][l] = block.word[2];
        words[3][l] = block.word[3];
      }
      WS_LANES
      for (int l = 0; l < kLanes; ++l) {
        float x = vertex.x[v + l], y = vertex.y[v + l];
        WS_UNROLL(4)
        for (int j = 0; j < contour::kTogether; ++j) {
          const float noise_x = contour::noise_value(knots, words[j][l] & 0xffffu);
          const float noise_y = contour::noise_value(knots, words[j][l] >> 16);
          x = math::fma(vertex.noise_x[v + l], noise_x, x + vertex.step_x[v + l]);
          y = math::fma(vertex.noise_y[v + l], noise_y, y + vertex.step_y[v + l]);
          pixel[j * stride + v + l] = contour::pixel_word(x, y);
        }
        vertex.x[v + l] = x;
        vertex.y[v + l] = y;
      }
    }
    if constexpr (LoneTeam<Team>) {  // closes the contour: its last line ends at the first vertex
      for (int j = 0; j < contour::kTogether; ++j)
        pixel[j * stride + scene.vertices] = pixel[j * stride];
    }
  }

  WS_INLINE static float grey(Texel texel) { return static_cast<float>(texel) * (1.0f / 255); }
  /// The pixel at a point; the background if the point is outside the image.
  WS_INLINE float at(const Scene& scene, const Texel* texels, std::int32_t pitch, float x,
                     float y) const {
    const bool inside = x >= 0 && x < static_cast<float>(scene.width) && y >= 0 &&
                        y < static_cast<float>(scene.height);
    if (!inside) return grey(background_);
    return grey(texels[static_cast<std::int32_t>(y) * pitch + static_cast<std::int32_t>(x)]);
  }
  /// Bilinear interpolation of the four nearest pixels.
  WS_INLINE float bilinear(const Scene& scene, const Texel* texels, std::int32_t pitch, float x,
                           float y) const {
    const float left = math::floor(x - 0.5f) + 0.5f, top = math::floor(y - 0.5f) + 0.5f;
    const float u = x - left, v = y - top;
    return math::lerp(
        math::lerp(at(scene, texels, pitch, left, top), at(scene, texels, pitch, left + 1, top), u),
        math::lerp(at(scene, texels, pitch, left, top + 1),
                   at(scene, texels, pitch, left + 1, top + 1), u),
        v);
  }

  const float* knots_ = nullptr;
  std::int32_t most_vertices_;  ///< maximum over all classes
  Texel background_;
  bool resamples_;  ///< true: the canvas has its own size, and is read with antialiasing
};

}  // namespace wellspring
