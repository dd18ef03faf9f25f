#include "sources/files/truth_columns.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "sources/files/array_rows.h"
#include "sources/files/exported_run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace wellspring {
namespace {

using Json = nlohmann::json;

/// Name of an array's columns: the array's name without group and file extension.
std::string column_name(const NumberArray& array) {
  std::string name = array.name().substr(array.name().rfind('/') + 1);
  if (name.ends_with(".npy")) name.resize(name.size() - 4);
  return name;
}

// Reads JSON from untrusted files: wrong types count as missing.
std::string text_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
std::optional<float> number_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<float>();
}
Json list_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_array() ? *found : Json::array();
}

std::vector<ValueInfo> values_in(const Json& object, const char* key) {
  std::vector<ValueInfo> values;
  for (const Json& entry : list_in(object, key))
    values.push_back({text_in(entry, "name"), text_in(entry, "unit")});
  return values;
}

/// Parses "a, b, c", the attribute format of export.
std::vector<std::string> names_in(const std::optional<std::string>& text) {
  std::vector<std::string> names;
  if (!text) return names;
  for (std::size_t begin = 0; begin <= text->size();) {
    const std::size_t end = std::min(text->find(", ", begin), text->size());
    names.push_back(printable(text->substr(begin, end - begin)));
    begin = end + 2;
  }
  return names;
}

/// Columns of JetNet files, which do not name them (Kansal et al. 2021).
constexpr const char* kJetFeatures = "jet_features";
const std::vector<ValueInfo>& jet_columns() {
  static const std::vector<ValueInfo> columns = {
      {"pt", "GeV"}, {"eta", ""}, {"mass", "GeV"}, {"num_particles", ""}};
  return columns;
}

/// Units of `width` columns; "" if unknown.
std::vector<std::string> units_of(const NumberArray& array, std::size_t width) {
  std::vector<std::string> units = names_in(array.text_attribute("units"));
  if (units.size() == 1) units.resize(width, units[0]);
  if (units.size() != width) units.assign(width, "");
  std::ranges::replace(units, "1", "");
  return units;
}

std::vector<ValueInfo> names_of(const ArrayInput& file, const NumberArray& array,
                                std::size_t width) {
  std::vector<ValueInfo> columns = named_columns(array, width);
  if (!columns.empty()) return columns;
  if (column_name(array) == kJetFeatures) {
    if (width == jet_columns().size()) return jet_columns();
    file.refuse(
        array,
        fmt::format("JetNet stores {} columns: pt, eta, mass, num_particles", jet_columns().size()),
        "store these, or name the columns in an attribute: columns = 'pt, eta, ...'");
  }
  const std::vector<std::string> units = units_of(array, width);
  for (std::size_t k = 0; k < width; ++k)
    columns.push_back({fmt::format("{}{}", column_name(array), k), units[k]});
  return columns;
}

/// Columns with the range of their values.
std::vector<LatentInfo> describe(const std::vector<ValueInfo>& names,
                                 const std::vector<float>& values) {
  const std::size_t width = names.size();
  std::vector<LatentInfo> columns;
  for (const ValueInfo& info : names) {
    const std::size_t k = columns.size();
    LatentInfo column;
    column.name = info.name;
    column.unit = info.unit;
    column.low = column.high = values[k];
    for (std::size_t i = k; i < values.size(); i += width) {
      column.low = std::min(column.low, values[i]);
      column.high = std::max(column.high, values[i]);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace

ExportedMeaning read_meaning(const ArrayInput& file) {
  ExportedMeaning meaning;
  // Other programs also write arrays and groups of this name.
  const std::optional<std::string> text = file.text("metadata");
  if (!text) return meaning;
  const Json data = Json::parse(*text, nullptr, false);
  if (data.is_discarded()) {
    fail(ErrorKind::data,
         {file.path().string() + ": 'metadata' is not JSON", "it describes the columns of the file",
          "remove it, or export the file again"});
  }
  meaning.most_items =
      static_cast<int>(std::clamp(number_in(data, "most_items").value_or(0), 0.f, 0x1p24f));
  meaning.normalised = is_normalised_export(data);
  meaning.mixed = is_mixed_export(data);
  const Json sources = list_in(data, "sources");
  if (sources.size() != 1) return meaning;
  for (const Json& name : list_in(sources[0], "classes"))
    meaning.classes.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  for (const Json& entry : list_in(sources[0], "latents")) {
    LatentInfo latent;
    latent.name = text_in(entry, "name");
    latent.unit = text_in(entry, "unit");
    latent.help = text_in(entry, "help");
    latent.low = number_in(entry, "low").value_or(0);
    latent.high = number_in(entry, "high").value_or(1);
    meaning.latents.push_back(std::move(latent));
  }
  meaning.features = values_in(sources[0], "features");
  meaning.globals = values_in(sources[0], "globals");
  meaning.targets = values_in(sources[0], "targets");
  return meaning;
}

void TruthColumns::read(std::int64_t row, float* out) const {
  const auto width = static_cast<std::int64_t>(columns.size());
  std::copy_n(values.begin() + row * width, width, out);
}

void TruthColumns::append(const TruthColumns& more, const ArrayInput& file) {
  const std::size_t left = columns.size(), right = more.columns.size();
  for (const LatentInfo& column : more.columns) {
    if (std::ranges::count(columns, column.name, &LatentInfo::name) > 0)
      file.refuse(column.name, "is the name of two columns", "targets are identified by name",
                  "rename one, or remove it from latents:");
    columns.push_back(column);
  }
  if (left == 0) {
    values = more.values;
    return;
  }
  std::vector<float> both;
  both.reserve(values.size() + more.values.size());
  for (std::size_t row = 0; row < values.size() / left; ++row) {
    both.insert(both.end(), values.begin() + static_cast<std::ptrdiff_t>(row * left),
                values.begin() + static_cast<std::ptrdiff_t>((row + 1) * left));
    both.insert(both.end(), more.values.begin() + static_cast<std::ptrdiff_t>(row * right),
                more.values.begin() + static_cast<std::ptrdiff_t>((row + 1) * right));
  }
  values = std::move(both);
}

std::vector<ValueInfo> named_columns(const NumberArray& array, std::size_t width) {
  std::vector<std::string> names = names_in(array.text_attribute("columns"));
  if (array.shape().size() == 1) names = {column_name(array)};
  if (names.size() != width) return {};
  const std::vector<std::string> units = units_of(array, width);
  std::vector<ValueInfo> columns;
  for (std::size_t k = 0; k < width; ++k) columns.push_back({names[k], units[k]});
  return columns;
}

TruthColumns read_columns(const ArrayInput& file, const std::string& name, std::int64_t rows,
                          const std::string& what, const std::vector<ValueInfo>& known) {
  const NumberArray array = file.array(name);
  const std::vector<std::int64_t>& shape = array.shape();
  if (shape[0] != rows || shape.size() > 2 || (shape.size() == 2 && shape[1] == 0))
    file.refuse(array, fmt::format("{0}: the shape must be [{1}] or [{1}, columns]", what, rows),
                "store one or more numbers per row");
  const std::size_t width = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 1;
  if (!known.empty() && known.size() != width)
    file.refuse(array,
                fmt::format("the file's metadata describes {}", counted(known.size(), "column")),
                "export the file again");
  TruthColumns truth;
  truth.values.resize(static_cast<std::size_t>(rows) * width);
  array.read(0, rows, truth.values.data());
  truth.columns = describe(known.empty() ? names_of(file, array, width) : known, truth.values);
  for (std::size_t i = 0; i < truth.values.size(); ++i) {
    if (std::isfinite(truth.values[i])) continue;
    std::vector<double> stored(width);
    array.read(static_cast<std::int64_t>(i / width), 1, stored.data());
    const BadNumber number = bad_number(stored[i % width]);
    file.refuse(
        name,
        fmt::format("of row {}: {} is {}", i / width, truth.columns[i % width].name, number.text),
        number.why, "remove the row or replace the value");
  }
  return truth;
}

TruthColumns read_columns(const ArrayInput& file, const std::string& name, std::int64_t rows,
                          const std::string& what, const std::vector<LatentInfo>& known) {
  std::vector<ValueInfo> names;
  for (const LatentInfo& column : known) names.push_back({column.name, column.unit});
  const std::size_t equals = file.has(name) ? std::string::npos : name.find('=');
  const std::string array = equals == std::string::npos ? name : name.substr(equals + 1);
  TruthColumns truth = read_columns(file, array, rows, what, names);
  if (!known.empty()) truth.columns = known;
  if (equals == std::string::npos) return truth;
  const std::string own = column_name(file.array(array));
  for (LatentInfo& column : truth.columns)
    if (column.name.starts_with(own)) column.name.replace(0, own.size(), name, 0, equals);
  return truth;
}

}  // namespace wellspring
