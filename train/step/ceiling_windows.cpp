#include "train/step/ceiling_windows.h"

#include "core/expect.h"
#include "core/text/text.h"
#include "kernels/runtime/host_limits.h"
#include "train/metrics/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

namespace wellspring {
namespace {

std::size_t state_bytes(const MemoryPlan& memory) {
  std::size_t bytes = 0;
  for (const Reservation& reservation : memory.reservations())
    if (reservation.persistence != Persistence::none) bytes += reservation.bytes;
  return bytes;
}

}  // namespace

bool ceiling_affordable(double spent, double next, double trained, double share) {
  return spent + next <= std::max(share * trained, kCeilingAllowance);
}

std::uint64_t ceiling_window(double seconds, std::uint64_t log_every) {
  constexpr double kShortest = 0.02;  // seconds
  const auto most = static_cast<double>(std::max<std::uint64_t>(log_every, 2) - 1);
  return static_cast<std::uint64_t>(
      std::clamp(std::ceil(kShortest / std::max(seconds, 1e-9)), 1.0, most));
}

CeilingWindows::CeilingWindows(const Settings& settings, std::function<void(Stream&)> resident,
                               const MemoryPlan& memory)
    : settings_(settings),
      memory_(memory),
      runner_(settings.graph, std::move(resident), memory, /*warm_up=*/0),
      run_begin_(memory.device(), true),
      run_end_(memory.device(), true),
      resident_begin_(memory.device(), true),
      resident_end_(memory.device(), true) {}

void CeilingWindows::plan(MemoryPlan& memory) {
  const std::size_t bytes = state_bytes(memory);
  if (settings_.share <= 0) {
    objection_ = "that was not asked for";
  } else if (settings_.graph == GraphMode::check) {
    objection_ = "graph check makes every step twice";
  } else if (bytes > host_memory().available_bytes / 16) {
    // A run must not fail for the sake of its final report.
    objection_ = fmt::format("its state, {}, is too much of the host's memory to be put aside",
                             human_bytes(bytes));
  } else {
    aside_ = memory.reserve<std::byte>("ceiling", "state put aside", bytes, MemorySpace::host);
  }
}

void CeilingWindows::expect(double rate) {
  if (length_ > 0 || !objection_.empty() || rate <= 0) return;
  step_seconds_ = static_cast<double>(settings_.batch) / rate;
  length_ = ceiling_window(step_seconds_, settings_.log_every);
}

void CeilingWindows::before_step(Stream& stream, std::uint64_t step) {
  if (length_ > 0 && (step + length_) % settings_.log_every == 0) begin(stream, step);
}

void CeilingWindows::begin(Stream& stream, std::uint64_t step) {
  run_begin_.record(stream);
  begun_ = step;
}

bool CeilingWindows::end(Stream& stream, std::uint64_t step) {
  if (!begun_ || step - *begun_ != length_) return false;
  run_end_.record(stream);
  begun_.reset();
  return true;
}

bool CeilingWindows::due(Stream& stream, std::uint64_t step, double trained) {
  return end(stream, step) && ceiling_affordable(spent_, next_cost(), trained, settings_.share);
}

/// The first is an estimate: its steps, one for warm-up, and copies at 1 GB/s.
double CeilingWindows::next_cost() const {
  if (last_cost_ > 0) return last_cost_;
  return static_cast<double>(length_ + 1) * step_seconds_ +
         2e-9 * static_cast<double>(aside_.bytes());
}

void CeilingWindows::measure(Stream& stream, std::uint64_t step) {
  const auto began = std::chrono::steady_clock::now();
  copy_state(stream, CopyDirection::device_to_host);
  runner_.run(stream, step);  // warm-up: the copy has evicted the step's data from the caches
  resident_begin_.record(stream);
  for (std::uint64_t i = 0; i < length_; ++i) runner_.run(stream, step);
  resident_end_.record(stream);
  copy_state(stream, CopyDirection::host_to_device);
  stream.synchronize();
  const double run = run_end_.milliseconds_since(run_begin_);
  const double resident = resident_end_.milliseconds_since(resident_begin_);
  const double samples = 1e3 * static_cast<double>(length_) * static_cast<double>(settings_.batch);
  if (run > 0 && resident > 0) pairs_.push_back({samples / run, samples / resident});
  last_cost_ = seconds_since(began);
  spent_ += last_cost_;
}

MeasuredRates CeilingWindows::summarise(const std::vector<double>& rates,
                                        const ProcessorTimes& begin) const {
  MeasuredRates measured = summarise_pairs(rates, pairs_, load_between(begin, processor_times()));
  measured.ceiling_seconds = spent_;
  measured.no_ceiling = objection_.empty() ? "the run was too short for that" : objection_;
  return measured;
}

MeasuredRates CeilingWindows::make_pairs(Stream& stream, const std::uint64_t& step, double seconds,
                                         const std::function<void()>& advance,
                                         const std::function<void()>& measure) {
  if (!objection_.empty()) throw std::logic_error("no ceiling can be measured: " + objection_);
  const std::ptrdiff_t earlier = std::ssize(pairs_);
  const ProcessorTimes before = processor_times();
  const auto began = std::chrono::steady_clock::now();
  constexpr int kTried = 3;
  for (int i = 0; i < kTried; ++i) advance();
  stream.synchronize();
  expect(kTried * static_cast<double>(settings_.batch) / seconds_since(began));
  while (std::ssize(pairs_) - earlier < std::ptrdiff_t{kFewestForInterval} ||
         seconds_since(began) < seconds) {
    advance();  // warm caches, as in the other half
    begin(stream, step);
    for (std::uint64_t i = 0; i < length_; ++i) advance();
    end(stream, step);
    measure();
  }
  const std::vector<RatePair> pairs(pairs_.begin() + earlier, pairs_.end());
  std::vector<double> rates;
  for (const RatePair& pair : pairs) rates.push_back(pair.rate);
  return summarise_pairs(rates, pairs, load_between(before, processor_times()));
}

void CeilingWindows::copy_state(Stream& stream, CopyDirection direction) const {
  const bool save = direction == CopyDirection::device_to_host;
  std::byte* aside = aside_.data();
  for (const StateBlock& block : memory_.state()) {
    WS_EXPECT(static_cast<std::size_t>(aside - aside_.data()) + block.bytes <= aside_.bytes());
    stream.copy(save ? aside : block.data, save ? block.data : aside, block.bytes, direction,
                save ? "put state aside" : "put state back");
    aside += block.bytes;
  }
}

}  // namespace wellspring
