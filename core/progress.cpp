#include "core/progress.h"

#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace wellspring {
namespace {

/// Columns of the terminal; 80 where it does not say.
std::size_t terminal_width(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

Progress::Style resolve(Progress::Style style, int descriptor) {
  if (style != Progress::Style::automatic) return style;
  return is_terminal(descriptor) ? Progress::Style::bar : Progress::Style::lines;
}

}  // namespace

bool is_terminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

bool wants_colour(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && (refused == nullptr || *refused == '\0');
}

Progress::Progress(Options options) noexcept
    : options_(std::move(options)), begin_(Clock::now()), drawn_(begin_) {
  options_.style = resolve(options_.style, options_.descriptor);
  // A bar shows at once, the first line after an interval.
  if (options_.style == Style::bar) drawn_ -= options_.bar_interval;
}

Progress::~Progress() {
  if (bar_shown_) put("\n");
}

void Progress::put(const std::string& text) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(options_.descriptor, rest.data(), rest.size());
    if (count <= 0) return;  // a closed terminal is no reason to stop
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string Progress::text(std::uint64_t done, const std::string& status) const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
  std::string line = options_.title.empty() ? "" : options_.title + " ";
  if (options_.total > 0) {
    const double part =
        std::min(1.0, static_cast<double>(done) / static_cast<double>(options_.total));
    if (options_.style == Style::bar) {
      constexpr int kWidth = 24;
      const int filled = static_cast<int>(part * kWidth);
      line += fmt::format("[{:=<{}}{:.<{}}] ", "", filled, "", kWidth - filled);
    }
    line += fmt::format("{:3.0f}% {}/{}", part * 100, done, options_.total);
    if (done > options_.first && done < options_.total) {
      const double each = elapsed / static_cast<double>(done - options_.first);
      line += "  " + human_duration(each * static_cast<double>(options_.total - done)) + " left";
    } else {
      line += "  " + human_duration(elapsed);
    }
  } else {
    line += fmt::format("{}  {}", done, human_duration(elapsed));
  }
  return printable(status.empty() ? line : line + "  " + status);
}

void Progress::clear_bar() {
  if (bar_shown_) put("\r\x1b[2K");  // ECMA-48 EL: erase the whole line
  bar_shown_ = false;
}

void Progress::draw(std::uint64_t done, const std::string& status) {
  std::string line = text(done, status);
  if (options_.style == Style::bar) {
    // A line that wraps could not be redrawn.
    std::size_t width = terminal_width(options_.descriptor) - 1;
    if (line.size() > width) {
      while (width > 0 && (line[width] & 0xC0) == 0x80) --width;  // not inside of a UTF-8 character
      line.resize(width);
    }
    put("\r\x1b[2K" + line);
    bar_shown_ = true;
  } else {
    put(line + "\n");
  }
  drawn_ = Clock::now();
}

void Progress::update(std::uint64_t done, const std::string& status) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    done_ = done;
    if (options_.style == Style::silent || finished_) return;
    const auto interval =
        options_.style == Style::bar ? options_.bar_interval : options_.line_interval;
    if (Clock::now() - drawn_ >= interval) draw(done, status);
  } catch (...) {  // out of memory for a line: the run goes on without it
  }
}

void Progress::say(const std::string& line) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (options_.style == Style::silent) return;
    clear_bar();
    put(printable(line) + "\n");
  } catch (...) {
  }
}

void Progress::finish(const std::string& status) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (options_.style == Style::silent || finished_) return;
    finished_ = true;
    draw(done_, status);
    if (bar_shown_) put("\n");
    bar_shown_ = false;
  } catch (...) {
  }
}

}  // namespace wellspring
