// Values that tests and scripts/torch-weights compute in the same way. For tests; host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {

/// Values in [-1, 1): the formula of scripts/torch-weights, SplitMix64 from the name's FNV-1a hash.
inline std::vector<double> formula(const std::string& name, std::size_t count) {
  std::uint64_t state = 0xcbf29ce484222325u;
  for (const char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::vector<double> values(count);
  for (double& value : values) {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    value = static_cast<double>((z ^ z >> 31) >> 40) * 0x1p-23 - 1;
  }
  return values;
}

}  // namespace wellspring::test
