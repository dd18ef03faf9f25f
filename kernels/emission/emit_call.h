// One emission: what is asked of a source of samples. Host only.
#pragma once

#include "kernels/emission/batch.h"
#include "kernels/view.h"

#include <cstdint>

namespace wellspring {

/// Every slot whose source is `source` is filled: slot b goes to row b of the batch.
struct EmitCall {
  const Slot* slots = nullptr;  ///< [batch.size], in memory of the stream's device
  std::uint32_t source = 0;
  std::uint64_t seed = 0;  ///< keys all random numbers
  ViewSpec view;           ///< how samples are looked at; events and sets take none
  BatchView batch;
};

}  // namespace wellspring
