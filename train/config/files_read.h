// The files that a run reads, and the check that an output does not replace one of them. Called by
// evaluations, predictions and exports; host only.
#pragma once

#include "train/config/run_config.h"

#include <filesystem>
#include <vector>

namespace wellspring {

/// Files and folders of a run's training and held-out data sets, and files named in their settings,
/// such as class_names. They need not exist.
std::vector<std::filesystem::path> files_read(const RunConfig& config);

/// Adds a data set, or the part of it that the setting `split` names. Also adds each setting's
/// value as a file next to the data set, because it could name one.
void add_files(std::vector<std::filesystem::path>& files, const std::filesystem::path& data,
               const std::vector<ParamSetting>& settings);

/// Error (config) if `output` is one of the `inputs`, under the same or another name, or a picture
/// among the images of an input.
void require_not_an_input(const std::filesystem::path& output,
                          const std::vector<std::filesystem::path>& inputs);

}  // namespace wellspring
