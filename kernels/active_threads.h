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
  /// Windows from one trial to the next.
  static constexpr int kPatience = 40;

  explicit ActiveThreads(int most) : most_(most), count_(most) {}

  int most() const { return most_; }
  int count() const { return count_; }

  /// A loop took `elapsed` seconds where it would have taken `expected`, had no thread stood still.
  /// Where loops take more than twice what is expected, half of the threads might be as fast, and
  /// where some rest, more might be faster: for a window that is tried, and it stays if it is so.
  void report(double expected, double elapsed);

 private:
  void try_with(int count, double speed);

  int most_, count_;
  double expected_ = 0, elapsed_ = 0;
  int rest_ = 0;      ///< windows to the next trial
  int before_ = 0;    ///< threads before the trial that goes on; 0: none does
  double speed_ = 0;  ///< what they did: as many undisturbed threads do as much
};

}  // namespace wellspring
