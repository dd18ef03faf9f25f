#include "generators/images/ifs3d.h"

#include "core/text/progress.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

namespace wellspring {

const ParamTable<Ifs3d::Params>& Ifs3d::table() {
  static const auto rows =
      ParamTable<Params>("ifs3d")
          .integer("categories", &Params::categories, {1, 100000}, "",
                   "number of classes; class k does not depend on it",
                   "ExFractalDB-1k, -21k: 1000, 21000")
          .integer("category_seed", &Params::category_seed, {0}, "",
                   "seed of the systems, independent of the seed of the samples")
          .real("variance", &Params::variance, {0.001, 0.2}, "",
                "minimum variance of a class's points along each axis, scaled to [-1, 1]",
                "ExFractalDB: 0.05 (default of its program: 0.15)")
          .choice("views", &Params::views, {{"twelve", Views::twelve}, {"random", Views::random}},
                  "camera positions: twelve around the vertical axis, or random directions",
                  "MV-FractalDB: twelve; ExFractalDB: random")
          .real("jitter", &Params::jitter, {0, 15}, "degrees",
                "views: twelve; largest deviation of a view's angle",
                "the published program: pi, meant in radians but used in degrees")
          .only_where([](const Params& p) { return p.views == Views::twelve; }, "views: twelve")
          .real("elevation", &Params::elevation, {0, 90}, "degrees",
                "views: random; largest angle above or below the horizon")
          .only_where([](const Params& p) { return p.views == Views::random; }, "views: random")
          .choice("palette", &Params::palette,
                  {{"white", Palette::white}, {"depth", Palette::depth}},
                  "white: white points; depth: nearer points are brighter", "both data sets: white")
          .integer("points", &Params::points, {0, kMostPoints}, "",
                   "number of points; 0: the published density, 10,000 on 224x224 pixels",
                   "both data sets: 10,000 at 224 pixels")
          .integer("walkers", &Params::walkers, {1, 65536}, "",
                   "number of concurrent walkers, at most a quarter of the points")
          .integer("burn_in", &Params::burn_in, {0, 4096}, "",
                   "number of initial steps of each walker that are not drawn")
          .preset(
              "exfractaldb-1k", {{"categories", "1000"}, {"views", "random"}, {"points", "10000"}},
              "145 variations, random views; Kataoka et al., CVPR 2022, with our own categories")
          .preset("mv-fractaldb-1k",
                  {{"categories", "1000"}, {"views", "twelve"}, {"points", "10000"}},
                  "145 variations, 12 views; Yamada et al., IROS 2021, with our own categories");
  return rows;
}

SampleInfo Ifs3d::describe(const Params& params) {
  SampleInfo info;
  info.name = "ifs3d";
  info.summary = "Attractors of random affine maps in 3D (ExFractalDB); class: the system of maps";
  info.reference =
      "Kataoka et al., Replacing labeled real-image datasets with auto-generated contours, CVPR "
      "2022";
  for (int k = 0; k < params.categories; ++k) info.classes.push_back(fmt::format("{:05d}", k));
  const bool anywhere = params.views == Views::random;
  const float highest =
      anywhere ? params.elevation / 360 * math::kTau + 1e-5f : 0.0f;  // plus a margin for rounding
  const float last_view = anywhere ? 0.0f : kViews - 1;
  info.latents = {
      {"variation", "weighting of the coefficients, one of 145", "", 0, ifs3d::kVariations - 1},
      {"view", "view, one of twelve; 0 for random views", "", 0, last_view},
      {"azimuth", "azimuth of the view direction about the vertical axis", "rad", 0, math::kTau,
       LatentRole::unmapped},
      {"elevation", "elevation of the view direction above the horizon", "rad", -highest, highest,
       LatentRole::unmapped}};
  info.plane = {"depth",
                "depth of the nearest point along the viewing axis; the camera is 4 from the "
                "centre of a model of radius 1.5; 0: no point",
                "", PlaneInfo::Kind::depth};
  // One block serves eight steps of a walker. Hosts always move 16 walkers at once.
  const std::int64_t walkers = (params.walkers + 15) / 16 * 16;
  info.draws.scene = 2;
  info.draws.part = walkers * ((params.burn_in + 16) / 8);
  if (params.points > 0) {
    info.draws.part += (params.points + 7) / 8;
  } else {
    info.draws.pixel = 1;
  }
  return info;
}

std::vector<std::string> Ifs3d::Tables::prepare(TableCache& cache) {
  const ifs3d::CategorySpec spec = {params_.category_seed, params_.variance};
  const TableKey key = {
      "ifs3d", ifs3d::kCategoryVersion, "categories",
      fmt::format("count {} seed {} variance {}", params_.categories, spec.seed, spec.variance)};
  const auto bytes = cache.get(key, [&] {
    Progress::Options options;
    options.title = "ifs3d: categories";
    options.total = static_cast<std::uint64_t>(params_.categories);
    Progress progress(std::move(options));
    const ifs3d::CategoryTable table = ifs3d::make_categories(
        spec, params_.categories, Stream(Device::cpu()).threads(), &progress);
    std::vector<std::byte> whole;
    for (const auto part :
         {std::as_bytes(std::span(table.categories)), std::as_bytes(std::span(table.frames))}) {
      whole.insert(whole.end(), part.begin(), part.end());
    }
    return whole;
  });
  const auto count = static_cast<std::size_t>(params_.categories);
  table_.categories.resize(count);
  table_.frames.resize(count * ifs3d::kVariations);
  const auto categories = std::as_writable_bytes(std::span(table_.categories));
  const auto frames = std::as_writable_bytes(std::span(table_.frames));
  WS_EXPECT(bytes.size() == categories.size() + frames.size());
  std::memcpy(categories.data(), bytes.data(), categories.size());
  std::memcpy(frames.data(), bytes.data() + categories.size(), frames.size());
  return cache.notes();
}

void Ifs3d::Tables::plan(MemoryPlan& memory) {
  category_ = memory.reserve<ifs3d::Category>("ifs3d", "categories", table_.categories.size());
  frame_ = memory.reserve<ifs3d::Frame>("ifs3d", "frames", table_.frames.size());
}

void Ifs3d::Tables::load(Stream& stream) {
  stream.copy(category_.data(), table_.categories.data(), category_.bytes(),
              CopyDirection::host_to_device, "categories");
  stream.copy(frame_.data(), table_.frames.data(), frame_.bytes(), CopyDirection::host_to_device,
              "frames");
  stream.synchronize();
}

}  // namespace wellspring
