// Sets of hits as the files of the TrackML challenge (S. Amrouche et al., arXiv:1904.06778). Called
// by export_samples; host only.
#pragma once

#include "export/export.h"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace wellspring {

/// Writes a folder with three tables a sample, NNNNNNNNN its number under which it is made:
///
///     eventNNNNNNNNN-hits.csv       hit_id, x, y, z, volume_id, layer_id, module_id
///     eventNNNNNNNNN-truth.csv      hit_id, particle_id, tx, ty, tz, tpx, tpy, tpz, weight
///     eventNNNNNNNNN-particles.csv  particle_id, vx, vy, vz, px, py, pz, q, nhits
///
/// mm and GeV; and metadata.json, all it takes to make them again. Hits are numbered from 1 in
/// order of volume, layer, z and x, which tells nothing of particles; there are no modules, so
/// module_id is 0, and no table of cells. Particles are those with a hit. Numbers are f32 in their
/// shortest decimal text. What killed exports left of the same folder is removed before. `progress`
/// as for export_samples. Errors: config where the feed has not
/// all of these features, by name, in mm, or is of several sources, or where a folder of this name
/// holds anything else than such tables, which it would lose; runtime where files cannot be
/// written.
ExportReport export_trackml(SampleReader& feed, const std::filesystem::path& path,
                            const std::function<void(std::uint64_t)>& progress = {});

}  // namespace wellspring
