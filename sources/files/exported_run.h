// Traces that a run's configuration leaves in its exported batches, read from their metadata.
// Called by the formats that read exports; host only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace wellspring {

/// True if a source of the exported configuration gives `normalise` as numbers.
bool is_normalised_export(const nlohmann::json& metadata);

/// True if data.mix blended the exported samples, so that `label` is the class of only one of two.
bool is_mixed_export(const nlohmann::json& metadata);

/// Throws the error (data) for such labels. `where`: "a.npz: 'label'"; `otherwise`: further advice.
[[noreturn]] void refuse_mixed_labels(const std::string& where, const std::string& otherwise = "");

}  // namespace wellspring
