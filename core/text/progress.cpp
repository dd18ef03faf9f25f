#include "core/text/progress.h"

#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>

namespace wellspring {
namespace {

Progress::Style resolve(Progress::Style style, int descriptor) {
  if (style != Progress::Style::automatic) return style;
  return is_terminal(descriptor) ? Progress::Style::bar : Progress::Style::lines;
}

/// Text for a redrawn line: without control characters, including line feeds and tabs.
std::string on_one_line(const std::string& text) {
  std::string line = printable(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

/// Columns of the UTF-8 character that begins with this byte; 0 for continuation bytes.
std::size_t columns_of_byte(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  if ((value & 0xC0) == 0x80) return 0;
  return value >= 0xE1 ? 2 : 1;  // 0xE1 begins U+1000 to U+1FFF
}

/// As many leading characters as fit into `columns`.
std::string cut_to(const std::string& text, std::size_t columns) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    used += columns_of_byte(text[i]);
    if (used > columns) return text.substr(0, i);
  }
  return text;
}

/// A bar in the columns that `used` leaves free; empty if these are too few to show progress.
std::string bar(double part, std::size_t columns, std::size_t used) {
  constexpr std::size_t kWidest = 24, kNarrowest = 8, kFrame = 3;  // "[] "
  if (columns < used + kNarrowest + kFrame) return {};
  const std::size_t width = std::min(kWidest, columns - used - kFrame);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(width));
  return fmt::format("[{:=<{}}{:.<{}}] ", "", filled, "", width - filled);
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char byte : text) columns += columns_of_byte(byte);
  return columns;
}

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t used = 0;   // columns of the last line
  bool has_word = false;  // in the last line
  while (!text.empty()) {
    if (text.front() == '\n') {
      out += '\n';
      used = 0;
      has_word = false;
      text.remove_prefix(1);
      continue;
    }
    // Spaces and the word after them.
    const std::size_t word = std::min(text.find_first_not_of(' '), text.size());
    const std::size_t end = std::min(text.find_first_of(" \n", word), text.size());
    std::string part(text.substr(0, end));
    if (has_word && word > 0 && used + columns_of(part) > columns) {
      out += '\n';
      used = 0;
      part = std::string(indent, ' ') + part.substr(word);
    }
    out += part;
    used += columns_of(part);
    has_word = true;
    text.remove_prefix(end);
  }
  return out;
}

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
  // The bar first appears after `patience`, plain lines after one interval.
  if (options_.style == Style::bar) drawn_ += options_.patience - options_.bar_interval;
}

Progress::~Progress() {
  if (bar_shown_) put("\n");
}

void Progress::put(const std::string& text) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(options_.descriptor, rest.data(), rest.size());
    if (count <= 0) return;  // ignore a closed terminal
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string Progress::time_text(std::uint64_t done) const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (options_.total == 0 || done <= options_.first || done >= options_.total)
    return human_duration(elapsed);
  const double each = elapsed / static_cast<double>(done - options_.first);
  return human_duration(each * static_cast<double>(options_.total - done)) + " left";
}

/// The whole line in at most `columns`; lines in a file have no limit and no bar.
std::string Progress::line(std::uint64_t done, const ProgressStatus& status,
                           std::size_t columns) const {
  const double part =
      options_.total == 0
          ? 0
          : std::min(1.0, static_cast<double>(done) / static_cast<double>(options_.total));
  const std::string time = time_text(done);
  const std::string needed =
      time + (status.needed.empty() ? "" : "  " + on_one_line(status.needed));
  // Fields in display order. `turn` is the priority: the lowest is added first.
  struct Field {
    std::string text;
    std::size_t turn;
    bool taken = false;
  };
  std::vector<Field> fields;
  if (!options_.title.empty()) fields.push_back({on_one_line(options_.title) + " ", 2});
  if (options_.total > 0) fields.push_back({fmt::format("{:3.0f}% ", part * 100), 0});
  fields.push_back({options_.total > 0 ? fmt::format("{}/{}  ", done, options_.total)
                                       : fmt::format("{}  ", done),
                    1});
  const std::size_t before = fields.size();
  for (std::size_t i = 0; i < status.more.size(); ++i)
    fields.push_back({"  " + on_one_line(status.more[i]), 3 + i});
  std::size_t used = columns_of(needed);
  // Stop at the first field that does not fit, so that the selection does not flicker with the
  // digits.
  for (std::size_t turn = 0; turn < 3 + status.more.size(); ++turn) {
    const auto field = std::ranges::find(fields, turn, &Field::turn);
    if (field == fields.end()) continue;
    const std::size_t more = columns_of(field->text);
    if (used + more > columns) break;
    used += more;
    field->taken = true;
  }
  // Most times fit into this width, so the bar keeps its length.
  constexpr std::size_t kTime = 12;  // "1:02:03 left"
  const std::size_t taken = used + kTime - std::min(kTime, columns_of(time));
  std::string line;
  for (std::size_t i = 0; i < before; ++i) {
    if (fields[i].turn == 0 && options_.style == Style::bar) line += bar(part, columns, taken);
    if (fields[i].taken) line += fields[i].text;
  }
  line += needed;
  for (std::size_t i = before; i < fields.size(); ++i)
    if (fields[i].taken) line += fields[i].text;
  return cut_to(line, columns);
}

void Progress::clear_bar() {
  if (bar_shown_) put("\r\x1b[2K");  // ECMA-48 EL: erase the whole line
  bar_shown_ = false;
}

void Progress::draw(std::uint64_t done, const ProgressStatus& status) {
  if (options_.style == Style::bar) {
    const std::size_t width =
        options_.columns > 0 ? options_.columns : terminal_columns(options_.descriptor);
    put("\r\x1b[2K" + line(done, status, width - 1));  // a wrapped line cannot be redrawn
    bar_shown_ = true;
  } else {
    put(line(done, status, std::string::npos) + "\n");
  }
  drawn_ = Clock::now();
}

void Progress::update(std::uint64_t done, const ProgressStatus& status) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (options_.style == Style::silent) return;
    const auto interval =
        options_.style == Style::bar ? options_.bar_interval : options_.line_interval;
    if (Clock::now() - drawn_ >= interval) draw(done, status);
  } catch (...) {  // out of memory for a line: continue without it
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

void Progress::withdraw() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    clear_bar();
  } catch (...) {
  }
}

}  // namespace wellspring
