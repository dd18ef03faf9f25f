// Counts the warp instructions and the memory traffic of a GPU per sample of each generator. It runs
// the batches of `wellspring bench generators` from the listings that WELLSPRING_STAND_IN_LISTINGS
// names. Called by scripts/issue-slots, which creates the listings. Prints one line per row of the
// table:
//
//     generator | what | side | samples counted | warp instructions per sample | bytes per sample |
//     L2 sectors per sample | bytes of local memory per sample | shared wavefronts per sample |
//     instructions of the integer and of the special pipe per sample
//
// Exit codes: 0: done, 1: a kernel could not be run, 2: usage error.
#include "bench/generator_batches.h"
#include "core/error.h"
#include "generators/generator.h"
#include "tests/cuda_stand_in/sass/kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {
namespace {

struct Case {
  const GeneratorEntry& entry;
  std::string what;
  std::vector<ParamSetting> settings;
  int side;

  /// True if later batches reuse data that an earlier batch leaves resident.
  bool is_cached() const { return entry.make(settings, side)->info().draws.cached; }
};

/// Image sides with target rates; `bench` measures the first two.
std::vector<int> sides_of(const GeneratorEntry& entry, int side) {
  if (entry.kind != SampleKind::image) return {1};
  return side != 0 ? std::vector{side} : std::vector{224, 32, 64};
}

std::vector<Case> cases_of(const GeneratorEntry& entry) {
  std::vector<Case> cases;
  for (const int side : sides_of(entry, 0)) cases.push_back({entry, "", {}, side});
  for (const bench::GeneratorVariant& variant : bench::generator_variants()) {
    if (variant.generator != entry.name) continue;
    for (const int side : sides_of(entry, variant.side)) {
      const bool counted = std::any_of(cases.begin(), cases.end(), [&](const Case& other) {
        return other.side == side && other.what == variant.what;
      });
      if (!counted) cases.push_back({entry, variant.what, variant.settings, side});
    }
  }
  return cases;
}

/// Runs a batch from the listings and returns its counts per sample. If data stays resident, a batch
/// on the host runs first.
struct Counted {
  double warp_instructions;
  std::size_t bytes;
  double sectors, local_bytes, wavefronts, integer, special;
};
Counted count(const Case& of, std::int64_t samples, sass::Kernels& kernels) {
  bench::GeneratorBatches batches(of.entry, of.settings, {samples, of.side}, Device::cuda(0));
  const auto make = [&](bool listings) {
    kernels.use(listings);
    batches.run();
    batches.wait();
  };
  if (of.is_cached()) make(false);
  const std::uint64_t before = kernels.warp_instructions(),
                      integer = kernels.warp_instructions(sass::Pipe::integer),
                      special = kernels.warp_instructions(sass::Pipe::special);
  const sass::Traffic traffic_before = kernels.traffic();
  make(true);
  const sass::Traffic traffic = kernels.traffic() - traffic_before;
  const auto per_sample = [samples](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(samples);
  };
  return {per_sample(kernels.warp_instructions() - before),
          batches.sample_bytes(),
          per_sample(traffic.sectors),
          per_sample(traffic.local_bytes),
          per_sample(traffic.wavefronts),
          per_sample(kernels.warp_instructions(sass::Pipe::integer) - integer),
          per_sample(kernels.warp_instructions(sass::Pipe::special) - special)};
}

/// Number of samples that fills whole warps if a thread makes or draws one sample: 1024 events, or
/// 256 long ones; 128 images, or 32 large ones. Fewer if these would take minutes: drawing is then
/// negligible compared with painting. For running chains, one frame each.
std::int64_t samples_of(const Case& of, sass::Kernels& kernels) {
  constexpr double kMost = 1e9;  // warp instructions
  if (of.is_cached()) return 64;
  if (of.entry.kind != SampleKind::image)
    return of.entry.make(of.settings, 1)->info().draws.scene > 1000 ? 256 : 1024;
  const double affordable = kMost / count(of, 1, kernels).warp_instructions;
  return static_cast<std::int64_t>(std::clamp(affordable, 1., of.side <= 64 ? 128. : 32.));
}

void print_count(const Case& of, sass::Kernels& kernels) {
  const std::int64_t samples = samples_of(of, kernels);
  const Counted counted = count(of, samples, kernels);
  std::printf("%s | %s | %d | %lld | %.6g | %zu | %.6g | %.6g | %.6g | %.6g | %.6g\n",
              of.entry.name.c_str(), of.what.c_str(), of.side, static_cast<long long>(samples),
              counted.warp_instructions, counted.bytes, counted.sectors, counted.local_bytes,
              counted.wavefronts, counted.integer, counted.special);
  std::fflush(stdout);
}

int run(const std::set<std::string>& wanted, int largest_side) {
  sass::Kernels* const kernels = sass::Kernels::of_environment();
  if (kernels == nullptr) {
    std::fprintf(stderr, "issue_slots: WELLSPRING_STAND_IN_LISTINGS names no folder\n");
    return 2;
  }
  kernels->use(false);
  for (const GeneratorEntry& entry : generator_registry()) {
    if (!wanted.empty() && !wanted.contains(entry.name)) continue;
    for (const Case& of : cases_of(entry))
      if (of.side <= largest_side) print_count(of, *kernels);
  }
  return 0;
}

}  // namespace
}  // namespace wellspring

/// Arguments: --largest-side=N, to leave out larger images; names of generators (default: all).
int main(int argc, char** argv) {
  constexpr std::string_view kLargest = "--largest-side=";
  int largest_side = std::numeric_limits<int>::max();
  if (argc > 1 && std::string_view(argv[1]).starts_with(kLargest)) {
    largest_side = std::atoi(argv[1] + kLargest.size());
    ++argv;
    --argc;
  }
  try {
    return wellspring::run({argv + 1, argv + argc}, largest_side);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "issue_slots: %s\n", failure.what());
    return 1;
  }
}
