// Automatic normalisation of events and sets: measures each feature's and global's mean and
// deviation. All sources of a run get the same scaling. Called by training and exports; host only.
#pragma once

#include "core/work_watch.h"
#include "generators/generator.h"
#include "sources/data_config.h"
#include "sources/datasets/dataset.h"
#include "sources/mixture.h"

#include <cstdint>
#include <string>

namespace wellspring {

/// Largest number of rows to measure; in larger data sets, they are evenly spread.
inline constexpr std::int64_t kMeasuredRows = 100'000;
/// Number of generator samples to measure, at ids that are neither trained on nor held out.
inline constexpr std::int64_t kMeasuredSamples = 16'384;
inline constexpr std::uint64_t kFirstMeasuredSample = std::uint64_t{1} << 49;

/// With more features than this, such as the cells of a calorimeter, all share one mean and
/// standard deviation; otherwise a rarely hit cell would be magnified.
inline constexpr int kMostMeasuredAlone = 256;

/// Means and standard deviations over existing items; the deviation of a constant counts as 1. The
/// sums are in f64, in row order for any number of threads. Throws the data errors of reading.
Normalisation measure_rows(const Dataset& data, int threads, const WorkWatch& watch = {});
/// The same for samples of a generator, which nothing else may use during the call.
Normalisation measure_samples(Generator& generator, std::uint64_t seed, int threads);

/// Settings of a measurement.
struct MeasureContext {
  std::uint64_t seed = 0;  ///< seed of the run
  int threads = 0;
  WorkWatch watch = {};
};
/// Replaces `auto` and the default with numbers, in `data` and in its sources, before plan(). All
/// events and sets get one scaling, measured on the source that a run finishes on: the last one
/// that reads files, or otherwise the last one with `auto`. By default, images and runs that use
/// only generators are not scaled. Returns what was measured, such as "80000 rows of 'jets'"; "" if
/// nothing was measured. Throws the errors of reading.
std::string settle_normalisation(DataConfig& data, Mixture& training,
                                 const MeasureContext& context);

/// Choices that adopt_normalisation() replaces.
enum class Adopt : std::uint8_t { defaults, defaults_and_auto };
/// Adopts the scaling that a network was trained with, as its configuration gives it, so that its
/// inputs stay the same: the scaling of the source with the same name, or else of the run. Adopts
/// nothing that does not fit samples of this layout.
void adopt_normalisation(DataConfig& data, const SampleLayout& layout,
                         const std::string& trained_yaml, Adopt which);

}  // namespace wellspring
