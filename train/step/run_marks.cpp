#include "train/step/run_marks.h"

#include <algorithm>

namespace wellspring {

WaitMarks::WaitMarks(Device device, std::uint64_t launches)
    : every_(std::max<std::uint64_t>(kClosest, (launches + kMost - 1) / kMost) | 1) {
  for (std::size_t i = 0; i < kMost; ++i) marks_.push_back(std::make_unique<Marks>(device));
}

void WaitMarks::mark(Stream& stream, Event Marks::*event) {
  if (open_) ((*marks_[count_]).*event).record(stream);
}

void WaitMarks::begin(Stream& stream, std::uint64_t launch) {
  open_ = launch % every_ == 0 && count_ < kMost;
  mark(stream, &Marks::begin);
}

void WaitMarks::end(Stream& stream) {
  mark(stream, &Marks::end);
  if (open_) ++count_;
  open_ = false;
}

std::optional<double> WaitMarks::share() const {
  double waits = 0, all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    waits += marks_[i]->ready.milliseconds_since(marks_[i]->begin);
    all += marks_[i]->end.milliseconds_since(marks_[i]->begin);
  }
  if (!(all > 0)) return std::nullopt;
  return waits / all;
}

void TwoClocks::begin(Stream& stream) {
  begin_.record(stream);
  began_ = std::chrono::steady_clock::now();
  running_ = true;
}

void TwoClocks::end(Stream& stream) {
  if (!running_) return;
  running_ = false;
  end_.record(stream);
  stream.synchronize();
  by_host_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  by_marks_ += end_.milliseconds_since(begin_) / 1000;
}

}  // namespace wellspring
