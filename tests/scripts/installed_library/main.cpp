// Prints the digest of eight samples of `shapes`, using only the C++ API.
#include "export/digest.h"
#include "generators/generator.h"

#include <iostream>

int main() {
  const auto generator = wellspring::make_generator("shapes", 32);
  std::cout << wellspring::sample_digest(*generator, {.seed = 7, .first = 0, .count = 8}) << "\n";
}
