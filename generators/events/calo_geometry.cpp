#include "generators/events/calo_geometry.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

void expect_room(const char* what, std::int64_t count, int room, const char* advice) {
  if (count <= room) return;
  fail(ErrorKind::config, {fmt::format("calo_gflash: {} {}", count, what),
                           fmt::format("the maximum is {}", room), advice});
}

// Depths of the ATLAS barrel: front and back of the presampler and of the three compartments of the
// electromagnetic calorimeter, in radiation lengths; hadronic thicknesses in interaction lengths.
constexpr double kPresampler[] = {1.7, 2.0};
constexpr double kStrips[] = {2.5, 6.8}, kMiddle[] = {6.8, 22.8}, kBack[] = {22.8, 24.8};
constexpr double kTiles[] = {1.5, 4.1, 1.8};

std::vector<CaloLayerSpec> sampling_layers(const gflash::Medium& medium, int rings, double width,
                                           int sectors) {
  constexpr int kLayers = 45;
  constexpr double kDepth = 3.4;  // mm: two periods of 1.4 mm W and 0.3 mm Si
  const double depth = kDepth / medium.radiation_length;
  std::vector<CaloLayerSpec> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back({i * depth, (i + 1) * depth, equal_rings(rings, width), sectors});
  }
  return layers;
}

}  // namespace

std::vector<double> equal_rings(int rings, double width) {
  std::vector<double> edges;
  for (int i = 0; i <= rings; ++i) edges.push_back(i * width);
  return edges;
}

std::vector<CaloLayerSpec> ds1_photon_layers(const gflash::Medium& medium) {
  const double lambda = static_cast<double>(medium.interaction_length) / medium.radiation_length;
  return {{kPresampler[0], kPresampler[1], {0, 5, 10, 30, 50, 100, 200, 400, 600}, 1},
          {kStrips[0],
           kStrips[1],
           {0, 2, 4, 6, 8, 10, 12, 15, 20, 30, 40, 50, 70, 90, 120, 150, 200},
           10},
          {kMiddle[0],
           kMiddle[1],
           {0, 2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 160, 200, 250, 300, 350, 400},
           10},
          {kBack[0], kBack[1], {0, 50, 100, 200, 400, 600}, 1},
          {kBack[1], kBack[1] + kTiles[0] * lambda, {0, 100, 200, 400, 1000, 2000}, 1}};
}

std::vector<CaloLayerSpec> ds1_pion_layers(const gflash::Medium& medium) {
  const double lambda = static_cast<double>(medium.interaction_length) / medium.radiation_length;
  const double first = kBack[1] + kTiles[0] * lambda, second = first + kTiles[1] * lambda;
  return {{kPresampler[0], kPresampler[1], {0, 5, 10, 30, 50, 100, 200, 400, 600}, 1},
          {kStrips[0], kStrips[1], {0, 1, 4, 7, 10, 15, 30, 50, 90, 150, 200}, 10},
          {kMiddle[0], kMiddle[1], {0, 5, 10, 20, 30, 50, 80, 130, 200, 300, 400}, 10},
          {kBack[0], kBack[1], {0, 50, 100, 200, 400, 600}, 1},
          {kBack[1],
           first,
           {0, 10, 20, 30, 50, 80, 100, 130, 160, 200, 250, 300, 350, 400, 1000, 2000},
           10},
          {first,
           second,
           {0, 10, 20, 30, 50, 80, 100, 130, 160, 200, 250, 300, 350, 400, 600, 1000, 2000},
           10},
          {second,
           second + kTiles[2] * lambda,
           {0, 50, 100, 150, 200, 250, 300, 400, 600, 1000, 2000},
           1}};
}

std::vector<CaloLayerSpec> ds2_layers(const gflash::Medium& medium) {
  return sampling_layers(medium, 9, 4.65, 16);
}

std::vector<CaloLayerSpec> ds3_layers(const gflash::Medium& medium) {
  return sampling_layers(medium, 18, 2.325, 50);
}

Calorimeter build_calorimeter(const std::vector<CaloLayerSpec>& specs, double slice) {
  expect_room("layers", static_cast<std::int64_t>(specs.size()), kMostCaloLayers,
              "choose fewer layers");
  Calorimeter calorimeter;
  std::vector<std::vector<double>> known;  // layers with equal rings share their edges
  std::vector<int> known_first;
  int edges = 0;
  std::int64_t cells = 0, slices = 0;
  for (const CaloLayerSpec& spec : specs) {
    CaloLayer& layer = calorimeter.layer[calorimeter.layers++];
    layer.front = static_cast<float>(spec.front);
    layer.back = static_cast<float>(spec.back);
    layer.rings = static_cast<int>(spec.r_edges.size()) - 1;
    layer.sectors = spec.sectors;
    layer.first_cell = static_cast<int>(cells);
    layer.first_slice = static_cast<int>(slices);
    layer.first_ring = calorimeter.rings;
    // A depth within rounding error of a whole number of slices has exactly that number of slices.
    layer.slices =
        std::max(1, static_cast<int>(std::ceil((spec.back - spec.front) / slice * (1 - 1e-6))));
    cells += std::int64_t{layer.rings} * layer.sectors;
    slices += layer.slices;
    calorimeter.rings += layer.rings;
    expect_room("cells", cells, kMostCaloCells, "choose fewer layers, rings or sectors");
    expect_room("slices", slices, kMostCaloSlices, "choose longer slices");
    const auto same = std::find(known.begin(), known.end(), spec.r_edges);
    if (same == known.end()) {
      expect_room("ring edges", edges + layer.rings + 1, kMostCaloEdges, "choose fewer rings");
      known.push_back(spec.r_edges);
      known_first.push_back(edges);
      for (const double r : spec.r_edges) {
        calorimeter.edge_squared[edges++] = static_cast<float>(r * r);
      }
      layer.first_edge = known_first.back();
    } else {
      layer.first_edge = known_first[static_cast<std::size_t>(same - known.begin())];
    }
  }
  calorimeter.cells = static_cast<int>(cells);
  calorimeter.slices = static_cast<int>(slices);
  return calorimeter;
}

}  // namespace wellspring
