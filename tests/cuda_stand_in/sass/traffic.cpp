#include "tests/cuda_stand_in/sass/traffic.h"

#include <algorithm>
#include <bit>

namespace wellspring::sass {
namespace {

constexpr int kThreads = 32;
constexpr std::uint64_t kSectorBytes = 32, kWordBytes = 4, kBanks = 32;

/// Sorts the first n values and returns the number of distinct ones, which come first.
std::size_t distinct(Addresses& values, std::size_t n) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(n);
  if (!std::is_sorted(values.begin(), end)) std::sort(values.begin(), end);
  return static_cast<std::size_t>(std::unique(values.begin(), end) - values.begin());
}

constexpr std::uint64_t Traffic::*kFields[] = {
    &Traffic::sectors,     &Traffic::bytes_read, &Traffic::bytes_written, &Traffic::narrow,
    &Traffic::local_bytes, &Traffic::wavefronts, &Traffic::conflicts};
static_assert(sizeof kFields / sizeof *kFields * sizeof(std::uint64_t) == sizeof(Traffic));

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  for (const auto field : kFields) this->*field += other.*field;
  return *this;
}

Traffic Traffic::operator-(const Traffic& other) const {
  Traffic difference = *this;
  for (const auto field : kFields) difference.*field -= other.*field;
  return difference;
}

std::uint64_t sectors_of(const Addresses& addresses, std::uint32_t lanes) {
  Addresses sectors;
  std::size_t n = 0;
  for (; lanes != 0; lanes &= lanes - 1)
    sectors[n++] = addresses[static_cast<std::size_t>(std::countr_zero(lanes))] / kSectorBytes;
  return distinct(sectors, n);
}

Passes passes_of(const Addresses& addresses, std::uint32_t lanes, std::size_t bytes, bool atomic) {
  const std::size_t words = std::max<std::size_t>(bytes / kWordBytes, 1);
  const std::size_t together = kThreads / words;  // threads whose words fit the banks
  Passes passes;
  for (std::size_t first = 0; first < kThreads; first += together) {
    Addresses touched;
    std::size_t n = 0;
    for (std::size_t i = first; i < first + together; ++i) {
      if ((lanes >> i & 1) == 0) continue;
      // The upper half of a generic address only names the memory.
      const std::uint64_t word = (addresses[i] & 0xffffffffu) / kWordBytes;
      for (std::size_t k = 0; k < words; ++k) touched[n++] = word + k;
    }
    if (!atomic) n = distinct(touched, n);
    std::array<std::uint64_t, kBanks> in_bank{};
    for (std::size_t k = 0; k < n; ++k) ++in_bank[touched[k] % kBanks];
    const std::uint64_t needed = *std::max_element(in_bank.begin(), in_bank.end());
    passes.wavefronts += needed;
    passes.conflicts += needed - (n + kBanks - 1) / kBanks;
  }
  return passes;
}

}  // namespace wellspring::sass
