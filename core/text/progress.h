// Shows a progress bar on a terminal and occasional plain lines elsewhere. Called by the command
// line and by slow library functions; host only.
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

/// True if a file descriptor is a terminal that can redraw a line: isatty, and TERM is not "dumb".
bool is_terminal(int descriptor);
/// True if output should be coloured: on a terminal, if NO_COLOR is unset or empty (no-color.org).
bool wants_colour(int descriptor);

/// Columns of the terminal; 80 if unknown.
std::size_t terminal_columns(int descriptor);
/// `text` in lines of at most `columns`, broken at spaces; continuation lines begin with `indent`
/// spaces. A word longer than a line is not broken.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent);

/// Upper bound on the terminal columns that UTF-8 text takes: every character at or above U+1000,
/// which is below the wide characters of East Asia, counts as two.
std::size_t columns_of(std::string_view text);

/// Text after the count and the time left.
struct ProgressStatus {
  std::string needed = {};             ///< always shown: "loss 1.23  9.69 k/s"
  std::vector<std::string> more = {};  ///< dropped from the end if the terminal is too narrow
};

/// Progress of a task with a known number of parts. Escapes control characters. Nothing throws,
/// because a failed display must not end a run. Thread-safe.
class Progress {
 public:
  enum class Style { automatic, bar, lines, silent };
  struct Options {
    std::string title;
    std::uint64_t total = 0;  ///< 0: unknown; no bar and no time left
    std::uint64_t first = 0;  ///< parts done earlier, for example before a resume
    Style style = Style::automatic;
    int descriptor = 2;       ///< stderr
    std::size_t columns = 0;  ///< width of the bar's line; 0: the terminal's current width
                              /// Delay before the bar first appears, so that quick work shows none.
    std::chrono::milliseconds patience{0};
    std::chrono::milliseconds bar_interval{100};
    std::chrono::milliseconds line_interval{10'000};
  };

  explicit Progress(Options options) noexcept;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  ///< leaves the terminal on a fresh line

  /// Draws at most once per interval. On a terminal the line is shortened to fit: first
  /// `status.more` is dropped, then the title, the count and the percentage; the time and
  /// `status.needed` are cut only if even they do not fit. The bar takes the remaining columns.
  void update(std::uint64_t done, const ProgressStatus& status = {}) noexcept;
  /// Writes a separate line, above the bar.
  void say(const std::string& line) noexcept;
  /// Erases the bar from the terminal; lines stay.
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
  bool bar_shown_ = false;
};

}  // namespace wellspring
