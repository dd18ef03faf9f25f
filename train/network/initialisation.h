// Initial weights of a network. Called by train/network/parameters.cpp; host only.
#pragma once

#include <cstdint>
#include <vector>

namespace wellspring {

struct ParameterTensor;

/// Initialisation of a tensor. Models choose it; fusion never changes it.
struct Init {
  enum class Law : std::uint8_t {
    constant,       ///< `value` everywhere
    normal,         ///< N(0, value^2)
    fan_in_normal,  ///< N(0, value / fan_in)
  };
  Law law = Law::constant;
  float value = 0;

  static constexpr Init constant(float value) { return {Law::constant, value}; }
  static constexpr Init normal(float deviation) { return {Law::normal, deviation}; }
  static const Init zeros, ones;
  static const Init he_normal;     ///< if a ReLU follows; He et al. 2015, eq. 10
  static const Init lecun_normal;  ///< if no activation follows; LeCun et al. 1998, eq. 16
  friend constexpr bool operator==(const Init&, const Init&) = default;
};
inline constexpr Init Init::zeros{Law::constant, 0};
inline constexpr Init Init::ones{Law::constant, 1};
inline constexpr Init Init::he_normal{Law::fan_in_normal, 2};
inline constexpr Init Init::lecun_normal{Law::fan_in_normal, 1};

/// Initial values of one tensor, in memory order.
std::vector<float> initial_values(const ParameterTensor& tensor, std::uint64_t seed);

}  // namespace wellspring
