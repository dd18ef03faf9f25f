#include "generators/images/ifs.h"

#include "core/error.h"
#include "core/text/progress.h"
#include "generators/functor_generator.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

namespace wellspring {

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// 200,000 points on 362x362 pixels.
Settings fractaldb(std::string categories) {
  return {{"categories", std::move(categories)},
          {"weight_step", "0.4"},
          {"patches", "10"},
          {"keep_degenerate", "true"},
          {"points", "200000"},
          {"render", "362"},
          {"box", "points"}};
}
constexpr const char* kAsPublished =
    "25 variations, 10 drawings, 4 flips; Kataoka et al., ACCV 2020, with our own categories";
Settings official(std::string categories) {
  Settings settings = fractaldb(std::move(categories));
  settings.emplace_back("search", "official");
  return settings;
}

/// 100,000 points on 224x224 pixels; no margin.
Settings svd(std::string categories) {
  return {{"mode", "svd"},      {"categories", std::move(categories)},
          {"points", "100000"}, {"palette", "colour"},
          {"margin", "0"},      {"render", "224"}};
}
/// One drawing of 100,000 points on 512x512 pixels, with a margin of 6 pixels.
Settings one_parameter(std::string categories, std::string sigma) {
  return {{"mode", "one_parameter"}, {"categories", std::move(categories)},
          {"perturbation", "0.1"},   {"sigma", std::move(sigma)},
          {"patches", "1"},          {"points", "100000"},
          {"margin", "0.01171875"},  {"render", "512"}};
}

}  // namespace

const ParamTable<Ifs::Params>& Ifs::table() {
  constexpr auto kFractalDb = [](const Params& p) { return p.mode == Mode::fractaldb; };
  constexpr auto kSearches = [](const Params& p) {
    return p.mode == Mode::fractaldb && p.class_file.empty();
  };
  constexpr auto kCounts = [](const Params& p) { return p.class_file.empty(); };
  constexpr auto kFiles = [](const Params& p) { return !p.class_file.empty(); };
  constexpr auto kSvd = [](const Params& p) { return p.mode == Mode::svd; };
  constexpr auto kOneParameter = [](const Params& p) { return p.mode == Mode::one_parameter; };
  static const auto rows =
      ParamTable<Params>("ifs")
          .choice("mode", &Params::mode,
                  {{"fractaldb", Mode::fractaldb},
                   {"svd", Mode::svd},
                   {"one_parameter", Mode::one_parameter}},
                  "fractaldb: random affine maps, selected by filling rate; svd: contractions "
                  "built from singular values; one_parameter: perturbations of one such system")
          .integer("categories", &Params::categories, {1, 100000}, "",
                   "number of classes; class k does not depend on it",
                   "FractalDB-60, -1k and -10k: 60, 1000, 10000")
          .only_where(kCounts, "no class_file")
          .integer("category_seed", &Params::category_seed, {0}, "",
                   "seed of the systems, independent of the seed of the samples")
          .real("rate", &Params::rate, {0.01, 0.25}, "share of pixels",
                "minimum filling rate of a class: share of 512x512 pixels hit by 100,000 points",
                "FractalDB: 0.2")
          .only_where(kSearches, "mode: fractaldb and no class_file")
          .real("weight_step", &Params::weight_step, {0, 0.5}, "",
                "variations multiply a coefficient by 1 - 2w, 1 - w, 1 + w, 1 + 2w",
                "FractalDB: 0.4 (default of its program: 0.1)")
          .only_where(kFractalDb, "mode: fractaldb")
          .flag("keep_degenerate", &Params::keep_degenerate,
                "keep variations that diverge or show almost nothing", "FractalDB: true")
          .only_where(kFractalDb, "mode: fractaldb")
          .real("least_fill", &Params::least_fill, {0, 0.2}, "share of pixels",
                "filling rate below which a variation counts as degenerate")
          .only_where(kFractalDb, "mode: fractaldb")
          .integer("patches", &Params::patches, {0, 1000000}, "",
                   "distinct drawings (points and patches) per variation; 0: a new one per sample",
                   "FractalDB: 10, all with the same points")
          .choice("stamp", &Params::stamp, {{"patch", Stamp::patch}, {"point", Stamp::point}},
                  "patch: a random opaque 3x3 patch per point; point: a single pixel",
                  "FractalDB: patch")
          .choice("palette", &Params::palette,
                  {{"grey", Palette::grey}, {"colour", Palette::colour}},
                  "grey: 127 of 255; colour: hue from the point's number", "FractalDB: grey")
          .integer("points", &Params::points, {0, ifs::kMostPoints}, "",
                   "number of points; 0: the published density, 200,000 on 362x362 pixels of the "
                   "picture",
                   "FractalDB: 200,000 at 362 pixels")
          .real("picture", &Params::picture, {1, 4}, "image side",
                "side of the whole picture; above 1 a random part of it is visible",
                "FractalDB trains on 224 of 362 pixels: 1.616")
          .real("margin", &Params::margin, {0, 0.25}, "picture side", "margin around the points",
                "FractalDB: 6 of 362 pixels")
          .integer("walkers", &Params::walkers, {1, 65536}, "",
                   "number of concurrent walkers, at most a quarter of the points")
          .integer("burn_in", &Params::burn_in, {0, 4096}, "",
                   "number of initial steps of each walker that are not drawn")
          .integer("maps_low", &Params::maps_low, {2, 7}, "", "mode svd: smallest number of maps",
                   "Anderson and Farrell: 2")
          .only_where(kSvd, "mode: svd")
          .integer("maps_high", &Params::maps_high, {2, 7}, "", "mode svd: largest number of maps",
                   "Anderson and Farrell: 4")
          .only_where(kSvd, "mode: svd")
          .integer("jitters", &Params::jitters, {0, ifs::kVariations - 1}, "",
                   "mode svd: variations of a class, in which one map is multiplied by 0.8 to 1.1",
                   "Anderson and Farrell: a new one per sample")
          .only_where(kSvd, "mode: svd")
          .real("shift", &Params::shift, {0, 1}, "box side",
                "mode svd: largest offset of the window's centre from that of the points' bounding "
                "box",
                "Anderson and Farrell: 0.2")
          .only_where(kSvd, "mode: svd")
          .real("zoom_low", &Params::zoom_low, {0.1, 10}, "box side",
                "mode svd: smallest side of the window", "Anderson and Farrell: 0.5")
          .only_where(kSvd, "mode: svd")
          .real("zoom_high", &Params::zoom_high, {0.1, 10}, "box side",
                "mode svd: largest side of the window", "Anderson and Farrell: 2")
          .only_where(kSvd, "mode: svd")
          .choice("background", &Params::background,
                  {{"plasma", Background::plasma}, {"black", Background::black}},
                  "mode svd: background of the points", "Anderson and Farrell: plasma")
          .only_where(kSvd, "mode: svd")
          .real("sigma", &Params::sigma, {3, 5.9}, "",
                "mode one_parameter: sum of s1 + 2 s2 (singular values) over the system's maps, +- "
                "0.1",
                "1p-frac: 4.0 (default of its program: 3.5)")
          .only_where(kOneParameter, "mode: one_parameter")
          .real("perturbation", &Params::perturbation, {0, 0.5}, "",
                "mode one_parameter: D; each class multiplies the coefficients by U(1 - D, 1 + D)",
                "1p-frac: 0.1")
          .only_where(kOneParameter, "mode: one_parameter")
          .integer("render", &Params::render, {0, kMostSide}, "pixels", kRenderHelp,
                   "FractalDB: 362; 1p-frac: 512; Anderson and Farrell: 224")
          .choice(
              "box", &Params::box, {{"survey", Box::survey}, {"points", Box::points}},
              "mode fractaldb: box that fills the picture. survey: that of 100,000 other points "
              "of the variation; points: that of the picture's own points, which takes a second "
              "walk",
              "FractalDB: points")
          .only_where(kFractalDb, "mode: fractaldb")
          .choice("search", &Params::search,
                  {{"own", ifs::Search::own}, {"official", ifs::Search::official}},
                  "mode fractaldb. own: independent search per class; official: the systems of the "
                  "published search with NumPy seed `category_seed`",
                  "FractalDB-1k: official, seed 1")
          .only_where(kSearches, "mode: fractaldb and no class_file")
          .text_list(
              "class_file", &Params::class_file,
              "files of systems, one class per file, or a folder of .csv files: a row a,b,c,d,e,f "
              "or a,b,c,d,e,f,p per map (p: its probability), as FractalDB publishes them; "
              "paths are "
              "relative to the configuration")
          .paths()
          .only_where(kFractalDb, "mode: fractaldb")
          .text("class_hash", &Params::class_hash,
                "SHA-256 of the class files; set when they are read, and checked if given")
          .only_where(kFiles, "class_file")
          .preset("fractaldb-60", fractaldb("60"), kAsPublished)
          .preset("fractaldb-1k", fractaldb("1000"), kAsPublished)
          .preset("fractaldb-10k", fractaldb("10000"), kAsPublished)
          .preset("fractaldb-1k-official", official("1000"),
                  "25 variations, 10 drawings, 4 flips; Kataoka et al., ACCV 2020, with the "
                  "published categories")
          .preset("fractal-svd-1k", svd("1000"),
                  "windows, hues and plasma of Anderson and Farrell, WACV 2022; our own systems")
          .preset("1p-frac-1k", one_parameter("1000", "4"),
                  "D = 0.1, sigma of the published script; Nakamura et al., ECCV 2024, with our "
                  "own system")
          .preset("1p-frac-1k-sigma3.5", one_parameter("1000", "3.5"),
                  "1p-frac-1k with the sigma of the published networks");
  return rows;
}

namespace {

/// The class files of the parameters; none without `class_file`. Throws a config error if their hash
/// is not the given one.
ifs::ClassFiles class_files(const Ifs::Params& params) {
  if (params.class_file.empty()) return {};
  ifs::ClassFiles files = ifs::read_class_files(params.class_file);
  if (params.class_hash.empty() || params.class_hash == files.hash) return files;
  fail(ErrorKind::config,
       {fmt::format("ifs: the class files in {} have changed", params.class_file.front()),
        fmt::format("their SHA-256 is {}, and class_hash is {}", files.hash, params.class_hash),
        "restore the files, or remove class_hash to use the new ones"});
}

}  // namespace

Ifs::Ifs(const Params& params)
    : params_(params), density_(kDensities[static_cast<int>(params.mode)]) {
  constexpr std::int64_t kLargestSeed = std::numeric_limits<std::uint32_t>::max();
  if (params.search == ifs::Search::official && params.category_seed > kLargestSeed) {
    fail(ErrorKind::config,
         {fmt::format("ifs: category_seed is {} with search official", params.category_seed),
          "NumPy's generator is seeded by 32 bits",
          fmt::format("use {} or less; the published seed is 1", kLargestSeed)});
  }
  table().expect_ordered(params, {"maps", "zoom"});
  if (!params.class_file.empty())
    params_.categories = static_cast<int>(class_files(params).systems.size());
}

std::unique_ptr<Generator> Ifs::instead(Params params, SampleShape shape,
                                        const std::vector<GeneratorEntry>& /*others*/) {
  if (params.class_file.empty() || !params.class_hash.empty()) return nullptr;
  params.class_hash = ifs::read_class_files(params.class_file).hash;
  return std::make_unique<FunctorGenerator<Ifs>>(params, shape);
}

namespace {

/// Number of systems per class.
int variations(const Ifs::Params& params) {
  switch (params.mode) {
    case Ifs::Mode::fractaldb:
      return ifs::kVariations;
    case Ifs::Mode::svd:
      return 1 + static_cast<int>(params.jitters);
    case Ifs::Mode::one_parameter:
      return 1;
  }
  return 1;
}

}  // namespace

SampleInfo Ifs::describe(const Params& params) {
  SampleInfo info;
  info.name = "ifs";
  info.summary = "Attractors of random affine maps (FractalDB); class: the system of maps";
  constexpr const char* kReferences[] = {
      "Kataoka et al., Pre-training without natural images, ACCV 2020",
      "Anderson and Farrell, Improving fractal pre-training, WACV 2022",
      "Nakamura et al., Scaling backwards: minimal synthetic pre-training?, ECCV 2024"};
  info.reference = kReferences[static_cast<int>(params.mode)];
  const bool counts = params.mode == Mode::svd;
  if (params.class_file.empty()) {
    for (int k = 0; k < params.categories; ++k) info.classes.push_back(fmt::format("{:05d}", k));
  } else {
    info.classes = class_files(params).names;
  }
  const auto last = [](int count) { return static_cast<float>(count > 0 ? count - 1 : 0); };
  const float part = params.picture > 1 ? 1.0f : 0.0f;
  info.latents = {{"variation", "variation of the class's maps", "", 0, last(variations(params))},
                  {"drawing", "drawing of the variation", "", 0, last(params.patches)},
                  {"flip_x", "1: mirrored left to right", "", 0, 1, LatentRole::unmapped},
                  {"flip_y", "1: mirrored top to bottom", "", 0, 1, LatentRole::unmapped},
                  {"part_x", "position of the visible part: 0 left, 1 right; 0 if all is visible",
                   "", 0, part, LatentRole::unmapped},
                  {"part_y", "position of the visible part: 0 top, 1 bottom; 0 if all is visible",
                   "", 0, part, LatentRole::unmapped}};
  info.canvas = params.render;
  info.high = params.palette == Palette::grey ? kGrey : 191.0f / 255;
  if (params.render > 0) info.high = 1;  // bicubic kernels overshoot
  if (counts) {
    info.high = 1;
    const auto role = LatentRole::unmapped;
    const std::vector<LatentInfo> more = {
        {"transposed", "1: mirrored about a diagonal, before the flips", "", 0, 1, role},
        {"shift_x", "offset of the window along the fractal's x axis", "box side", -params.shift,
         params.shift, role},
        {"shift_y", "offset of the window along the fractal's y axis", "box side", -params.shift,
         params.shift, role},
        {"zoom_x", "side of the window along the fractal's x axis", "box side", params.zoom_low,
         params.zoom_high, role},
        {"zoom_y", "side of the window along the fractal's y axis", "box side", params.zoom_low,
         params.zoom_high, role},
        {"mask", "patch of all points, one bit per pixel", "", 1, 511},
        {"hue",
         "hue at zero coverage, in units of 2 degrees; at the largest coverage, it is 255 units "
         "higher",
         "", 0, 255, LatentRole::colour},
        {"saturation", "saturation of the points", "", 0.3f, 1, LatentRole::colour},
        {"value", "value (HSV) of the points", "", 0.5f, 1, LatentRole::colour},
        {"decay", "decay rate of the background's amplitudes per level", "", 0.4f, 0.8f}};
    info.latents.insert(info.latents.end(), more.begin(), more.end());
  }
  // Blocks per pixel of the canvas.
  std::int64_t per_pixel = 0;
  const int walks = params.box == Box::points ? 2 : 1;
  // One block serves four steps of a walker. Hosts always move 16 walkers at once.
  const std::int64_t walkers = (params.walkers + 15) / 16 * 16;
  info.draws.scene = counts ? 7 : 2;
  info.draws.part = walkers * ((params.burn_in + 8) / 4);
  if (params.points > 0) {
    info.draws.part += (params.points + 3) / 4;
  } else {
    per_pixel = 1 + static_cast<std::int64_t>(kDensities[static_cast<int>(params.mode)] / 4 *
                                              params.picture * params.picture);
  }
  info.draws.part *= walks;
  per_pixel *= walks;
  if (counts && params.background == Background::plasma) {
    // One word per point of a grid whose side is up to twice the image's.
    per_pixel += 1;
    info.draws.part += 16;
  }
  if (params.render > 0) {
    info.draws.part += per_pixel * params.render * params.render;
  } else {
    info.draws.pixel = per_pixel;
  }
  return info;
}

std::int64_t Ifs::cells(SampleShape shape) const {
  constexpr int kLargest = kMostSide;
  if (shape.height > kLargest || shape.width > kLargest) {
    fail(ErrorKind::config,
         {fmt::format("ifs: images of {}x{} pixels are too large", shape.width, shape.height),
          "point numbers have 23 bits, but such images need more points",
          fmt::format("use sides of at most {} pixels", kLargest)});
  }
  const std::int64_t bordered =
      std::int64_t{shape.height + 2 * kBorder} * (shape.width + 2 * kBorder);
  if (params_.mode != Mode::svd) return bordered + (params_.box == Box::points ? 4 : 0);
  if (params_.background == Background::black) return bordered + 1;
  const std::int64_t side = diamond_square::points_for(
      diamond_square::levels_for(shape.height > shape.width ? shape.height : shape.width));
  return bordered + 1 + side * side;
}

namespace {

ifs::CategorySpec category_spec(const Ifs::Params& params) {
  ifs::CategorySpec spec;
  spec.seed = params.category_seed;
  spec.rate = params.rate;
  spec.weight_step = params.weight_step;
  spec.least_fill = params.least_fill;
  spec.search = params.search;
  return spec;
}

/// Visits the parts of a table in their stored order.
template <class Table, class Visit>
void visit_parts(Table& table, const Visit& visit) {
  visit(std::span(table.categories));
  visit(std::span(table.windows));
  visit(std::span(table.jitters));
}

}  // namespace

Ifs::Tables::Tables(const Params& params) : params_(params), files_(class_files(params)) {
  if (!params.class_file.empty()) params_.categories = static_cast<int>(files_.systems.size());
}

TableKey Ifs::Tables::key() const {
  const Params& p = params_;
  switch (p.mode) {
    case Mode::fractaldb:
      break;
    case Mode::svd:
      return {"ifs", ifs::kSvdVersion, "svd",
              fmt::format("count {} seed {} maps {} to {} jitters {}", p.categories,
                          p.category_seed, p.maps_low, p.maps_high, p.jitters)};
    case Mode::one_parameter:
      return {"ifs", ifs::kSvdVersion, "one_parameter",
              fmt::format("count {} seed {} sigma {} perturbation {}", p.categories,
                          p.category_seed, p.sigma, p.perturbation)};
  }
  if (!files_.systems.empty())
    return {"ifs", ifs::kCategoryVersion, "files",
            fmt::format("hash {} seed {} weight_step {} least_fill {}", files_.hash,
                        p.category_seed, p.weight_step, p.least_fill)};
  return {"ifs", ifs::kCategoryVersion,
          p.search == ifs::Search::official ? "official" : "categories",
          fmt::format("count {} seed {} rate {} weight_step {} least_fill {}", p.categories,
                      p.category_seed, p.rate, p.weight_step, p.least_fill)};
}

ifs::CategoryTable Ifs::Tables::make(Progress* progress) const {
  const Params& p = params_;
  const int threads = Stream(Device::cpu()).threads();
  switch (p.mode) {
    case Mode::fractaldb:
      break;
    case Mode::svd:
      return ifs::make_svd_categories({p.category_seed, p.maps_low, p.maps_high, p.jitters},
                                      p.categories, threads, progress);
    case Mode::one_parameter:
      return ifs::make_perturbed_categories({p.category_seed, p.sigma, p.perturbation},
                                            p.categories, threads, progress);
  }
  if (!files_.systems.empty())
    return ifs::make_listed_categories(category_spec(p), files_.systems, files_.names, threads,
                                       progress);
  return ifs::make_categories(category_spec(p), p.categories, threads, progress);
}

std::vector<std::string> Ifs::Tables::prepare(TableCache& cache) {
  const auto bytes = cache.get(key(), [&] {
    // A search takes minutes, known categories take seconds. On a terminal, progress is always
    // shown; elsewhere, only after ten seconds.
    Progress::Options options;
    options.title = "ifs: categories";
    options.total = static_cast<std::uint64_t>(params_.categories);
    Progress progress(std::move(options));
    const ifs::CategoryTable table = make(&progress);
    std::vector<std::byte> whole;
    visit_parts(table, [&](auto part) {
      const auto as_bytes = std::as_bytes(part);
      whole.insert(whole.end(), as_bytes.begin(), as_bytes.end());
    });
    return whole;
  });
  const auto count = static_cast<std::size_t>(params_.categories);
  table_.categories.resize(count);
  table_.windows.resize(count * ifs::kVariations);
  table_.jitters.resize(params_.mode == Mode::svd ? count * ifs::kVariations : 0);
  std::size_t read = 0;
  visit_parts(table_, [&](auto part) {
    WS_EXPECT(bytes.size() - read >= part.size_bytes());
    if (!part.empty()) std::memcpy(part.data(), bytes.data() + read, part.size_bytes());
    read += part.size_bytes();
  });
  WS_EXPECT(read == bytes.size());
  return cache.notes();
}

void Ifs::Tables::plan(MemoryPlan& memory) {
  category_ = memory.reserve<ifs::Category>("ifs", "categories", table_.categories.size());
  window_ = memory.reserve<ifs::Window>("ifs", "windows", table_.windows.size());
  jitter_ = {};
  if (table_.jitters.empty()) return;
  jitter_ = memory.reserve<ifs::Jitter>("ifs", "jitters", table_.jitters.size());
}

void Ifs::Tables::load(Stream& stream) {
  stream.copy(category_.data(), table_.categories.data(), category_.bytes(),
              CopyDirection::host_to_device, "categories");
  stream.copy(window_.data(), table_.windows.data(), window_.bytes(), CopyDirection::host_to_device,
              "windows");
  if (!table_.jitters.empty()) {
    stream.copy(jitter_.data(), table_.jitters.data(), jitter_.bytes(),
                CopyDirection::host_to_device, "jitters");
  }
  stream.synchronize();
}

}  // namespace wellspring
