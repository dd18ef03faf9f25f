#include "generators/own/check.h"

#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <numeric>
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
/// Processor seconds: per sample, per sample in a variant that counts (compiled with -O1), and for
/// the constructor and tables.
constexpr int kSampleSeconds = 4, kCountedSeconds = 20, kPlanSeconds = 120;

/// Memory that the child shares with its parent.
struct Report {
  static constexpr std::int64_t kPlanning = -1;
  std::atomic<std::int64_t> sample = kPlanning;  ///< sample being made
  std::atomic<int> seconds = kPlanSeconds;       ///< the limit in force
  std::atomic<bool> finished = false;            ///< false: the generator's code ended the process
  std::array<char, 4096> message{};              ///< the failure
};

/// Ends this process with SIGPROF after this much more processor time, or with SIGALRM after a
/// multiple of it in wall-clock time, because code may also wait.
void limit_time(Report& report, int seconds) {
  constexpr int kClock = 30;
  report.seconds = seconds;
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
  HostSamples(Generator& generator, Device device, std::size_t rows = kIds.size())
      : generator_(generator),
        stream_(device, 1),  // after fork, only one thread is certain to work
        memory_(device) {
    const auto dense = generator.info().plane ? DenseLabels::plane : DenseLabels::none;
    SampleLayout layout = generator.layout();
    layout.planes = dense == DenseLabels::plane ? 1 : 0;
    batch_.plan(memory_, "check", static_cast<std::int64_t>(rows), layout, DType::f32);
    slots_ = memory_.reserve<Slot>("check", "slots", rows);
    generator.plan(memory_, static_cast<std::int64_t>(rows), dense);
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

/// The first contradiction in a generator's description, or "".
std::string description_failure(const SampleInfo& info) {
  if (!(info.low <= info.high))
    return fmt::format("describe() declares values from {} to {}", info.low, info.high);
  if (info.version < 1) return "describe() sets no version; begin with 1";
  std::set<std::string> names;
  for (const LatentInfo& latent : info.latents)
    if (!names.insert(latent.name).second)
      return fmt::format("describe() has two latents '{}'", latent.name);
  const SampleLayout& layout = info.layout;
  if (layout.kind == SampleKind::image) return "";  // the caller chooses the size of images
  if (layout.items < 1 || layout.features < 1)
    return fmt::format("layout() has {} items of {} features", layout.items, layout.features);
  if (info.features.size() != static_cast<std::size_t>(layout.features))
    return fmt::format("describe() names {} features, and layout() has {}", info.features.size(),
                       layout.features);
  return "";
}

constexpr std::size_t kBatch = 64;  ///< rows per batch of CheckPlan::samples

class Checker {
 public:
  Checker(Generator& generator, std::uint64_t (*drawn)(), Report& report, const CheckPlan& plan)
      : generator_(generator),
        drawn_(drawn),
        report_(report),
        plan_(plan),
        samples_(generator, Device::cpu(), plan.samples > 0 ? kBatch : kIds.size()) {}

  /// Returns the failure, or "".
  std::string run() {
    std::string failure = batch_failure();
    if (failure.empty() && plan_.samples > 0) failure = filling_failure();
    return failure;
  }

 private:
  /// Makes samples alone, then together in a different order, and compares them.
  std::string batch_failure() {
    std::vector<Row> alone;
    for (const std::uint64_t id : kIds) {
      if (std::string failure = made_failure(std::span(&id, 1)); !failure.empty()) return failure;
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

  /// Makes samples 0 to plan_.samples - 1, and checks which classes and latents occur.
  std::string filling_failure() {
    const SampleInfo& info = generator_.info();
    std::vector<float> low(info.latents.size(), INFINITY), high(info.latents.size(), -INFINITY);
    std::set<std::int32_t> labels;
    const auto count = static_cast<std::uint64_t>(plan_.samples);
    for (std::uint64_t first = 0; first < count; first += kBatch) {
      std::vector<std::uint64_t> ids(std::min<std::uint64_t>(kBatch, count - first));
      std::iota(ids.begin(), ids.end(), first);
      if (std::string failure = made_failure(ids); !failure.empty()) return failure;
      const BatchView& view = samples_.view();
      for (std::size_t row = 0; row < ids.size(); ++row) {
        labels.insert(view.label[row]);
        for (std::size_t l = 0; view.latents != nullptr && l < info.latents.size(); ++l) {
          const float value = view.latents[row * info.latents.size() + l];
          low[l] = std::min(low[l], value);
          high[l] = std::max(high[l], value);
        }
      }
    }
    if (plan_.samples < CheckPlan::kFillingSamples) return "";
    for (std::size_t k = 0; k < info.classes.size(); ++k)
      if (!labels.contains(static_cast<std::int32_t>(k)))
        return fmt::format("none of {} samples has the class {}", count, info.classes[k]);
    // The probability that 4096 uniform numbers all miss a given end by more than 1 % is 1e-18.
    for (std::size_t l = 0; l < info.latents.size(); ++l) {
      const LatentInfo& latent = info.latents[l];
      const float slack = 0.01f * (latent.high - latent.low);
      if (latent.ends != LatentEnds::rare &&
          (low[l] > latent.low + slack || high[l] < latent.high - slack))
        return fmt::format(
            "latent {} is in [{}, {}] in {} samples; describe() declares [{}, {}] without "
            "LatentEnds::rare",
            latent.name, low[l], high[l], count, latent.low, latent.high);
    }
    return "";
  }

  void make(std::span<const std::uint64_t> ids) {
    report_.sample = static_cast<std::int64_t>(ids[0]);
    limit_time(report_, (drawn_ == nullptr ? kSampleSeconds : kCountedSeconds) *
                            static_cast<int>(ids.size()));
    samples_.make(ids);
  }

  /// Makes samples and returns their first failure.
  std::string made_failure(std::span<const std::uint64_t> ids) {
    const std::uint64_t before = drawn_ == nullptr ? 0 : drawn_();
    make(ids);
    // Dense labels are made by a second pass, which draws the same numbers again.
    const std::uint64_t passes = generator_.info().plane ? 2 : 1;
    const std::uint64_t blocks = drawn_ == nullptr ? 0 : (drawn_() - before) / passes;
    for (std::size_t row = 0; row < ids.size(); ++row)
      if (std::string failure = value_failure(ids[row], row); !failure.empty()) return failure;
    const auto allowed = static_cast<std::uint64_t>(blocks_allowed(generator_.info()));
    if (blocks <= allowed * ids.size()) return "";
    if (ids.size() > 1)  // find the sample
      for (const std::uint64_t id : ids)
        if (std::string failure = made_failure(std::span(&id, 1)); !failure.empty()) return failure;
    return fmt::format(
        "sample {}: draws {} blocks of random numbers, and info.draws in describe() allows {}",
        ids[0], blocks, allowed);
  }

  /// The first value of a row that is not in its range.
  std::string value_failure(std::uint64_t id, std::size_t row) const {
    const SampleInfo& info = generator_.info();
    const BatchView& view = samples_.view();
    const auto outside = [id](const std::string& what, double value, double low, double high) {
      return fmt::format("sample {}: {} is {}, not in [{}, {}]", id, what, value, low, high);
    };
    const std::int64_t elements = view.layout.elements();
    const float* const x =
        static_cast<const float*>(view.x) + static_cast<std::int64_t>(row) * elements;
    for (std::int64_t i = 0; i < elements; ++i)
      if (!(x[i] >= info.low && x[i] <= info.high))  // true for NaN
        return outside(fmt::format("x[{}]", i), x[i], info.low, info.high);
    const auto classes = static_cast<int>(info.classes.size());
    if (view.label[row] < 0 || view.label[row] >= classes)
      return outside("label", view.label[row], 0, classes - 1);
    for (std::size_t l = 0; view.latents != nullptr && l < info.latents.size(); ++l) {
      const LatentInfo& latent = info.latents[l];
      const float value = view.latents[row * info.latents.size() + l];
      if (!(value >= latent.low && value <= latent.high))
        return outside("latent " + latent.name, value, latent.low, latent.high);
    }
    const auto globals = static_cast<std::size_t>(view.layout.globals);
    for (std::size_t g = 0; view.globals != nullptr && g < globals; ++g)
      if (!std::isfinite(view.globals[row * globals + g]))
        return fmt::format("sample {}: global {} is {}", id, g, view.globals[row * globals + g]);
    if (view.count != nullptr && (view.count[row] < 0 || view.count[row] > view.layout.items))
      return outside("number of items", view.count[row], 0, view.layout.items);
    if (view.weight != nullptr && !(std::isfinite(view.weight[row]) && view.weight[row] > 0))
      return fmt::format("sample {}: weight is {}", id, view.weight[row]);
    return "";
  }

  Generator& generator_;
  std::uint64_t (*drawn_)();
  Report& report_;
  const CheckPlan& plan_;
  HostSamples samples_;
};

std::string check(const std::function<CheckedGenerator()>& load, const CheckPlan& plan,
                  Report& report) {
  try {
    limit_time(report, kPlanSeconds);
    const CheckedGenerator checked = load();
    const auto generator = checked.entry.make(plan.settings, kSide);
    std::string failure = description_failure(generator->info());
    if (!failure.empty()) return failure;
    return Checker(*generator, checked.drawn, report, plan).run();
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
    return fmt::format("{}: not finished after {} s", where, report.seconds.load());
  if (signal != 0)
    return fmt::format("{}: crashed with signal {} ({})", where, signal, ::strsignal(signal));
  if (!report.finished)
    return fmt::format("{}: ended the process with code {}", where, WEXITSTATUS(status));
  return report.message.data();
}

}  // namespace

std::int64_t blocks_allowed(const SampleInfo& info) {
  const SampleShape shape = info.layout.shape();
  const auto rounded_up = [](int n, int unit) { return (n + unit - 1) / unit * unit; };
  const DrawBudget& draws = info.draws;
  const int side = draws.side == 0 ? std::max({1, shape.width, shape.height}) : draws.side;
  const std::int64_t parts =
      std::int64_t{rounded_up(shape.width, side) / side} * (rounded_up(shape.height, side) / side);
  return draws.scene + parts * draws.part +
         draws.pixel * std::int64_t{rounded_up(shape.width, 32)} * shape.height;
}

std::string failure_of(const std::function<CheckedGenerator()>& load, const CheckPlan& plan) {
  void* const memory =
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  Report& report = *new (memory) Report;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGPROF, SIG_DFL);
    std::signal(SIGALRM, SIG_DFL);
    const std::string failure = check(load, plan, report);
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
