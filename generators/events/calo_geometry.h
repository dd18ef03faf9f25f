// Cylindrical calorimeters: layers perpendicular to the particle's direction, each divided into
// rings and sectors. Cells are numbered as in CaloChallenge files: rings fastest, then sectors,
// then layers (C. Krause et al., "CaloChallenge 2022", arXiv:2410.21611). Used by generator
// `calo_gflash` and its tests. Structs are for host and device, functions for the host.
#pragma once

#include "generators/events/gflash.h"

#include <cstdint>
#include <vector>

namespace wellspring {

inline constexpr int kMostCaloLayers = 64, kMostCaloEdges = 128, kMostCaloSlices = 512;
inline constexpr int kMostCaloCells = 65536;

/// One layer. A slice is a part of its depth; each slice has one lateral profile per shower.
struct CaloLayer {
  float front, back;  ///< depth in radiation lengths
  std::int32_t first_cell;
  std::int32_t first_slice, slices;
  std::int32_t first_ring;  ///< number of rings in all previous layers
  std::int32_t first_edge;  ///< index of the first of rings + 1 edges in edge_squared
  std::int32_t rings, sectors;
};

/// The whole calorimeter. A team copies it into its scratch memory.
struct Calorimeter {
  std::int32_t layers = 0, cells = 0, slices = 0, rings = 0;  ///< rings: total of all layers
  CaloLayer layer[kMostCaloLayers] = {};
  float edge_squared[kMostCaloEdges] = {};  ///< squares of ring edges, mm^2
};

/// Specification of a layer, in user units.
struct CaloLayerSpec {
  double front, back;           ///< depth in radiation lengths
  std::vector<double> r_edges;  ///< mm, starting at 0
  int sectors;
};

/// Throws a config error for too many layers, edges, slices or cells. `slice`: maximum thickness of
/// a slice, in radiation lengths.
Calorimeter build_calorimeter(const std::vector<CaloLayerSpec>& specs, double slice);

/// Layers of the CaloChallenge data sets. Data sets 2 and 3 have 45 layers of 3.4 mm. For data set
/// 1, rings and sectors are taken from its layers 0, 1, 2, 3, 12 (photons) and 0, 1, 2, 3, 12, 13,
/// 14 (pions). Its files give no depths; ours approximate the ATLAS barrel at pseudorapidity 0.2
/// (JINST 3 (2008) S08003, chapter 5), all in one medium.
std::vector<CaloLayerSpec> ds1_photon_layers(const gflash::Medium& medium);
std::vector<CaloLayerSpec> ds1_pion_layers(const gflash::Medium& medium);
std::vector<CaloLayerSpec> ds2_layers(const gflash::Medium& medium);
std::vector<CaloLayerSpec> ds3_layers(const gflash::Medium& medium);

/// Edges of `rings` rings of equal width.
std::vector<double> equal_rings(int rings, double width);

}  // namespace wellspring
