// The files that a run reads, and the check that an output does not replace one of them. Called by
// evaluations, predictions and exports; host only.
#pragma once

#include "train/config/run_config.h"

#include <filesystem>
#include <vector>

namespace wellspring {

/// Files and folders of the data sets of a run, training and held out, and of their settings, such
/// as class_names. They need not exist.
std::vector<std::filesystem::path> files_read(const RunConfig& config);

/// Adds a data set, or the part of it that the setting `split` names, and each setting that could be
/// the name of a file next to it.
void add_files(std::vector<std::filesystem::path>& files, const std::filesystem::path& data,
               const std::vector<ParamSetting>& settings);

/// Error (config) if `output` is one of the `inputs`, under this or another name, or a picture among
/// the images of one.
void require_not_an_input(const std::filesystem::path& output,
                          const std::vector<std::filesystem::path>& inputs);

}  // namespace wellspring
