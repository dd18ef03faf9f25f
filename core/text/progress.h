// A progress bar on a terminal, a plain line now and then anywhere else. Called by the command line
// and by what takes minutes below it; host only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wellspring {

/// Whether a file descriptor is a terminal that can redraw a line: isatty, and TERM is not "dumb".
bool is_terminal(int descriptor);
/// Whether to colour what is written there: a terminal, and NO_COLOR is unset or empty
/// (no-color.org).
bool wants_colour(int descriptor);

/// Columns that UTF-8 text takes on a terminal, or more: every character from U+1000 on, before
/// the wide ones of East Asia begin, counts as two.
std::size_t columns_of(std::string_view text);

/// What stands behind the count and the time left.
struct ProgressStatus {
  std::string needed = {};             ///< never left out: "loss 1.23  9.69 k/s"
  std::vector<std::string> more = {};  ///< left out, the last first, where a terminal is too narrow
};

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
    int descriptor = 2;       ///< stderr
    std::size_t columns = 0;  ///< of a bar's line; 0: what the terminal has, asked each time
    /// Of a bar: how long it waits before it is first drawn, so that quick work shows none.
    std::chrono::milliseconds patience{0};
    std::chrono::milliseconds bar_interval{100};
    std::chrono::milliseconds line_interval{10'000};
  };

  explicit Progress(Options options) noexcept;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  ///< leaves the terminal on a fresh line

  /// Draws at most once an interval. On a terminal the line is made to fit: `status.more` is left
  /// out first, then the title, the count and the percentage; the time and what is needed are cut
  /// only where not even they fit. The bar takes the columns that are left.
  void update(std::uint64_t done, const ProgressStatus& status = {}) noexcept;
  /// Writes a line of its own, above the bar.
  void say(const std::string& line) noexcept;
  /// Draws the last state, whatever the interval, and ends the bar.
  void finish(const ProgressStatus& status = {}) noexcept;
  /// Takes the bar off the terminal, as if it had not been there; lines stay.
  void withdraw() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::uint64_t done, const ProgressStatus& status);
  void clear_bar();
  void put(const std::string& text) const;
  std::string time_text(std::uint64_t done) const;
  std::string line(std::uint64_t done, const ProgressStatus& status, std::size_t columns) const;

  Options options_;
  std::mutex mutex_;
  Clock::time_point begin_, drawn_;
  std::uint64_t done_ = 0;
  bool bar_shown_ = false, finished_ = false;
};

}  // namespace wellspring
