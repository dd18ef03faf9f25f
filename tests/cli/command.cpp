#include "tests/cli/command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace wellspring::test {
namespace {

void open_as(const std::string& path, int descriptor) {
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
}

}  // namespace

Process::Process(std::vector<std::string> arguments, const std::filesystem::path& folder,
                 const Environment& environment) {
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const std::string out = files_ / "out", err = files_ / "err";
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ > 0) return;
  for (const int signal : {SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);  // as under a shell
  open_as(out, STDOUT_FILENO);
  open_as(err, STDERR_FILENO);
  if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(126);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execvp(words[0], words.data());
  _exit(127);
}

Process::~Process() {
  if (done_) return;
  kill(pid_, SIGKILL);
  reap(0);
}

void Process::send(int signal) const {
  if (!done_) kill(pid_, signal);
}

void Process::reap(int options) {
  rusage used{};
  done_ = wait4(pid_, &status_, options, &used) == pid_;
  if (done_) peak_memory_ = used.ru_maxrss;
}

bool Process::running() {
  if (!done_) reap(WNOHANG);
  return !done_;
}

std::string Process::errors() const {
  return slurp(files_ / "err");
}

bool Process::wait_until(const std::function<bool()>& reached) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (running() && std::chrono::steady_clock::now() < end) {
    if (reached()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

Outcome Process::wait(std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (running()) {
    if (std::chrono::steady_clock::now() > end) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Outcome outcome;
  if (WIFEXITED(status_)) outcome.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) outcome.signal = WTERMSIG(status_);
  outcome.peak_memory = peak_memory_;
  outcome.out = slurp(files_ / "out");
  outcome.err = errors();
  return outcome;
}

std::string wellspring_path() {
  return std::string(WELLSPRING_BINARY_DIR) + "/wellspring";
}

Outcome wellspring(std::vector<std::string> arguments, const std::filesystem::path& folder,
                   const Process::Environment& environment) {
  arguments.insert(arguments.begin(), wellspring_path());
  return Process(std::move(arguments), folder, environment).wait();
}

Outcome short_diagnosis(const std::vector<std::string>& arguments,
                        const std::filesystem::path& folder) {
  Outcome outcome;
  for (const char* seconds : {"10", "100"}) {
    std::vector<std::string> words = {"diagnose", "--seconds", seconds};
    words.insert(words.end(), arguments.begin(), arguments.end());
    outcome = wellspring(std::move(words), folder);
    if (outcome.err.find("use at least --seconds") == std::string::npos) break;
  }
  return outcome;
}

std::vector<std::string> split_words(const std::string& command) {
  std::istringstream stream(command);
  return {std::istream_iterator<std::string>(stream), {}};
}

Outcome shell(const std::string& text, const std::filesystem::path& folder,
              const Process::Environment& environment) {
  return Process({"bash", "-c", text}, folder, environment).wait();
}

std::vector<std::string> suggestions(const std::string& output) {
  std::vector<std::string> commands;
  std::size_t begin = std::min(output.find("\nTry next:\n"), output.find("\nOptions:\n"));
  std::istringstream lines(begin == std::string::npos ? "" : output.substr(begin));
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(wellspring_path()); at != std::string::npos)
      commands.push_back(line.substr(at));
  return commands;
}

void expect_suggestions_work(const std::string& output, const std::filesystem::path& folder) {
  const std::vector<std::string> commands = suggestions(output);
  EXPECT_FALSE(commands.empty()) << output;
  for (const std::string& command : commands) {
    const Outcome outcome = shell(command, folder);
    EXPECT_EQ(outcome.exit_code, 0) << command << "\n" << outcome.err;
  }
}

std::filesystem::path source_folder() {
  return WELLSPRING_SOURCE_DIR;
}

}  // namespace wellspring::test
