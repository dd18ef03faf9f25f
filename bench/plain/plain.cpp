#include "bench/plain/plain.h"

namespace wellspring::bench {

// Sizes from the publications: the fewest that show how the cost grows.
std::vector<PlainLoop> plain_loops() {
  return {plain_dead_leaves("circle", 128),
          plain_dead_leaves("circle", 256),
          plain_dead_leaves("mixed", 128),
          plain_dead_leaves("mixed", 256),
          plain_ifs(224, 100000),
          plain_rcdb(512),
          plain_visual_atom(512),
          plain_textures(128),
          plain_spectrum(128),
          plain_ee_mumu(),
          plain_gaussian_linear(),
          plain_two_moons(),
          plain_lotka_volterra(),
          plain_lorenz(),
          plain_bodies(),
          plain_rambo(),
          plain_top_pair(),
          plain_ginkgo(),
          plain_lund_shower(),
          plain_nu_telescope(),
          plain_calo_spots(),
          plain_calo_mean(),
          plain_tracks(),
          plain_ising(64, 24),
          plain_pde(64),
          plain_xy(32, 4, 2)};
}

}  // namespace wellspring::bench
