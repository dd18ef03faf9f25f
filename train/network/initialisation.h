// Initial weights of a network. Called by train/network/parameters.cpp; host only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct ParameterTensor;

/// Initialisation of a tensor. Models choose it; fusion never changes it.
struct Init {
  enum class Law : std::uint8_t {
    constant,        ///< `value` everywhere
    normal,          ///< N(0, value^2)
    fan_in_normal,   ///< N(0, value / fan_in)
    fan_out_normal,  ///< N(0, value / fan_out)
    uniform,         ///< [-value, value)
    fan_in_uniform,  ///< [-b, b) with b^2 = value / fan_in
  };
  Law law = Law::constant;
  float value = 0;

  static constexpr Init constant(float value) { return {Law::constant, value}; }
  static constexpr Init normal(float deviation) { return {Law::normal, deviation}; }
  static constexpr Init uniform(float bound) { return {Law::uniform, bound}; }
  static const Init zeros, ones;
  static const Init he_normal;     ///< if a ReLU follows; He et al. 2015, eq. 10
  static const Init lecun_normal;  ///< if no activation follows; LeCun et al. 1998, eq. 16
  /// He et al. 2015, eq. 14: keeps the variance of gradients. torchvision's kaiming_normal_ with
  /// mode fan_out.
  static const Init he_normal_fan_out;
  /// PyTorch's Linear and Conv2d (reset_parameters): kaiming_uniform_ with a = sqrt(5).
  static const Init torch_default;

  /// Initialisation of the bias of a layer with these weights and `fan_in` inputs per output:
  /// torch_default has the bounds of the weights, all others are 0.
  Init bias(std::int64_t fan_in) const;
  /// "normal, variance 2 / inputs", for `wellspring describe`.
  std::string to_string() const;
  friend constexpr bool operator==(const Init&, const Init&) = default;
};
inline constexpr Init Init::zeros{Law::constant, 0};
inline constexpr Init Init::ones{Law::constant, 1};
inline constexpr Init Init::he_normal{Law::fan_in_normal, 2};
inline constexpr Init Init::lecun_normal{Law::fan_in_normal, 1};
inline constexpr Init Init::he_normal_fan_out{Law::fan_out_normal, 2};
inline constexpr Init Init::torch_default{Law::fan_in_uniform, 1};

/// Initial values of one tensor, in memory order.
std::vector<float> initial_values(const ParameterTensor& tensor, std::uint64_t seed);

}  // namespace wellspring
