// A progress bar on a terminal, a plain line now and then anywhere else. Called by the command line
// and by what takes minutes below it; host only.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace wellspring {

/// Whether a file descriptor is a terminal that can redraw a line: isatty, and TERM is not "dumb".
bool is_terminal(int descriptor);
/// Whether to colour what is written there: a terminal, and NO_COLOR is unset or empty
/// (no-color.org).
bool wants_colour(int descriptor);

/// One task with a known number of parts. What it is told is made printable. Nothing here throws: a
/// run must not fail because nobody can be told about it. Calls may come from several threads.
class Progress {
 public:
  enum class Style { automatic, bar, lines, silent };
  struct Options {
    std::string title;
    std::uint64_t total = 0;  ///< 0: unknown, no bar and no time left
    std::uint64_t first = 0;  ///< parts done before this run, as after a resume
    Style style = Style::automatic;
    int descriptor = 2;  ///< stderr
    std::chrono::milliseconds bar_interval{100};
    std::chrono::milliseconds line_interval{10'000};
  };

  explicit Progress(Options options) noexcept;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  ///< leaves the terminal on a fresh line

  /// `status` is what stands at the end: "loss 1.23  9 690 img/s". Draws at most once an interval.
  void update(std::uint64_t done, const std::string& status = "") noexcept;
  /// Writes a line of its own, above the bar.
  void say(const std::string& line) noexcept;
  /// Draws the last state, whatever the interval, and ends the bar.
  void finish(const std::string& status = "") noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::uint64_t done, const std::string& status);
  void clear_bar();
  void put(const std::string& text) const;
  std::string text(std::uint64_t done, const std::string& status) const;

  Options options_;
  std::mutex mutex_;
  Clock::time_point begin_, drawn_;
  std::uint64_t done_ = 0;
  bool bar_shown_ = false, finished_ = false;
};

}  // namespace wellspring
