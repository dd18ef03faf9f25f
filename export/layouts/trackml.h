// Writes sets of hits in the format of the TrackML challenge (S. Amrouche et al.,
// arXiv:1904.06778). Called by export_samples; host only.
#pragma once

#include "export/export.h"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace wellspring {

/// Writes a folder with three tables per sample; NNNNNNNNN is the sample id:
///
///     eventNNNNNNNNN-hits.csv       hit_id, x, y, z, volume_id, layer_id, module_id
///     eventNNNNNNNNN-truth.csv      hit_id, particle_id, tx, ty, tz, tpx, tpy, tpz, weight
///     eventNNNNNNNNN-particles.csv  particle_id, vx, vy, vz, px, py, pz, q, nhits
///
/// Units are mm and GeV. metadata.json has everything needed to make the samples again. Hits are
/// numbered by volume, layer, z and x, starting at 1, so that the order reveals nothing about
/// particles. There are no modules (module_id is 0) and no table of cells. Particles without hits
/// are left out. Numbers are f32, in shortest decimal form. Leftovers of killed exports to the same
/// folder are removed first. `progress`: as for export_samples. Throws config errors if one of the
/// features is missing or has another unit, if the feed has several sources, or if the folder
/// contains anything but an export; runtime errors if files cannot be written.
ExportReport export_trackml(SampleReader& feed, const std::filesystem::path& path,
                            const std::function<void(std::uint64_t)>& progress = {});

}  // namespace wellspring
