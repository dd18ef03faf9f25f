#include "cli/local_ranks.h"

#include "cli/terminal.h"
#include "core/error.h"
#include "core/signals.h"
#include "train/ranks/launch.h"
#include "train/ranks/socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace wellspring::cli {
namespace {

using std::chrono::steady_clock;

/// A port that is free now.
int free_port() {
  return listen_on(0, true).local_port();
}

sigset_t passed_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : SignalGuard::kSignals)
    if (signal != SIGPIPE) sigaddset(&signals, signal);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

/// Sets the environment variables of the new process, which is rank `rank`.
void become_rank(int rank, int ranks, int port, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) std::_Exit(1);  // the parent has already died
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  };
  set("RANK", std::to_string(rank));
  set("LOCAL_RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(ranks));
  set("LOCAL_WORLD_SIZE", std::to_string(ranks));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(port));
}

/// The processes of the ranks, and how they have ended.
class LocalRanks {
 public:
  void add(pid_t id) { ids_.push_back(id); }

  /// Reaps the processes that have ended.
  void collect() {
    int status = 0;
    for (pid_t id; (id = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto place = std::find(ids_.begin(), ids_.end(), id);
      if (place == ids_.end()) continue;
      *place = 0;
      const auto rank = place - ids_.begin();
      ++ended_;
      if (WIFSIGNALED(status)) {
        tell(stderr, "wellspring: rank {} was ended by signal {} ({})\n", rank, WTERMSIG(status),
             strsignal(WTERMSIG(status)));
        constexpr int kOfSignal = 128;  // added to the signal, as in shells
        note_exit(kOfSignal + WTERMSIG(status), rank == 0);
      } else {
        note_exit(WEXITSTATUS(status), rank == 0);
      }
    }
  }
  void send(int signal) const {
    for (const pid_t id : ids_)
      if (id > 0) kill(id, signal);
  }
  /// Ends ranks that keep running after another has failed. SIGTERM ends ranks that wait for the
  /// failed one to join; a rank that is writing a checkpoint has time to finish before SIGKILL,
  /// which also ends a stopped process.
  void press() {
    constexpr std::chrono::seconds kBeforeKill{15};
    if (!failed_ || steady_clock::now() < next_press_) return;
    if (pressure_ == SIGKILL)
      for (std::size_t rank = 0; rank < ids_.size(); ++rank)
        if (ids_[rank] > 0)
          tell(stderr, "wellspring: rank {} does not end, so it is killed\n", rank);
    send(pressure_);
    next_press_ = steady_clock::now() + kBeforeKill;
    pressure_ = SIGKILL;
  }
  bool all_ended() const { return ended_ == ids_.size(); }
  int exit_code() const { return exit_code_; }

 private:
  /// Ranks that end because another one failed return ErrorKind::runtime, so any other code is more
  /// informative. Code 75 means that a rank stopped with a checkpoint.
  void note_exit(int code, bool first) {
    constexpr int kStopped = 75, kFollowing = static_cast<int>(ErrorKind::runtime);
    const bool fails = code != 0 && code != kStopped;
    if (fails ? !failed_ || exit_code_ == kFollowing : first && !failed_) exit_code_ = code;
    if (!fails || failed_) return;
    constexpr std::chrono::seconds kBeforeTerm{2};  // connected ranks notice a lost one at once
    failed_ = true;
    next_press_ = steady_clock::now() + kBeforeTerm;
  }

  std::vector<pid_t> ids_;  ///< by rank; 0: has ended
  std::size_t ended_ = 0;
  int exit_code_ = 0, pressure_ = SIGTERM;
  bool failed_ = false;
  steady_clock::time_point next_press_;
};

int wait_for(LocalRanks& ranks, const sigset_t& signals) {
  constexpr timespec kSecond{1, 0};
  while (!ranks.all_ended()) {
    siginfo_t info{};
    const int signal = sigtimedwait(&signals, &info, &kSecond);
    // A terminal sends its signals to the whole group.
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) ranks.send(signal);
    ranks.collect();
    ranks.press();
  }
  return ranks.exit_code();
}

}  // namespace

void expect_one_process(const std::string& command) {
  const std::optional<Launch> launch = find_launch(process_environment(), getppid());
  if (!launch) return;
  fail(ErrorKind::config,
       {fmt::format("{} started this as process {} of {}", launch->launcher, launch->rank + 1,
                    launch->size),
        fmt::format("{} uses one process, and each would do the whole work again", command),
        "start one process"});
}

std::optional<int> start_local_ranks(int ranks) {
  const int port = free_port();
  const pid_t parent = getpid();
  const sigset_t signals = passed_signals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  LocalRanks started;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t id = fork();
    if (id < 0) {
      started.send(SIGKILL);
      fail(ErrorKind::runtime,
           {fmt::format("cannot start rank {}", rank), std::generic_category().message(errno)});
    }
    if (id == 0) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      become_rank(rank, ranks, port, parent);
      return std::nullopt;
    }
    started.add(id);
  }
  return wait_for(started, signals);
}

}  // namespace wellspring::cli
