#include "train/step/rank_parts.h"

#include <vector>

namespace wellspring {
namespace {

/// Copies of the counts on the host.
class RankParts {
 public:
  RankParts(Stream& stream, const TrainingStep& step)
      : stream_(stream),
        ring_(step.ring()),
        device_overflow_(step.batch().overflow),
        lines_(ring_.lines.size()),
        sums_(ring_.sums.size()) {
    copy(CopyDirection::device_to_host);
  }

  void sum(Communicator& ranks) {
    sum_over_ranks(ranks, [&](auto f) {
      for (ops::StepMetrics& line : lines_) f(line.loss);
      visit_counts(f);
    });
    // A line's loss is a mean over equal numbers of rows.
    for (ops::StepMetrics& line : lines_) line.loss /= static_cast<float>(ranks.size());
  }
  void clear() {
    visit_counts([](auto& count) { count = 0; });
  }
  void upload() { copy(CopyDirection::host_to_device); }

 private:
  template <class F>
  void visit_counts(F f) {
    for (ops::StepMetrics& line : lines_) {
      f(line.overflow.samples);
      f(line.overflow.items);
    }
    for (double& sum : sums_) f(sum);
    f(overflow_.samples);
    f(overflow_.items);
  }

  void copy(CopyDirection direction) {
    const auto one = [&](auto* device, auto* host, std::size_t bytes) {
      if (direction == CopyDirection::device_to_host)
        stream_.copy(host, device, bytes, direction, "counts of a rank");
      else
        stream_.copy(device, host, bytes, direction, "counts of a rank");
    };
    one(ring_.lines.data(), lines_.data(), ring_.lines.bytes());
    one(ring_.sums.data(), sums_.data(), ring_.sums.bytes());
    if (device_overflow_ != nullptr) one(device_overflow_, &overflow_, sizeof overflow_);
    stream_.synchronize();
  }

  Stream& stream_;
  PlannedRing ring_;
  SetOverflow* device_overflow_;  ///< null: not counted
  std::vector<ops::StepMetrics> lines_;
  std::vector<double> sums_;
  SetOverflow overflow_;
};

}  // namespace

void collect_parts(RunContext& context, const TrainingStep& step) {
  if (context.ranks.size() == 1) return;
  RankParts parts(context.stream, step);
  parts.sum(context.ranks);
  if (!context.is_first()) parts.clear();
  parts.upload();
}

void keep_parts_of_first(RunContext& context, const TrainingStep& step) {
  if (context.is_first()) return;
  RankParts parts(context.stream, step);
  parts.clear();
  parts.upload();
}

}  // namespace wellspring
