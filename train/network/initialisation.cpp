#include "train/network/initialisation.h"

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "train/network/parameters.h"

#include <fmt/format.h>

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
  explicit NormalDrawer(RngStream stream) : stream_(stream) {}
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

// The law without reference to the layer's inputs and outputs.
Init absolute(const Init& init, const ParameterTensor& tensor) {
  const auto per = [&](std::int64_t fan) {
    return std::sqrt(init.value / static_cast<float>(fan));
  };
  switch (init.law) {
    case Init::Law::fan_in_normal:
      return Init::normal(per(tensor.fan_in()));
    case Init::Law::fan_out_normal:
      return Init::normal(per(tensor.fan_out()));
    case Init::Law::fan_in_uniform:
      return Init::uniform(per(tensor.fan_in()));
    case Init::Law::constant:
    case Init::Law::normal:
    case Init::Law::uniform:
      break;
  }
  return init;
}

}  // namespace

Init Init::bias(std::int64_t fan_in) const {
  if (law != Law::fan_in_uniform) return zeros;
  return uniform(std::sqrt(value / static_cast<float>(fan_in)));
}

std::string Init::to_string() const {
  switch (law) {
    case Law::constant:
      return fmt::format("all {:g}", value);
    case Law::normal:
      return fmt::format("normal, deviation {:g}", value);
    case Law::fan_in_normal:
      return fmt::format("normal, variance {:g} / inputs", value);
    case Law::fan_out_normal:
      return fmt::format("normal, variance {:g} / outputs", value);
    case Law::uniform:
      return fmt::format("uniform within +-{:g}", value);
    case Law::fan_in_uniform:
      return fmt::format("uniform within +-sqrt({:g} / inputs), also the bias", value);
  }
  return "";
}

std::vector<float> initial_values(const ParameterTensor& tensor, std::uint64_t seed) {
  const auto [law, value] = absolute(tensor.initial, tensor);
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()), value);
  if (law == Init::Law::constant) return values;
  RngStream stream(SampleRng{seed, hash_of(tensor.name)}, Purpose::init);
  if (law == Init::Law::uniform) {
    for (float& drawn : values) drawn = stream.uniform(-value, value);
    return values;
  }
  NormalDrawer draw(stream);
  for (float& drawn : values) drawn = value * draw();
  return values;
}

}  // namespace wellspring
