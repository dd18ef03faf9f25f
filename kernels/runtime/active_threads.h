// The number of a stream's threads that are active: fewer while another program occupies a core, so
// that the other threads do not wait for the thread on that core. Parallel loops on the CPU read
// this number; the code that runs the steps updates it. Host only.
//
// A step of a small network consists of a dozen parallel loops, each shorter than the scheduler's
// time slice. A thread that shares its core pauses for a few milliseconds at a time, and all other
// threads wait for it at the end of the loop. All threads together may then be slower than a single
// thread. Results do not depend on the number of threads.
#pragma once

#include <functional>
#include <utility>

namespace wellspring {

/// Number of times that a thread of this process lost its core while it still had work to do:
/// ru_nivcsw of getrusage(2).
long lost_cores();

class ActiveThreads {
 public:
  /// Length of a window, in seconds of step time: several scheduler time slices of about 3 ms.
  static constexpr double kWindow = 0.05;
  /// Lost cores per second above which another program is assumed to occupy a core. That program
  /// and one of our threads then alternate every few milliseconds, whereas services on an idle
  /// machine wake up only a few times per second.
  static constexpr double kHeld = 40;
  /// Number of windows between trials.
  static constexpr int kPatience = 40;

  explicit ActiveThreads(int most, std::function<long()> lost = lost_cores)
      : most_(most), count_(most), lost_(std::move(lost)) {}

  int most() const { return most_; }
  int count() const { return count_; }

  /// Reports a step's duration. After a window with lost cores, half as many threads are tried for
  /// one window. After a window without lost cores, and a pause, twice as many are tried. The
  /// faster setting is kept.
  void step(double seconds);

 private:
  void try_with(int count, double speed);

  int most_, count_;
  std::function<long()> lost_;
  int steps_ = 0;  ///< steps in this window
  double seconds_ = 0;
  long lost_before_ = -1;  ///< lost cores before this window; -1: no window yet
  int rest_ = 0;           ///< windows until the next trial
  int before_ = 0;         ///< threads before the current trial; 0: no trial
  double speed_ = 0;       ///< speed with `before_` threads, in steps per second
};

}  // namespace wellspring
