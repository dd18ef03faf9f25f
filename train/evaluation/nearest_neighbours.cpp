#include "train/evaluation/nearest_neighbours.h"

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

/// Block sizes for the product of queries and bank. A block of 128 x 2048 similarities (1 MiB)
/// stays in the cache.
constexpr std::size_t kQueries = 128, kBlock = 2048;

/// Divides a vector by its length, or by 1e-12 if that is larger, as PyTorch's F.normalize does.
void normalise(std::span<const float> from, float* to) {
  double squares = 0;
  for (const float value : from) squares += static_cast<double>(value) * value;
  const double length = std::max(std::sqrt(squares), 1e-12);
  for (const float value : from) *to++ = static_cast<float>(value / length);
}

std::size_t padded(std::size_t samples) {
  return (samples + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

NearestNeighbours::NearestNeighbours(const Settings& settings, std::vector<float> bank,
                                     std::vector<std::int32_t> labels)
    : settings_(settings),
      bank_(std::move(bank)),
      labels_(std::move(labels)),
      stream_(Device::cpu(), settings.threads),
      product_(ops::Dense::plan({.rows = static_cast<std::int64_t>(kQueries),
                                 .in = settings.width,
                                 .out = static_cast<int>(kBlock),
                                 .bias = false,
                                 .input_gradient = false},
                                stream_)) {
  const auto width = static_cast<std::size_t>(settings_.width);
  for (std::size_t i = 0; i < labels_.size(); ++i)
    normalise(std::span(bank_).subspan(i * width, width), bank_.data() + i * width);
  bank_.resize(padded(labels_.size()) * width);
  queries_.resize(kQueries * width);
  similarities_.resize(kQueries * kBlock);
  workspace_.resize(product_->workspace_bytes());
}

std::vector<std::int32_t> NearestNeighbours::classify(std::span<const float> features) {
  const auto width = static_cast<std::size_t>(settings_.width);
  const std::size_t samples = features.size() / width;
  std::vector<std::int32_t> classes;
  for (std::size_t first = 0; first < samples; first += kQueries) {
    const std::size_t count = std::min(kQueries, samples - first);
    std::ranges::fill(queries_, 0.0f);
    for (std::size_t q = 0; q < count; ++q)
      normalise(features.subspan((first + q) * width, width), queries_.data() + q * width);
    classify_block(count, classes);
  }
  return classes;
}

void NearestNeighbours::classify_block(std::size_t count, std::vector<std::int32_t>& classes) {
  const auto width = static_cast<std::size_t>(settings_.width);
  const auto k = static_cast<std::size_t>(settings_.neighbours);
  const auto nearer = [](const Neighbour& a, const Neighbour& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.sample < b.sample;
  };
  std::vector<std::vector<Neighbour>> nearest(count);  // the k nearest so far: heaps
  for (std::size_t begin = 0; begin < labels_.size(); begin += kBlock) {
    product_->forward(stream_, queries_.data(), bank_.data() + begin * width, nullptr,
                      similarities_.data(), {workspace_.data(), workspace_.size()});
    const std::size_t end = std::min(begin + kBlock, labels_.size());
    for (std::size_t q = 0; q < count; ++q) {
      std::vector<Neighbour>& heap = nearest[q];
      for (std::size_t i = begin; i < end; ++i) {
        const Neighbour candidate{similarities_[q * kBlock + i - begin], i};
        if (heap.size() == k && !nearer(candidate, heap.front())) continue;
        if (heap.size() == k) {
          std::ranges::pop_heap(heap, nearer);
          heap.pop_back();
        }
        heap.push_back(candidate);
        std::ranges::push_heap(heap, nearer);
      }
    }
  }
  for (const std::vector<Neighbour>& heap : nearest) classes.push_back(vote(heap));
}

std::int32_t NearestNeighbours::vote(const std::vector<Neighbour>& nearest) const {
  std::vector<double> votes(static_cast<std::size_t>(settings_.classes));
  // Relative to the nearest one, so that not all weights underflow.
  const double largest = std::ranges::max_element(nearest, {}, &Neighbour::similarity)->similarity;
  for (const Neighbour& neighbour : nearest)
    votes[static_cast<std::size_t>(labels_[neighbour.sample])] +=
        std::exp((neighbour.similarity - largest) / settings_.temperature);
  return static_cast<std::int32_t>(std::ranges::max_element(votes) - votes.begin());
}

}  // namespace wellspring
