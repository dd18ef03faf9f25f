#include "export/export_layout.h"

#include "core/config/yaml_json.h"
#include "core/error.h"
#include "core/text/text.h"
#include "export/layouts/layouts.h"
#include "export/layouts/webdataset.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace wellspring {
namespace {

template <class Info>
ArrayMeaning meaning_of_list(const std::vector<Info>& columns) {
  ArrayMeaning meaning;
  for (const Info& column : columns) {
    meaning.names.push_back(column.name);
    meaning.units.push_back(column.unit.empty() ? "1" : column.unit);
  }
  if (!meaning.units.empty() && std::ranges::count(meaning.units, meaning.units.front()) ==
                                    static_cast<std::ptrdiff_t>(meaning.units.size()))
    meaning.units.resize(1);
  return meaning;
}

}  // namespace

ArrayMeaning meaning_of(const std::vector<ValueInfo>& columns) {
  return meaning_of_list(columns);
}
ArrayMeaning meaning_of(const std::vector<LatentInfo>& columns) {
  return meaning_of_list(columns);
}

nlohmann::ordered_json layouts::parameters_of(const SampleReader& feed) {
  if (feed.origins().size() != 1 || feed.origins().front().parameters.empty()) return nullptr;
  return yaml_to_json(feed.origins().front().parameters);
}

std::optional<double> layouts::gev_in(const std::string& unit) {
  if (const auto mev = mev_in(unit)) return *mev / 1000;
  char* end = nullptr;
  const double number = std::strtod(unit.c_str(), &end);
  if (number > 0 && std::string_view(end) == " GeV") return number;
  return std::nullopt;
}

const std::vector<ExportLayout>& export_layouts() {
  static const std::vector<ExportLayout> layouts = {layouts::columns(), layouts::calochallenge(),
                                                    layouts::jetnet(), layouts::icecube(),
                                                    layouts::kinematics()};
  return layouts;
}

std::unique_ptr<ValueArrays> make_values(const ExportLayout& layout, const SampleReader& feed,
                                         const ImageForm& images) {
  if (images == ImageForm{}) return layout.make(feed);
  if (feed.layout().kind == SampleKind::image && layout.name == export_layouts().front().name)
    return layouts::images(feed, images);
  fail(ErrorKind::config, {"--pixels and --channels apply to images",
                           "these samples are events or sets", "remove the options"});
}

namespace {

/// False if parameters of the samples do not fit the layout.
bool can_make(const ExportLayout& layout, const SampleReader& feed) {
  try {
    return layout.make(feed) != nullptr;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    return false;
  }
}

}  // namespace

const ExportLayout& find_export_layout(const std::string& name, const SampleReader& feed,
                                       const std::filesystem::path& path) {
  const std::vector<ExportLayout>& all = export_layouts();
  const ExportLayout& columns = all.front();
  if (name.empty()) {
    if (!is_hdf5(path) || layouts::parameters_of(feed).is_null()) return columns;
    const SampleInfo& info = feed.origins().front().info;
    const auto own = std::ranges::find_if(all, [&](const ExportLayout& layout) {
      return std::ranges::count(layout.generators, info.name) > 0 && layout.fits(info);
    });
    return own != all.end() && can_make(*own, feed) ? *own : columns;
  }
  const auto found = std::ranges::find(all, name, &ExportLayout::name);
  if (found == all.end()) {
    std::vector<std::string> names;
    for (const ExportLayout& layout : all) names.push_back(layout.name);
    names.emplace_back(kWebDataset);
    fail(ErrorKind::config,
         {fmt::format("unknown layout '{}'", name), "", name_advice(name, names)});
  }
  if (!found->generators.empty() && !is_hdf5(path)) {
    fail(ErrorKind::config, {fmt::format("the layout '{}' applies to HDF5 files only", name),
                             fmt::format("'{}' is not an HDF5 file", path.string()),
                             "use a name that ends in .h5 or .hdf5, or leave --layout out"});
  }
  return *found;
}

}  // namespace wellspring
