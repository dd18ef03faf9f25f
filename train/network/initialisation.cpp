#include "train/network/initialisation.h"

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "train/network/parameters.h"

#include <cmath>
#include <string>

namespace wellspring {
namespace {

// 64-bit FNV-1a hash (Fowler, Noll, Vo), which turns a tensor's name into a Philox sample id.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ull;
  }
  return hash;
}

// Draws standard normal values, in pairs from two words of the stream.
class NormalDrawer {
 public:
  NormalDrawer(std::uint64_t seed, std::uint64_t sample)
      : stream_(SampleRng{seed, sample}, Purpose::init) {}
  float operator()() {
    if (spare_valid_) {
      spare_valid_ = false;
      return spare_;
    }
    const std::uint32_t word0 = stream_.next(), word1 = stream_.next();
    const math::NormalPair pair = math::box_muller(word0, word1);
    spare_ = pair.second;
    spare_valid_ = true;
    return pair.first;
  }

 private:
  RngStream stream_;
  float spare_ = 0;
  bool spare_valid_ = false;
};

}  // namespace

std::vector<float> initial_values(const ParameterTensor& tensor, std::uint64_t seed) {
  const auto [law, value] = tensor.initial;
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()), value);
  if (law == Init::Law::constant) return values;
  const float deviation =
      law == Init::Law::normal ? value : std::sqrt(value / static_cast<float>(tensor.fan_in()));
  NormalDrawer draw(seed, hash_of(tensor.name));
  for (float& drawn : values) drawn = deviation * draw();
  return values;
}

}  // namespace wellspring
