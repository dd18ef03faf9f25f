// How the processes of a run find each other: every rank tells rank 0 where it listens, and rank 0
// tells every rank where the next one is. Called by Ring; host only.
#pragma once

#include "train/ranks/ring_options.h"
#include "train/ranks/socket.h"

namespace wellspring {

struct Neighbours {
  Socket next, previous;  ///< connections to the next and from the previous rank
};

/// Waits for all ranks. Runtime errors: see Ring.
Neighbours meet(const RingOptions& options);

}  // namespace wellspring
