// Times the heaviest generators with launch bounds, team sizes and band sizes that differ from the
// program's, and checks that the samples stay the same.
//
//     launch_bounds [--device cuda:0] [--size 224] [--batch 2048] [GENERATOR ...]
//
// Prints one JSON object per line, and {"end": ROWS} last. Exit codes: core/error.h.
#include "bench/gpu/launch_bounds.h"

#include "core/error.h"
#include "core/measure/spread.h"
#include "generators/events/calo_gflash.h"
#include "generators/functor_generator.h"
#include "generators/images/dead_leaves.h"
#include "generators/images/ifs.h"
#include "generators/images/noise.h"
#include "generators/images/shapes.h"
#include "generators/images/textures.h"
#include "generators/images/visual_atom.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/memory_plan.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::bench {
namespace {

constexpr int kWindows = 7;            // per variant; variants alternate
constexpr double kShortest = 0.02;     // seconds per window, long compared with clock and scheduler
constexpr std::int64_t kCompared = 8;  // samples per batch compared with the program's kernel

struct Options {
  std::string device = "cuda:0";
  int size = 224;             ///< image side, pixels
  std::int64_t batch = 2048;  ///< samples per launch
  std::vector<std::string> generators;
};

/// The variants to time: the program's own launch first, then all others.
template <class F>
std::vector<Variant> variants() {
  constexpr bool kPaintsBands =
      !MakesEvents<F> && !PaintsCanvas<F> && !wellspring::PaintsBands<F> && !PreparesTiles<F>;
  constexpr bool kSampleTeams = PaintsCanvas<F> || wellspring::PaintsBands<F>;
  const std::vector<int> bands =
      kPaintsBands ? std::vector{4096, 8192, 16384, 32768} : std::vector{0};
  std::vector<int> members = {0};
  if (kSampleTeams) members = {256, 384, 512};
  if (PreparesTiles<F> || MakesEvents<F>) members = {128, 256};
  std::vector<Variant> all = {{}};
  for (int blocks = 1; blocks <= (kSampleTeams ? 2 : 4); ++blocks) {
    for (const int size : members) {
      for (const int pixels : bands) all.push_back({blocks, size, pixels});
    }
  }
  return all;
}

/// A generator's functor and the memory of a batch.
template <class F>
class Emission {
 public:
  Emission(Device device, const Options& options)
      : stream_(device), memory_(device), functor_(typename F::Params{}) {
    const typename F::Params params{};
    layout_ = SampleLayout::image({options.size, options.size, 3});
    if constexpr (MakesEvents<F>) layout_ = functor_.layout();
    layout_.latents = F::kLatents;
    layout_.targets = wellspring::detail::targets_of<F>();
    if constexpr (wellspring::detail::ReadsTables<F>) {
      tables_ = std::make_unique<typename F::Tables>(params);
      TableCache cache;
      tables_->prepare(cache);
      tables_->plan(memory_);
    }
    emitter_.plan(memory_, name(), options.batch, functor_, layout_.shape());
    columns_.plan(memory_, "bench", options.batch, layout_, DType::bf16);
    const auto rows = static_cast<std::size_t>(options.batch);
    slots_ = memory_.reserve<Slot>("bench", "slots", rows);
    const auto host_slots = memory_.reserve<Slot>("bench", "slots", rows, MemorySpace::host);
    const std::int64_t compared = std::min(kCompared, options.batch) * layout_.elements();
    seen_ = memory_.reserve<std::uint16_t>("bench", "samples", static_cast<std::size_t>(compared),
                                           MemorySpace::host);
    memory_.commit();
    if constexpr (wellspring::detail::ReadsTables<F>) {
      tables_->load(stream_);
      tables_->bind(functor_);
    }
    for (std::uint32_t i = 0; i < rows; ++i) host_slots.data()[i] = {i, i, 0, i};
    stream_.copy(slots_.data(), host_slots.data(), slots_.bytes(), CopyDirection::host_to_device,
                 "slots");
    stream_.synchronize();
    call_.slots = slots_.data();
    call_.batch = columns_.view();
  }

  static std::string name() { return F::describe({}).name; }
  void emit(const Variant& variant) {
    emitter_.emit(VariantLauncher{stream_, variant}, name(), functor_, layout_.shape(), call_);
  }
  void wait() { stream_.synchronize(); }
  /// The bits of the first samples of the last batch.
  std::vector<std::uint16_t> samples() {
    stream_.copy(seen_.data(), call_.batch.x, seen_.bytes(), CopyDirection::device_to_host, "x");
    stream_.synchronize();
    return {seen_.data(), seen_.data() + seen_.size()};
  }
  std::int64_t rows() const { return call_.batch.size; }

 private:
  Stream stream_;
  MemoryPlan memory_;
  F functor_;
  SampleLayout layout_;
  Emitter<F> emitter_;
  BatchColumns columns_;
  Planned<Slot> slots_;
  Planned<std::uint16_t> seen_;
  EmitCall call_;
  [[no_unique_address]] typename decltype(wellspring::detail::tables_of<F>())::type tables_;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A variant and its times in microseconds per batch.
struct Timed {
  Variant variant;
  int batches = 1;  ///< per window
  std::vector<double> windows = {};

  template <class F>
  double seconds(Emission<F>& emission) const {
    const auto begin = Clock::now();
    for (int i = 0; i < batches; ++i) emission.emit(variant);
    emission.wait();
    return seconds_since(begin);
  }
};

/// Prints a row for each variant; returns how many.
template <class F>
int measure(Device device, const Options& options) {
  Emission<F> emission(device, options);
  std::vector<Timed> all;
  std::vector<std::uint16_t> expected;
  for (const Variant& variant : variants<F>()) {
    Timed timed{variant};
    timed.seconds(emission);  // loads its code
    if (all.empty()) expected = emission.samples();
    if (emission.samples() != expected) {
      fail(ErrorKind::runtime,
           {fmt::format("{}: {} blocks, teams of {}, bands of {} pixels give different samples",
                        emission.name(), variant.blocks, variant.members, variant.band_pixels),
            "samples must not depend on compilation or launch"});
    }
    timed.batches = static_cast<int>(std::ceil(kShortest / timed.seconds(emission)));
    all.push_back(std::move(timed));
  }
  for (int i = 0; i < kWindows; ++i) {
    for (Timed& timed : all) timed.windows.push_back(1e6 * timed.seconds(emission) / timed.batches);
  }
  for (const Timed& timed : all) {
    const Interval interval = median_interval(timed.windows).value();
    const nlohmann::json row = {{"generator", emission.name()},
                                {"shipped", timed.variant.blocks == 0},
                                {"blocks", timed.variant.blocks},
                                {"members", timed.variant.members},
                                {"band_pixels", timed.variant.band_pixels},
                                {"samples", emission.rows()},
                                {"us", spread_of(timed.windows).median},
                                {"us_interval", {interval.low, interval.high}}};
    fmt::print("{}\n", row.dump());
  }
  std::fflush(stdout);
  return static_cast<int>(all.size());
}

/// Calls measure<F>() for each requested generator, the most informative first.
template <class... F>
void run(const Options& options) {
  const Device device = Device::parse(options.device);
  if (!device.is_cuda()) {
    fail(ErrorKind::config,
         {"launch_bounds: '" + options.device + "' is not a GPU", "", "use --device cuda:0"});
  }
  const auto wanted = [&](const std::string& name) {
    return options.generators.empty() || std::ranges::count(options.generators, name) > 0;
  };
  int rows = 0;
  ((rows += wanted(Emission<F>::name()) ? measure<F>(device, options) : 0), ...);
  fmt::print("{}\n", nlohmann::json{{"end", rows}}.dump());
}

}  // namespace
}  // namespace wellspring::bench

int main(int argc, char** argv) {
  using namespace wellspring;
  bench::Options options;
  CLI::App app("time the heaviest generators with other launch bounds");
  app.add_option("--device", options.device, "cuda:N")->capture_default_str();
  app.add_option("--size", options.size, "image side, pixels")->capture_default_str();
  app.add_option("--batch", options.batch, "samples per launch")->capture_default_str();
  app.add_option("generators", options.generators, "names (default: all)");
  CLI11_PARSE(app, argc, argv);
  try {
    bench::run<Shapes, VisualAtom, Ifs, DeadLeaves, Textures, CaloGflash, Noise>(options);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exit_code();
  }
}
