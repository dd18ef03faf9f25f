// The Ginkgo shower of a single jet (generators/events/ginkgo_shower.h). Tests only; host only.
#pragma once

#include "generators/events/ginkgo_shower.h"

#include <cstdint>

namespace wellspring::test {

/// Calls on_branching(Branching, at_root) and on_final(Parton).
template <class OnBranching, class OnFinal>
ginkgo::ShowerCount shower(const SampleRng& rng, std::uint32_t first_block, float t0, float t_cut,
                           const ginkgo::Rate& root_rate, const ginkgo::Rate& rate,
                           const OnBranching& on_branching, const OnFinal& on_final) {
  ginkgo::Rate law[1] = {root_rate};
  ginkgo::ShowerCount count[1];
  ginkgo::shower<1>(
      [&](std::uint32_t draw) { return consecutive_blocks<1>(rng, Purpose::scene, draw); },
      first_block, {t0}, t_cut, law, rate,
      [&](const ginkgo::Branchings<1>& now, bool at_root) { on_branching(now.of(0), at_root); },
      [&](int, const ginkgo::Parton& parton) { on_final(parton); }, count);
  return count[0];
}

}  // namespace wellspring::test
