#include "bench/plain/plain.h"

namespace wellspring::bench {

// At the sizes that the publications draw or quote.
std::vector<PlainLoop> plain_loops() {
  return {plain_dead_leaves("circle", 128), plain_dead_leaves("circle", 256),
          plain_dead_leaves("mixed", 128),  plain_dead_leaves("mixed", 256),
          plain_ifs(224, 100000),           plain_rcdb(512),
          plain_visual_atom(512),           plain_ee_mumu()};
}

}  // namespace wellspring::bench
