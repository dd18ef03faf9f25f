// Layouts of exported files, each implemented in the file with its name, and functions that they
// share. Called by export_layout.cpp; host only.
#pragma once

#include "core/error.h"
#include "export/export_layout.h"
#include "export/sample_reader.h"
#include "generators/sample_info.h"

#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::layouts {

ExportLayout columns();
ExportLayout calochallenge();
ExportLayout jetnet();
ExportLayout icecube();
ExportLayout kinematics();

/// The layout `columns` for images. Writing u8 throws a data error if a value is outside [0,
/// 1].
std::unique_ptr<ValueArrays> images(const SampleReader& feed, const ImageForm& form);

/// The 8-bit pixel for a value from 0 to 1. Throws a data error for other values.
std::uint8_t pixel_of(float value);

/// ExportLayout::make for a layout with a single ValueArrays class.
template <class Arrays>
std::unique_ptr<ValueArrays> make_arrays(const SampleReader& feed) {
  return std::make_unique<Arrays>(feed);
}

/// The common SampleInfo of all samples; nullptr if they have several origins.
inline const SampleInfo* only_info(const SampleReader& feed) {
  return feed.origins().size() == 1 ? &feed.origins().front().info : nullptr;
}

/// Parameters of the generator that makes all samples of the feed; null if it has several sources.
nlohmann::ordered_json parameters_of(const SampleReader& feed);

inline std::int64_t rows_of(const SampleReader& feed) {
  return static_cast<std::int64_t>(feed.count());
}

/// Throws a config error that says why the samples do not fit the layout.
[[noreturn]] inline void refuse(const std::string& layout, const std::string& why) {
  fail(ErrorKind::config, {"these samples do not fit the layout '" + layout + "'", why,
                           "export them with --layout columns"});
}

/// An energy unit, converted to MeV.
inline std::optional<double> mev_in(const std::string& unit) {
  if (unit == "MeV") return 1.0;
  if (unit == "GeV") return 1000.0;
  return std::nullopt;
}

/// A unit such as "GeV", "MeV" or "5 GeV", converted to GeV.
std::optional<double> gev_in(const std::string& unit);

/// Index of a column in features or latents.
template <class Info>
std::optional<std::size_t> place_of(const std::string& name, const std::vector<Info>& columns) {
  const auto found = std::ranges::find(columns, name, &Info::name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace wellspring::layouts
