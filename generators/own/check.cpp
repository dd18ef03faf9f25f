#include "generators/own/check.h"

#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace wellspring::own {
namespace {

constexpr int kSide = 40;  ///< pixels; not a multiple of the host's run length or of a tile
constexpr std::uint64_t kSeed = 7;
/// Processor seconds per sample, and for the constructor and tables.
constexpr int kSampleSeconds = 4, kPlanSeconds = 120;

/// Memory that the child shares with its parent.
struct Report {
  static constexpr std::int64_t kPlanning = -1;
  std::atomic<std::int64_t> sample = kPlanning;  ///< being made
  std::atomic<bool> finished = false;            ///< false: the process was ended by its own code
  std::array<char, 4096> message{};              ///< the failure
};

/// Ends this process with SIGPROF when it has used this processor time from now on, or with SIGALRM
/// after a multiple of it on the clock: code may wait, too.
void limit_time(int seconds) {
  constexpr int kClock = 30;
  itimerval limit{};
  limit.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  limit.it_value.tv_sec = std::time_t{kClock} * seconds;
  ::setitimer(ITIMER_REAL, &limit, nullptr);
}

using Row = std::vector<std::vector<std::byte>>;  ///< bytes of each column

constexpr std::array<std::uint64_t, 12> kIds = {0, 1, 2, 3, 4,    5,
                                                6, 7, 8, 9, 1000, (std::uint64_t{1} << 32) + 5};

/// Batches of a generator with f32 values, copied to the host.
class HostSamples {
 public:
  HostSamples(Generator& generator, Device device)
      : generator_(generator),
        stream_(device, 1),  // after fork, only one thread is certain to work
        memory_(device) {
    const auto dense = generator.info().plane ? DenseLabels::plane : DenseLabels::none;
    SampleLayout layout = generator.layout();
    layout.planes = dense == DenseLabels::plane ? 1 : 0;
    batch_.plan(memory_, "check", kIds.size(), layout, DType::f32);
    slots_ = memory_.reserve<Slot>("check", "slots", kIds.size());
    generator.plan(memory_, kIds.size(), dense);
    memory_.commit();
    generator.load(stream_);
  }

  void make(std::span<const std::uint64_t> ids) {
    std::vector<Slot> slots;
    for (const std::uint64_t id : ids)
      slots.push_back({id, id, 0, static_cast<std::uint32_t>(slots.size())});
    stream_.copy(slots_.data(), slots.data(), slots.size() * sizeof(Slot),
                 CopyDirection::host_to_device, "slots");
    BatchView made = batch_.view();
    made.size = static_cast<std::int64_t>(ids.size());
    std::array<BatchColumn, kBatchColumns> columns = columns_of(made);
    for (const BatchColumn& column : columns)
      if (column.data != nullptr)
        stream_.fill_zero(column.data, ids.size() * column.row_bytes(), column.name);
    generator_.emit(stream_, {slots_.data(), 0, kSeed, {}, made});
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].data == nullptr) continue;
      bytes_[c].resize(ids.size() * columns[c].row_bytes());
      stream_.copy(bytes_[c].data(), columns[c].data, bytes_[c].size(),
                   CopyDirection::device_to_host, columns[c].name);
      columns[c].data = bytes_[c].data();
    }
    stream_.synchronize();
    view_ = with_columns(made, columns);
  }

  const BatchView& view() const { return view_; }  ///< the last batch, in host memory
  Row row(std::size_t i) const {
    Row row;
    for (const BatchColumn& column : columns_of(view_)) {
      const auto* const data = static_cast<const std::byte*>(column.data);
      if (data == nullptr) {
        row.emplace_back();
      } else {
        row.emplace_back(data + i * column.row_bytes(), data + (i + 1) * column.row_bytes());
      }
    }
    return row;
  }
  /// Name of the first column that differs; null: none.
  const char* difference(const Row& a, const Row& b) const {
    for (std::size_t c = 0; c < a.size(); ++c)
      if (a[c] != b[c]) return columns_of(view_)[c].name;
    return nullptr;
  }

 private:
  Generator& generator_;
  Stream stream_;
  MemoryPlan memory_;
  BatchColumns batch_;
  Planned<Slot> slots_;
  BatchView view_{};
  std::array<std::vector<std::byte>, kBatchColumns> bytes_;
};

class Checker {
 public:
  Checker(Generator& generator, Report& report)
      : generator_(generator), report_(report), samples_(generator, Device::cpu()) {}

  /// Returns the failure, or "".
  std::string run() {
    if (std::string failure = description_failure(); !failure.empty()) return failure;
    std::vector<Row> alone;
    for (const std::uint64_t id : kIds) {
      make(std::span(&id, 1));
      if (std::string failure = value_failure(id); !failure.empty()) return failure;
      alone.push_back(samples_.row(0));
    }
    std::vector<std::uint64_t> reversed(kIds.rbegin(), kIds.rend());
    make(reversed);
    for (std::size_t i = 0; i < kIds.size(); ++i)
      if (const char* const column =
              samples_.difference(alone[i], samples_.row(kIds.size() - 1 - i)))
        return fmt::format("sample {}: its {} differs between batches of 1 and of {}", kIds[i],
                           column, kIds.size());
    return "";
  }

 private:
  std::string description_failure() const {
    const SampleInfo& info = generator_.info();
    if (!(info.low <= info.high))
      return fmt::format("describe() declares values from {} to {}", info.low, info.high);
    if (info.version < 1) return "describe() sets no version; begin with 1";
    std::set<std::string> names;
    for (const LatentInfo& latent : info.latents)
      if (!names.insert(latent.name).second)
        return fmt::format("describe() has two latents '{}'", latent.name);
    return "";
  }

  void make(std::span<const std::uint64_t> ids) {
    report_.sample = static_cast<std::int64_t>(ids[0]);
    limit_time(kSampleSeconds * static_cast<int>(ids.size()));
    samples_.make(ids);
  }

  /// The first value of the only row that is not in its range.
  std::string value_failure(std::uint64_t id) const {
    const SampleInfo& info = generator_.info();
    const BatchView& view = samples_.view();
    const auto outside = [id](const std::string& what, double value, double low, double high) {
      return fmt::format("sample {}: {} is {}, not in [{}, {}]", id, what, value, low, high);
    };
    const auto* const x = static_cast<const float*>(view.x);
    for (std::int64_t i = 0; i < view.layout.elements(); ++i)
      if (!(x[i] >= info.low && x[i] <= info.high))  // true for NaN
        return outside(fmt::format("x[{}]", i), x[i], info.low, info.high);
    const auto classes = static_cast<int>(info.classes.size());
    if (view.label[0] < 0 || view.label[0] >= classes)
      return outside("label", view.label[0], 0, classes - 1);
    for (std::size_t l = 0; view.latents != nullptr && l < info.latents.size(); ++l) {
      const LatentInfo& latent = info.latents[l];
      if (!(view.latents[l] >= latent.low && view.latents[l] <= latent.high))
        return outside("latent " + latent.name, view.latents[l], latent.low, latent.high);
    }
    for (int g = 0; view.globals != nullptr && g < view.layout.globals; ++g)
      if (!std::isfinite(view.globals[g]))
        return fmt::format("sample {}: global {} is {}", id, g, view.globals[g]);
    if (view.count != nullptr && (view.count[0] < 0 || view.count[0] > view.layout.items))
      return outside("number of items", view.count[0], 0, view.layout.items);
    if (view.weight != nullptr && !(std::isfinite(view.weight[0]) && view.weight[0] > 0))
      return fmt::format("sample {}: weight is {}", id, view.weight[0]);
    return "";
  }

  Generator& generator_;
  Report& report_;
  HostSamples samples_;
};

std::string check(const std::function<GeneratorEntry()>& load, Report& report) {
  try {
    limit_time(kPlanSeconds);
    const GeneratorEntry entry = load();
    const auto generator = entry.make({}, kSide);
    return Checker(*generator, report).run();
  } catch (const std::exception& error) {
    const std::int64_t sample = report.sample;
    return sample < 0 ? error.what() : fmt::format("sample {}: {}", sample, error.what());
  }
}

std::string failure_of_child(int status, const Report& report) {
  const std::int64_t sample = report.sample;
  const std::string where =
      sample < 0 ? "its constructor or its tables" : fmt::format("sample {}", sample);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGPROF || signal == SIGALRM)
    return fmt::format("{}: not finished after {} s", where,
                       sample < 0 ? kPlanSeconds : kSampleSeconds);
  if (signal != 0)
    return fmt::format("{}: crashed with signal {} ({})", where, signal, ::strsignal(signal));
  if (!report.finished)
    return fmt::format("{}: ended the process with code {}", where, WEXITSTATUS(status));
  return report.message.data();
}

}  // namespace

std::string failure_of(const std::function<GeneratorEntry()>& load) {
  void* const memory =
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  Report& report = *new (memory) Report;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGPROF, SIG_DFL);
    std::signal(SIGALRM, SIG_DFL);
    const std::string failure = check(load, report);
    failure.copy(report.message.data(), report.message.size() - 1);
    report.finished = true;
    ::_exit(0);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::string failure = child < 0 ? std::string("cannot start a process for the checks")
                                  : failure_of_child(status, report);
  ::munmap(memory, sizeof(Report));
  return failure;
}

std::string failure_on_gpu(const GeneratorEntry& on_host, const GeneratorEntry& on_gpu,
                           Device device) {
  const auto host = on_host.make({}, kSide), gpu = on_gpu.make({}, kSide);
  HostSamples expected(*host, Device::cpu()), made(*gpu, device);
  expected.make(kIds);
  made.make(kIds);
  for (std::size_t i = 0; i < kIds.size(); ++i)
    if (const char* const column = made.difference(expected.row(i), made.row(i)))
      return fmt::format("sample {}: its {} differs between CPU and GPU", kIds[i], column);
  return "";
}

}  // namespace wellspring::own
