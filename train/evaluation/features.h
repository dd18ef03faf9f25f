// Features: a trained network's values at one layer, without augmentation, written to files or used
// for nearest-neighbour evaluation. Called by the command line; host only.
#pragma once

#include "train/config/run_config.h"
#include "train/metrics/observer.h"
#include "train/network/tape.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

enum class FeatureSamples : std::uint8_t {
  held_out,
  training,  ///< rows of training files; for generators, further held-out samples
};

struct FeatureOptions {
  std::filesystem::path checkpoint;  ///< as for find_model_file
  std::string layer;                 ///< see Tape::append_features
  std::filesystem::path out;         ///< .npz, .h5 or .hdf5
  FeatureSamples samples = FeatureSamples::held_out;
};

struct FeatureReport {
  std::uint64_t samples = 0;
  TensorShape shape;  ///< shape of a sample's features
  std::vector<std::string> notes;
};

/// Writes the features of all samples, source by source and in order. The heads of `config` may
/// differ from the checkpoint's. Errors: config if the samples do not fit the network, there is no
/// such layer, or nothing is held out; data.
FeatureReport write_features(const FeatureOptions& options, RunConfig config,
                             TrainObserver& observer);

struct KnnOptions {
  std::filesystem::path checkpoint;
  std::string layer;
  int neighbours = 20;
  double temperature = 0.07;
};

/// The accuracy on one held-out source.
struct KnnResult {
  std::string name;
  std::uint64_t samples = 0;
  std::uint64_t bank = 0;  ///< labelled training samples among which neighbours are sought
  double accuracy = 0, error = 0;
};

struct KnnReport {
  std::vector<KnnResult> results;
  std::vector<std::string> notes;
};

/// Classifies each held-out sample by its nearest neighbours (see nearest_neighbours.h) among the
/// samples of all training sources with the same classes. Errors as in write_features; config: a
/// held-out source without classes, or more neighbours than training samples.
KnnReport evaluate_knn(const KnnOptions& options, RunConfig config, TrainObserver& observer);

}  // namespace wellspring
