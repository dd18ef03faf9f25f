// One event of a functor that makes runs of events (kernels/emission/events.h), written to memory
// that the test chooses. Tests only; host only.
#pragma once

#include "kernels/batch/sample.h"
#include "kernels/emission/event_run.h"
#include "kernels/random/philox_run.h"

#include <cstdint>

namespace wellspring::test {

/// A run of one event. Row needs the members of RowWriter that the functor uses.
template <class F, class Row>
struct OneEvent {
  static constexpr int kEvents = 1;

  SampleRng random;
  Row& out;
  TruthRun<F::kLatents, detail::targets_of<F>(), 1> known;

  SampleRng rng(int) const { return random; }
  PhiloxRun<1> blocks(Purpose purpose, std::uint32_t draw) const {
    return consecutive_blocks<1>(random, purpose, draw);
  }
  Row& row(int) { return out; }
  auto truth(int i) { return known.of(i); }
  template <class Make>
  void each(const Make& make) {
    auto lane = truth(0);
    make(0, out, lane);
  }
};

template <class F, class Row>
void make_one(const F& event, const SampleRng& rng, Row& row, TruthOf<F>& truth) {
  OneEvent<F, Row> run{rng, row, {}};
  event.make(run);
  const auto known = run.truth(0);
  truth.label = known.label;
  truth.weight = known.weight;
  for (int k = 0; k < F::kLatents; ++k) truth.latents[k] = known.latents[k];
  for (int k = 0; k < detail::targets_of<F>(); ++k) truth.target[k] = known.target[k];
}

}  // namespace wellspring::test
