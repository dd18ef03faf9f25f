// How many of a stream's threads work at a time: fewer while another program holds a core, so that
// the others do not wait for the thread that shares it. Used by whatever runs in parallel on the
// CPU, told by whoever runs steps; host only.
//
// A step of a small network is a dozen parallel loops in less time than the system leaves a core to
// one program. The thread that shares a core stands still for some milliseconds at a time, and all
// others with it, at the end of the loop in which it does: together they can be slower than one
// alone. Nothing that is computed depends on how many threads there are.
#pragma once

#include <functional>
#include <utility>

namespace wellspring {

/// How often the system has taken a core from a thread of this process while it had work to do:
/// ru_nivcsw of getrusage(2).
long lost_cores();

class ActiveThreads {
 public:
  /// Seconds of steps that are judged as a whole: several turns of the system's scheduler, which
  /// last some 3 ms.
  static constexpr double kWindow = 0.05;
  /// Cores lost a second from which on another program holds one. It and a thread of ours take
  /// turns of some milliseconds; services of an idle machine wake up a few times a second.
  static constexpr double kHeld = 40;
  /// Windows from one trial to the next.
  static constexpr int kPatience = 40;

  explicit ActiveThreads(int most, std::function<long()> lost = lost_cores)
      : most_(most), count_(most), lost_(std::move(lost)) {}

  int most() const { return most_; }
  int count() const { return count_; }

  /// A step took so many seconds. After a window in which cores were lost, half of the threads are
  /// tried for a window, after one in which none was, and some rest, twice as many; they go on
  /// where they are the faster.
  void step(double seconds);

 private:
  void try_with(int count, double speed);

  int most_, count_;
  std::function<long()> lost_;
  int steps_ = 0;  ///< of this window
  double seconds_ = 0;
  long lost_before_ = -1;  ///< before this window; -1: there was none yet
  int rest_ = 0;           ///< windows to the next trial
  int before_ = 0;         ///< threads before the trial that goes on; 0: none does
  double speed_ = 0;       ///< theirs, in steps a second
};

}  // namespace wellspring
