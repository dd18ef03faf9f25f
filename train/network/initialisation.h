// Initial weights of a network. Called by train/network/parameters.cpp; host only.
#pragma once

#include <cstdint>
#include <vector>

namespace wellspring {

struct ParameterTensor;

/// Initialisation of a tensor. Models state it; fused operations never change it.
enum class Init : std::uint8_t {
  he_normal,     ///< N(0, 2 / fan_in), if a ReLU follows; He et al. 2015, eq. 10
  lecun_normal,  ///< N(0, 1 / fan_in), if no activation follows; LeCun et al. 1998, eq. 16
  zeros,
  ones,
};

/// Initial values of one tensor, in memory order.
std::vector<float> initial_values(const ParameterTensor& tensor, std::uint64_t seed);

}  // namespace wellspring
