#include "core/text/progress.h"

#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <array>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace wellspring::test {
namespace {

/// Collects output written to a descriptor that is not a terminal.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_NONBLOCK) != 0) throw std::runtime_error("pipe2 failed");
  }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int descriptor() const { return ends_[1]; }
  std::string text() const {
    std::string text;
    std::array<char, 4096> block{};
    for (ssize_t count; (count = ::read(ends_[0], block.data(), block.size())) > 0;) {
      text.append(block.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{};
};

/// The terminal end (slave) of a pseudo-terminal.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0) {
      slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    }
  }
  ~Terminal() {
    if (slave_ >= 0) ::close(slave_);
    if (master_ >= 0) ::close(master_);
  }
  int descriptor() const { return slave_; }
  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    ::ioctl(slave_, TIOCSWINSZ, &size);
  }
  /// The output so far.
  std::string text() const {
    std::array<char, 4096> block{};
    const ssize_t count = ::read(master_, block.data(), block.size());
    return {block.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }

 private:
  int master_, slave_ = -1;
};

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* held = ::getenv(name)) before_ = held;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Environment() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

Progress::Options options(const Pipe& pipe, Progress::Style style) {
  Progress::Options options;
  options.title = "train";
  options.total = 10;
  options.style = style;
  options.descriptor = pipe.descriptor();
  options.bar_interval = options.line_interval = std::chrono::milliseconds(0);
  return options;
}

TEST(Wrapped, BreaksLinesAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("  name  one two three", 12, 8), "  name  one\n        two\n        three");
  EXPECT_EQ(wrapped("fits", 4, 2), "fits");
  EXPECT_EQ(wrapped("", 10, 2), "");
}

TEST(Wrapped, KeepsLinesAndLongWords) {
  EXPECT_EQ(wrapped("a\nb c", 3, 1), "a\nb c");
  EXPECT_EQ(wrapped("to /a/long/path now", 8, 2), "to\n  /a/long/path\n  now");
  EXPECT_EQ(wrapped("/a/long/path", 4, 2), "/a/long/path");
}

TEST(Progress, PrintsPlainLinesWithoutATerminal) {
  const Pipe pipe;
  Progress progress(options(pipe, Progress::Style::automatic));
  progress.update(5, {"loss 1.5", {"lr 0.1"}});
  progress.say("saved");
  progress.update(10, {"done"});
  const std::string text = pipe.text();
  EXPECT_TRUE(text.starts_with("train  50% 5/10  ")) << text;
  expect_parts(text, {" left  loss 1.5  lr 0.1\nsaved\ntrain 100% 10/10  "});
  EXPECT_TRUE(text.ends_with("  done\n")) << text;
  EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
}

TEST(Progress, WaitsForTheIntervalBetweenLines) {
  const Pipe pipe;
  Progress::Options hourly = options(pipe, Progress::Style::lines);
  hourly.line_interval = std::chrono::hours(1);
  {
    Progress progress(hourly);
    for (std::uint64_t i = 0; i <= 10; ++i) progress.update(i);
  }
  EXPECT_EQ(pipe.text(), "");
}

TEST(Progress, RedrawsTheLineOfABar) {
  const Pipe pipe;
  Progress progress(options(pipe, Progress::Style::bar));
  progress.update(5, {"loss 1.5"});
  progress.say("saved");
  progress.update(10, {"", {std::string(500, 'x')}});
  const std::string text = pipe.text();
  EXPECT_TRUE(text.starts_with("\r\x1b[2Ktrain [============............]  50% 5/10")) << text;
  expect_parts(text, {"\r\x1b[2Ksaved\n", "[========================] 100% 10/10"});
  EXPECT_EQ(text.find('x'), std::string::npos);  // parts that do not fit are omitted
}

TEST(Progress, CutsLinesBetweenCharacters) {
  const Pipe pipe;
  Progress::Options wide = options(pipe, Progress::Style::bar);
  wide.total = 0;
  for (const char* title : {"a", "aa"}) {  // with one of these titles, the cut splits an é
    wide.title = title;
    for (int i = 0; i < 100; ++i) wide.title += "é";
    Progress(wide).update(1, {wide.title});
    const std::string text = pipe.text();
    EXPECT_TRUE(text.ends_with("é\n")) << text;
  }
}

/// The last line drawn: the text after the last "erase" sequence.
std::string last_line(const std::string& text) {
  const std::string erase = "\r\x1b[2K";
  std::string line = text.substr(text.rfind(erase) + erase.size());
  while (line.ends_with('\n')) line.pop_back();
  return line;
}

// The lines of a run whose sources have long names. Essential parts must never be cut.
TEST(Progress, FitsAnyWidthFromFortyColumns) {
  const ProgressStatus status{
      "loss 1.234  12.3 k/s",
      {"accuracy 99.9 %", "lr 1.0e-03", "a source with a long name 33.3 %", "größe 66.7 %"}};
  // Parts in order of importance, each with its surrounding blanks.
  const std::vector<std::string> optional = {"  1% ",         "10/1000  ",
                                             "training ",     "  accuracy 99.9 %",
                                             "  lr 1.0e-03",  "  a source with a long name 33.3 %",
                                             "  größe 66.7 %"};
  for (std::size_t columns = 40; columns <= 200; ++columns) {
    const Pipe pipe;
    Progress::Options narrow = options(pipe, Progress::Style::bar);
    narrow.title = "training";
    narrow.total = 1000;
    narrow.columns = columns;
    Progress progress(narrow);
    progress.update(10, status);
    std::string line = last_line(pipe.text());
    EXPECT_LT(columns_of(line), columns) << line;
    expect_parts(line, {" left  loss 1.234  12.3 k/s"});
    if (const std::size_t bar = line.find('['); bar != std::string::npos)
      line.erase(bar, line.find(']') + 2 - bar);
    std::size_t shown = 0;
    while (shown < optional.size() && line.find(optional[shown]) != std::string::npos) ++shown;
    // The first omitted part must not fit, and no part after it may be shown.
    EXPECT_TRUE(shown == optional.size() ||
                columns_of(line) + columns_of(optional[shown]) >= columns)
        << line;
    for (std::size_t i = shown; i < optional.size(); ++i)
      EXPECT_EQ(line.find(optional[i]), std::string::npos) << line;
    EXPECT_TRUE(columns < 190 || shown == optional.size()) << line;
  }
}

TEST(Progress, GivesTheBarTheRemainingColumns) {
  // "train  50% 5/10  0.1 ms left  loss 1.5" has 35 to 40 characters, depending on the time left.
  for (const auto& [columns, least, most] :
       {std::array<std::size_t, 3>{200, 24, 24}, {56, 8, 24}, {40, 0, 0}}) {
    const Pipe pipe;
    Progress::Options narrow = options(pipe, Progress::Style::bar);
    narrow.columns = columns;
    Progress progress(narrow);
    progress.update(5, {"loss 1.5"});
    const std::string line = last_line(pipe.text());
    const std::size_t open = line.find('['), close = line.find(']');
    const std::size_t width = open == std::string::npos ? 0 : close - open - 1;
    EXPECT_GE(width, least) << line;
    EXPECT_LE(width, most) << line;
  }
}

TEST(Progress, ReadsTheTerminalWidthAtEachUpdate) {
  const Terminal terminal;
  if (terminal.descriptor() < 0) GTEST_SKIP() << "no pseudo-terminal is available here";
  const Environment kind("TERM", "xterm");
  Progress::Options terminal_options;
  terminal_options.title = "train";
  terminal_options.total = 10;
  terminal_options.descriptor = terminal.descriptor();
  terminal_options.bar_interval = std::chrono::milliseconds(0);
  Progress progress(terminal_options);
  for (const unsigned short columns : {40, 120}) {
    terminal.resize(columns);
    progress.update(5, {"loss 1.5  9 k/s", {std::string(60, 'x')}});
    const std::string line = last_line(terminal.text());
    EXPECT_LT(columns_of(line), columns);
    EXPECT_EQ(line.find("xxx") != std::string::npos, columns == 120) << line;
  }
}

TEST(Progress, CountsWideCharactersTwice) {
  EXPECT_EQ(columns_of("größe"), 5u);
  EXPECT_EQ(columns_of("猫"), 2u);
  const Pipe pipe;
  Progress::Options cats = options(pipe, Progress::Style::bar);
  cats.columns = 50;
  cats.title = "a\tb\nc";
  Progress(cats).update(1, {"loss 1", {"猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫"}});
  expect_parts(pipe.text(), {"a b c "});
  EXPECT_EQ(pipe.text().find("猫"), std::string::npos);
}

TEST(Progress, ShowsABarAfterADelayAndErasesIt) {
  const Pipe pipe;
  Progress::Options delayed = options(pipe, Progress::Style::bar);
  delayed.patience = std::chrono::hours(1);
  {
    Progress progress(delayed);
    progress.update(5);
    progress.withdraw();
  }
  EXPECT_EQ(pipe.text(), "");
  {
    Progress progress(options(pipe, Progress::Style::bar));
    progress.update(5);
    progress.withdraw();
  }
  EXPECT_TRUE(pipe.text().ends_with("\r\x1b[2K")) << "must erase the line and begin no other";
}

TEST(Progress, EstimatesTheTimeLeftFromThisRunAlone) {
  const Pipe pipe;
  Progress::Options resumed = options(pipe, Progress::Style::lines);
  resumed.first = 5;
  Progress progress(resumed);
  progress.update(5);
  EXPECT_EQ(pipe.text().find("left"), std::string::npos);
  progress.update(6);
  expect_parts(pipe.text(), {"left"});
}

TEST(Progress, EndsAnUnfinishedBarWithANewline) {
  const Pipe pipe;
  {
    Progress progress(options(pipe, Progress::Style::bar));
    progress.update(1);
  }
  EXPECT_TRUE(pipe.text().ends_with("\n"));
}

TEST(Progress, IsSilentOnRequestOrWithoutADescriptor) {
  const Pipe pipe;
  Progress silent(options(pipe, Progress::Style::silent));
  silent.update(1);
  silent.say("x");
  EXPECT_EQ(pipe.text(), "");
  Progress::Options closed = options(pipe, Progress::Style::lines);
  closed.descriptor = -1;
  Progress unheard(closed);
  unheard.update(1);
}

TEST(Progress, AcceptsUnknownAndExceededTotals) {
  const Pipe pipe;
  Progress::Options unknown = options(pipe, Progress::Style::lines);
  unknown.total = 0;
  Progress(unknown).update(3);
  EXPECT_TRUE(pipe.text().starts_with("train 3  "));
  Progress(options(pipe, Progress::Style::bar)).update(11);
  expect_parts(pipe.text(), {"100% 11/10"});
}

TEST(Progress, SeparatesLinesOfSeveralThreads) {
  const Pipe pipe;
  Progress progress(options(pipe, Progress::Style::lines));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) progress.say("0123456789");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string expected;
  for (int i = 0; i < 80; ++i) expected += "0123456789\n";
  EXPECT_EQ(pipe.text(), expected);
}

TEST(Terminal, ObeysTermAndNoColor) {
  const Pipe pipe;
  EXPECT_FALSE(is_terminal(pipe.descriptor()));
  EXPECT_FALSE(wants_colour(pipe.descriptor()));
  const Terminal terminal;
  if (terminal.descriptor() < 0) GTEST_SKIP() << "no pseudo-terminal is available here";
  {
    const Environment kind("TERM", "xterm"), colour("NO_COLOR", nullptr);
    EXPECT_TRUE(is_terminal(terminal.descriptor()));
    EXPECT_TRUE(wants_colour(terminal.descriptor()));
  }
  {
    const Environment kind("TERM", "xterm"), colour("NO_COLOR", "1");
    EXPECT_TRUE(is_terminal(terminal.descriptor()));
    EXPECT_FALSE(wants_colour(terminal.descriptor()));
  }
  for (const char* dumb : {"dumb", static_cast<const char*>(nullptr)}) {
    const Environment kind("TERM", dumb);
    EXPECT_FALSE(is_terminal(terminal.descriptor()));
  }
}

}  // namespace
}  // namespace wellspring::test
