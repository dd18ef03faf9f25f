#include "generators/images/ifs.h"

#include "core/error.h"
#include "core/progress.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

namespace wellspring {

SampleInfo Ifs::describe(const Params& params) {
  SampleInfo info;
  info.name = "ifs";
  info.summary = "Attractors of random affine maps; the class is the maps (FractalDB)";
  info.reference = "Kataoka et al., Pre-training without natural images, ACCV 2020";
  for (int k = 0; k < params.categories; ++k) info.classes.push_back(fmt::format("{:05d}", k));
  const auto last = [](int count) { return static_cast<float>(count > 0 ? count - 1 : 0); };
  const float part = params.picture > 1 ? 1.0f : 0.0f;
  info.latents = {
      {"variation", "which of the 25 weightings of the coefficients", "", 0,
       last(ifs::kVariations)},
      {"drawing", "which of the random patches drawn at every point", "", 0, last(params.patches)},
      {"flip_x", "1: mirrored left to right", "", 0, 1, LatentRole::unmapped},
      {"flip_y", "1: mirrored top to bottom", "", 0, 1, LatentRole::unmapped},
      {"part_x", "where the part seen begins: 0 left, 1 right; 0 where all is seen", "", 0, part,
       LatentRole::unmapped},
      {"part_y", "likewise: 0 top, 1 bottom", "", 0, part, LatentRole::unmapped}};
  info.high = params.palette == Palette::grey ? kGrey : 191.0f / 255;
  // A block serves four steps of a walker. Hosts move 16 walkers at once, needed or not.
  const std::int64_t walkers = (params.walkers + 15) / 16 * 16;
  info.draws.scene = 2;
  info.draws.part = walkers * ((params.burn_in + 8) / 4);
  if (params.points > 0) {
    info.draws.part += (params.points + 3) / 4;
  } else {
    info.draws.pixel =
        1 + static_cast<std::int64_t>(kDensity / 4 * params.picture * params.picture);
  }
  return info;
}

std::int64_t Ifs::cells(SampleShape shape) const {
  constexpr int kLargest = 2048;
  if (shape.height > kLargest || shape.width > kLargest) {
    fail(ErrorKind::config,
         {fmt::format("ifs: images of {}x{} pixels are not possible", shape.width, shape.height),
          "points are numbered by the upper 23 bits of a cell, and such images need more",
          fmt::format("give a side of at most {} pixels", kLargest)});
  }
  return std::int64_t{shape.height + 2 * kBorder} * (shape.width + 2 * kBorder);
}

Ifs::Tables::Tables(const Params& params) : count_(params.categories) {
  spec_.seed = params.category_seed;
  spec_.rate = params.rate;
  spec_.weight_step = params.weight_step;
  spec_.least_fill = params.least_fill;
}

std::vector<std::string> Ifs::Tables::prepare(TableCache& cache) {
  const TableKey key = {"ifs", ifs::kCategoryVersion, "categories",
                        fmt::format("count {} seed {} rate {} weight_step {} least_fill {}", count_,
                                    spec_.seed, spec_.rate, spec_.weight_step, spec_.least_fill)};
  const auto bytes = cache.get(key, [&] {
    // Seconds for those that are known, minutes for a search: to be seen on a terminal, and
    // elsewhere once it has lasted ten seconds.
    Progress::Options options;
    options.title = "ifs: categories";
    options.total = static_cast<std::uint64_t>(count_);
    Progress progress(std::move(options));
    const ifs::CategoryTable table =
        ifs::make_categories(spec_, count_, Stream(Device::cpu()).threads(), &progress);
    std::vector<std::byte> whole;
    for (const auto part :
         {std::as_bytes(std::span(table.categories)), std::as_bytes(std::span(table.windows))}) {
      whole.insert(whole.end(), part.begin(), part.end());
    }
    return whole;
  });
  const auto count = static_cast<std::size_t>(count_);
  table_.categories.resize(count);
  table_.windows.resize(count * ifs::kVariations);
  const auto categories = std::as_writable_bytes(std::span(table_.categories));
  const auto windows = std::as_writable_bytes(std::span(table_.windows));
  WS_EXPECT(bytes.size() == categories.size() + windows.size());
  std::memcpy(categories.data(), bytes.data(), categories.size());
  std::memcpy(windows.data(), bytes.data() + categories.size(), windows.size());
  return cache.notes();
}

void Ifs::Tables::plan(MemoryPlan& memory) {
  category_ = memory.reserve<ifs::Category>("ifs", "categories", table_.categories.size());
  window_ = memory.reserve<ifs::Window>("ifs", "windows", table_.windows.size());
}

void Ifs::Tables::load(Stream& stream) {
  stream.copy(category_.data(), table_.categories.data(), category_.bytes(),
              CopyDirection::host_to_device, "categories");
  stream.copy(window_.data(), table_.windows.data(), window_.bytes(), CopyDirection::host_to_device,
              "windows");
  stream.synchronize();
}

}  // namespace wellspring
