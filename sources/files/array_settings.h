// Settings of data sets of arrays: the keys of formats hdf5, npz, npy and idx. Host only.
#pragma once

#include "core/config/params.h"
#include "sources/files/array_images.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

enum class ArrayLayout { automatic, columns, calochallenge, jetnet, icecube };
enum class EnergyUnit { mev, gev };

struct ArraySettings {
  ArrayLayout layout = ArrayLayout::automatic;
  std::string array = "x", offsets = "offsets", globals = "globals", labels = "label";
  std::int64_t items = 0, label = 0, classes = 0;
  std::vector<std::string> latents;
  std::string class_names;
  EnergyUnit unit = EnergyUnit::mev;
  double energy_low = 0, energy_high = 0;
  double length_unit = 1, time_unit = 1;
  ChannelPlace channels = ChannelPlace::automatic;
  PixelRange range = PixelRange::automatic;
};

/// Settings of the format npy; arrays are named by their files.
struct NpySettings {
  std::string labels, class_names;
  std::int64_t label = 0, classes = 0;
  std::vector<std::string> latents;
  ChannelPlace channels = ChannelPlace::automatic;
  PixelRange range = PixelRange::automatic;

  /// These settings as ArraySettings for the array in `file`.
  ArraySettings of(const std::filesystem::path& file) const;
};

const ParamTable<ArraySettings>& array_table();  ///< keys of hdf5 and npz
const ParamTable<NpySettings>& npy_table();      ///< keys of npy and idx

}  // namespace wellspring
