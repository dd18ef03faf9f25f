// The number of a stream's threads that work at a time: fewer while another program holds a core,
// so that the others do not wait for the thread on that core. Read by parallel loops on the CPU,
// updated by the caller of the steps; host only.
//
// A step of a small network is a dozen parallel loops, shorter than the scheduler's time slice.
// The thread that shares a core pauses for some milliseconds at a time, and all others wait for it
// at the end of the loop: together they can be slower than a single thread. Results do not depend
// on the number of threads.
#pragma once

#include <functional>
#include <utility>

namespace wellspring {

/// Number of times that a thread of this process lost its core with work left to do: ru_nivcsw of
/// getrusage(2).
long lost_cores();

class ActiveThreads {
 public:
  /// Length of a window, in seconds of steps: several time slices of the scheduler, about 3 ms
  /// each.
  static constexpr double kWindow = 0.05;
  /// Lost cores per second above which another program holds a core. It and one of our threads
  /// alternate every few milliseconds; services of an idle machine wake up only a few times per
  /// second.
  static constexpr double kHeld = 40;
  /// Windows between trials.
  static constexpr int kPatience = 40;

  explicit ActiveThreads(int most, std::function<long()> lost = lost_cores)
      : most_(most), count_(most), lost_(std::move(lost)) {}

  int most() const { return most_; }
  int count() const { return count_; }

  /// Reports a step's duration. After a window with lost cores, half as many threads are tried for
  /// a window; after one without, and a pause, twice as many. The faster setting is kept.
  void step(double seconds);

 private:
  void try_with(int count, double speed);

  int most_, count_;
  std::function<long()> lost_;
  int steps_ = 0;  ///< in this window
  double seconds_ = 0;
  long lost_before_ = -1;  ///< before this window; -1: no window yet
  int rest_ = 0;           ///< windows until the next trial
  int before_ = 0;         ///< threads before the current trial; 0: no trial
  double speed_ = 0;       ///< with that number of threads, in steps per second
};

}  // namespace wellspring
