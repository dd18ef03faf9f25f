// How many of a stream's threads work at a time: fewer while another program holds a core, so that
// the others do not wait for the thread that shares it. Used by whatever runs in parallel on the
// CPU; host only.
//
// A step of a small network is a dozen parallel loops in less time than the system leaves a core to
// one program. The thread that shares a core stands still for some milliseconds at a time, and all
// others with it, at the end of the loop in which it does: together they can be slower than one
// alone. Nothing that is computed depends on how many threads there are.
#pragma once

namespace wellspring {

class ActiveThreads {
 public:
  /// Seconds of loops that are judged as a whole: several turns of the system's scheduler, which
  /// last some 3 ms, and more than what interrupts an idle machine now and then.
  static constexpr double kWindow = 0.05;
  /// Windows from a halving to the next attempt with more.
  static constexpr int kPatience = 40;

  explicit ActiveThreads(int most) : most_(most), count_(most) {}

  int most() const { return most_; }
  int count() const { return count_; }

  /// A loop took `elapsed` seconds where it would have taken `expected`, had no thread stood still.
  /// Where loops take more than twice what is expected, half of the threads are as fast: half of
  /// them go on, and twice as many after a while.
  void report(double expected, double elapsed);

 private:
  int most_, count_;
  int rest_ = 0;  ///< windows to the next attempt
  double expected_ = 0, elapsed_ = 0;
};

}  // namespace wellspring
