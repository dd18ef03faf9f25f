// Weighted k-nearest-neighbour classifier of features. Called by train/evaluation/features.cpp;
// host only.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wellspring {

/// The k bank samples with the largest cosine similarity s each vote for their class with weight
/// exp(s / temperature): Z. Wu et al., "Unsupervised feature learning via non-parametric instance
/// discrimination", CVPR 2018, section 3.4, with temperature 0.07; also used by M. Caron et al.
/// (DINO), ICCV 2021, with k = 20. The search is exact. Among equally similar samples, the first
/// ones are the neighbours; among classes with equal votes, the first one wins.
class NearestNeighbours {
 public:
  struct Settings {
    int width = 1;  ///< features per sample
    std::int32_t classes = 1;
    int neighbours = 20;  ///< at most the number of samples in the bank
    double temperature = 0.07;
    int threads = 0;  ///< see Stream
  };
  /// `bank`: [labels.size(), width].
  NearestNeighbours(const Settings& settings, std::vector<float> bank,
                    std::vector<std::int32_t> labels);
  /// The classes of samples [.., width].
  std::vector<std::int32_t> classify(std::span<const float> features);

 private:
  /// A sample of the bank.
  struct Neighbour {
    float similarity = 0;
    std::size_t sample = 0;
  };
  /// Classifies at most kQueries normalised samples in queries_.
  void classify_block(std::size_t count, std::vector<std::int32_t>& classes);
  std::int32_t vote(const std::vector<Neighbour>& nearest) const;

  Settings settings_;
  std::vector<float> bank_;  ///< normalised, padded with zeros to whole blocks
  std::vector<std::int32_t> labels_;
  Stream stream_;
  std::unique_ptr<ops::Dense> product_;
  std::vector<float> queries_, similarities_;
  std::vector<std::byte> workspace_;
};

}  // namespace wellspring
