// Format `hdf5`: rows and truth as arrays of one HDF5 file, as `export` writes them or as those of
// the CaloChallenge lie.
#include "core/hdf5.h"

#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "sources/files/array_rows.h"
#include "sources/files/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

enum class Layout { automatic, columns, calochallenge };
enum class Unit { mev, gev };

struct Hdf5Settings {
  Layout layout = Layout::automatic;
  std::string array = "x", labels = "label";
  std::int64_t label = 0, classes = 0;
  std::string class_names;
  Unit unit = Unit::mev;
  double energy_low = 0, energy_high = 0;
};

constexpr const char* kShowers = "showers";
constexpr const char* kEnergies = "incident_energies";

const ParamTable<Hdf5Settings>& hdf5_table() {
  constexpr double kMostClasses = std::numeric_limits<std::int32_t>::max();
  static const auto table =
      ParamTable<Hdf5Settings>("hdf5")
          .choice("layout", &Hdf5Settings::layout,
                  {{"auto", Layout::automatic},
                   {"columns", Layout::columns},
                   {"calochallenge", Layout::calochallenge}},
                  "columns: an array of rows; calochallenge: incident_energies and showers, MeV; "
                  "auto: calochallenge where both are there, but no x, and no array is named")
          .text("array", &Hdf5Settings::array, "of columns: name of the array of rows")
          .text("labels", &Hdf5Settings::labels,
                "array of class indices, one a row; where it is not there all rows have one label")
          .integer("label", &Hdf5Settings::label, {0, kMostClasses}, "",
                   "that label: of a file of one class among several")
          .integer("classes", &Hdf5Settings::classes, {0, kMostClasses}, "",
                   "how many there are; 0: as many as have names, or the largest label + 1")
          .text("class_names", &Hdf5Settings::class_names,
                "text file of class names, one a line; a relative path begins where path lies; "
                "empty: as the export named them, or 0, 1, 2...")
          .choice("unit", &Hdf5Settings::unit, {{"MeV", Unit::mev}, {"GeV", Unit::gev}},
                  "of calochallenge: unit that rows and the latent energy are brought to")
          .real(
              "energy_low", &Hdf5Settings::energy_low, {0, 1e9}, "GeV",
              "of calochallenge: least incident energy, as the latent of a generator mixed with it "
              "has; 0: that of the file")
          .real("energy_high", &Hdf5Settings::energy_high, {0, 1e9}, "GeV",
                "and the largest; 0: that of the file");
  return table;
}

std::string shape_text(const Hdf5Array& array) {
  const char* const kind = array.numbers() == Hdf5Array::Numbers::real ? "F"
                           : array.is_signed()                         ? "I"
                                                                       : "U";
  return fmt::format("{}{} [{}]", kind, array.bits(), fmt::join(array.shape(), ", "));
}

/// What an export says of its samples where they have one origin; nothing where no export wrote
/// the file.
nlohmann::json exported_source(const Hdf5File& file) {
  if (!file.has("metadata")) return nullptr;
  const auto data = nlohmann::json::parse(file.text("metadata"), nullptr, false);
  if (data.is_discarded()) {
    fail(ErrorKind::data,
         {file.path().string() + ": 'metadata' is no JSON",
          "it says what the columns of the file are", "remove it, or export the file again"});
  }
  const auto sources = data.is_object() ? data.find("sources") : data.end();
  if (sources == data.end() || !sources->is_array() || sources->size() != 1 ||
      !sources->front().is_object()) {
    return nullptr;
  }
  return sources->front();
}

/// Texts and numbers of JSON that anybody may have written.
std::string text_in(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
std::optional<float> number_in(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<float>();
}

class Hdf5Rows final : public ArrayRows {
 public:
  Hdf5Rows(const DatasetRequest& request, const Hdf5Settings& settings)
      : ArrayRows(request.path, request.limit_per_class),
        file_(request.path),
        is_calo_(calo_layout(settings)),
        values_(file_.array(is_calo_ ? kShowers : settings.array)) {
    const nlohmann::json exported = exported_source(file_);
    is_calo_ ? expect_showers() : set_columns();
    read_labels(settings, exported);
    require_weights_of_one();
    is_calo_ ? read_energies(settings) : read_latent_columns(exported);
  }

  const std::vector<LatentInfo>& latents() const override { return latents_; }
  void read_latents(std::int64_t row, float* out) const override {
    const auto width = static_cast<std::int64_t>(latents_.size());
    std::copy_n(truth_.begin() + stored(row) * width, width, out);
  }
  std::string summary() const override {
    return ArrayRows::summary() + (is_calo_ ? " (calochallenge, in " + unit_name() + ")" : "");
  }
  std::unique_ptr<RowReader> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const Hdf5Rows& data) : data_(data) {}
    /// Reads it: what is compressed tells no less.
    void check(std::int64_t row) override {
      buffer_.resize(static_cast<std::size_t>(data_.layout().bytes()) / sizeof(float) + 1);
      read(row, reinterpret_cast<std::uint8_t*>(buffer_.data()));
    }
    void read(std::int64_t row, std::uint8_t* out) override {
      if (data_.layout().type == ElementType::u8) {
        data_.values_.read(data_.stored(row), 1, out);
        return;
      }
      auto* const values = reinterpret_cast<float*>(out);
      data_.values_.read(data_.stored(row), 1, values);
      data_.require_finite(row, values);
      if (data_.is_calo_) data_.check_and_scale(row, values);
    }

   private:
    const Hdf5Rows& data_;
    std::vector<float> buffer_;  ///< floats, for their alignment
  };

  [[noreturn]] void refuse(const std::string& name, const std::string& problem,
                           const std::string& why, const std::string& advice) const {
    fail(ErrorKind::data,
         {fmt::format("{}: '{}' {}", path().string(), name, problem), why, advice});
  }
  [[noreturn]] void refuse(const Hdf5Array& array, const std::string& why,
                           const std::string& advice) const {
    refuse(array.name(), "is an array of " + shape_text(array), why, advice);
  }

  std::string unit_name() const { return per_mev_ == 1 ? "MeV" : "GeV"; }
  std::int64_t stored_rows() const { return values_.shape()[0]; }

  bool calo_layout(const Hdf5Settings& settings) const {
    if (settings.layout != Layout::automatic) return settings.layout == Layout::calochallenge;
    if (file_.has(settings.array) || settings.array != Hdf5Settings{}.array) return false;
    if (file_.has(kShowers) && file_.has(kEnergies)) return true;
    fail(ErrorKind::data,
         {fmt::format("{}: neither an array '{}' nor '{}' and '{}'", path().string(),
                      settings.array, kEnergies, kShowers),
          fmt::format("it has {}", file_.names().empty()
                                       ? "nothing"
                                       : fmt::format("'{}'", fmt::join(file_.names(), "', '"))),
          "name the array of rows with array:"});
  }

  void set_columns() {
    if (stored_rows() == 0) refuse(values_, "it has no rows", "store [rows, ...]");
    const bool bytes = values_.numbers() == Hdf5Array::Numbers::whole && values_.bits() == 8 &&
                       !values_.is_signed() && values_.shape().size() > 2;
    const auto layout = row_layout_of(bytes ? ElementType::u8 : ElementType::f32, values_.shape());
    if (!layout) {
      refuse(values_,
             fmt::format("rows are images, U8 [rows, height, width, 1 or 3] (or without the last), "
                         "up to {} pixels wide and high, or events, numbers [rows, features], up "
                         "to {}",
                         kMostPixels, kMostFeatures),
             "convert it; images that were exported are real numbers: (255 * x).round() as uint8");
    }
    set_layout(*layout);
  }

  /// A column of as many rows as there are; `width`: extents beyond those.
  Hdf5Array column(const std::string& name, const std::vector<std::int64_t>& width) const {
    Hdf5Array array = file_.array(name);
    std::vector<std::int64_t> shape = {stored_rows()};
    shape.insert(shape.end(), width.begin(), width.end());
    if (array.shape() != shape) {
      refuse(array,
             fmt::format("'{}' has {}: [{}] is wanted", values_.name(),
                         counted(stored_rows(), "row"), fmt::join(shape, ", ")),
             "store one for each row");
    }
    return array;
  }

  void read_labels(const Hdf5Settings& settings, const nlohmann::json& exported) {
    std::vector<std::int64_t> labels(static_cast<std::size_t>(stored_rows()), settings.label);
    std::vector<std::string> known;
    if (file_.has(settings.labels)) {
      const Hdf5Array array = column(settings.labels, {});
      if (array.numbers() != Hdf5Array::Numbers::whole)
        refuse(array, "labels are whole numbers", "convert it: y.astype('int64')");
      array.read(0, stored_rows(), labels.data());
      if (exported.is_object() && exported.contains("classes") && exported["classes"].is_array()) {
        for (const nlohmann::json& name : exported["classes"])
          known.push_back(name.is_string() ? name.get<std::string>() : name.dump());
      }
    } else if (settings.labels != Hdf5Settings{}.labels) {
      file_.array(settings.labels);  // says that it is not there
    }
    ClassNaming naming{settings.classes};
    if (!settings.class_names.empty()) naming.names = path().parent_path() / settings.class_names;
    set_labels(labels, fmt::format("{}: '{}'", path().string(), settings.labels), naming, known);
  }

  /// Rows of data sets weigh 1 each.
  void require_weights_of_one() const {
    if (!file_.has("weight")) return;
    std::vector<double> weights(static_cast<std::size_t>(stored_rows()));
    column("weight", {}).read(0, stored_rows(), weights.data());
    const auto other = std::ranges::find_if(weights, [](double weight) { return weight != 1; });
    if (other == weights.end()) return;
    refuse("weight", fmt::format("of row {} is {}", other - weights.begin(), *other),
           "rows of data sets weigh 1 each", "export samples of weight 1, or remove the array");
  }

  /// Columns of truth that an export has named.
  void read_latent_columns(const nlohmann::json& exported) {
    const auto named = exported.is_object() ? exported.find("latents") : exported.end();
    if (named == exported.end() || !named->is_array() || named->empty() || !file_.has("latents") ||
        layout().type != ElementType::f32) {
      return;
    }
    for (const nlohmann::json& entry : *named) {
      LatentInfo latent;
      latent.name = text_in(entry, "name");
      latent.unit = text_in(entry, "unit");
      latent.help = text_in(entry, "help");
      latent.low = number_in(entry, "low").value_or(0);
      latent.high = number_in(entry, "high").value_or(1);
      latents_.push_back(std::move(latent));
    }
    const auto width = static_cast<std::int64_t>(latents_.size());
    truth_.resize(static_cast<std::size_t>(stored_rows() * width));
    column("latents", {width}).read(0, stored_rows(), truth_.data());
    for (std::size_t i = 0; i < truth_.size(); ++i) {
      if (std::isfinite(truth_[i])) continue;
      const std::size_t row = i / latents_.size(), k = i % latents_.size();
      refuse("latents", fmt::format("of row {}: {} is {}", row, latents_[k].name, truth_[i]),
             "a network that has seen it never recovers", "leave the row out");
    }
  }

  /// Energies in the file are MeV; some files say so.
  void require_mev(const Hdf5Array& array) const {
    for (const char* name : {"units", "unit"}) {
      const auto unit = array.text_attribute(name);
      if (!unit || *unit == "MeV") continue;
      refuse(array.name(), fmt::format("is in '{}', by its attribute '{}'", printable(*unit), name),
             "the layout has energies in MeV", "convert the array and the attribute");
    }
  }

  void expect_showers() {
    require_mev(values_);
    const auto layout = row_layout_of(ElementType::f32, values_.shape());
    if (!layout) {
      refuse(values_,
             fmt::format("showers are [rows, voxels], one row or more, up to {} voxels",
                         kMostFeatures),
             "store them flat: rings fastest, then sectors, then layers");
    }
    set_layout(*layout);
  }

  void read_energies(const Hdf5Settings& settings) {
    per_mev_ = settings.unit == Unit::gev ? 1000 : 1;
    const Hdf5Array array = column(kEnergies, {1});
    require_mev(array);
    std::vector<double> energies(static_cast<std::size_t>(stored_rows()));
    array.read(0, stored_rows(), energies.data());
    const double low = 1000 * settings.energy_low;
    const double high =
        settings.energy_high > 0 ? 1000 * settings.energy_high : std::numeric_limits<float>::max();
    for (std::size_t row = 0; row < energies.size(); ++row) {
      const double energy = energies[row];
      if (!(energy > 0) || !std::isfinite(energy)) {
        refuse(kEnergies, fmt::format("of row {} is {} MeV", row, energy),
               "a particle has an energy above 0", "leave the row out");
      }
      // Half a unit in the last place of f32: files may have been rounded.
      if (energy * (1 + 0x1p-24) < low || energy * (1 - 0x1p-24) > high) {
        refuse(kEnergies, fmt::format("of row {} is {} MeV", row, energy),
               "energy_low and energy_high say that none is there",
               "give the range of the file, and the generator that it is mixed with the same");
      }
      truth_.push_back(static_cast<float>(energy / per_mev_));
    }
    LatentInfo latent;
    latent.name = "energy";
    latent.help = "of the particle";
    latent.unit = unit_name();
    const auto [least, most] = std::ranges::minmax(truth_);
    const double gev = 1000 / per_mev_;
    latent.low = settings.energy_low > 0 ? static_cast<float>(settings.energy_low * gev) : least;
    latent.high = settings.energy_high > 0 ? static_cast<float>(settings.energy_high * gev) : most;
    if (!(latent.high > latent.low)) latent.low = 0;  // one energy alone: a range all the same
    latents_.push_back(std::move(latent));
  }

  void check_and_scale(std::int64_t row, float* values) const {
    for (std::int64_t i = 0; i < layout().sample.elements(); ++i) {
      if (values[i] < 0) {
        fail(ErrorKind::data,
             {fmt::format("{}: voxel {} has {} MeV", location(row), i, values[i]),
              "no energy is negative in this layout", "leave the row out, or store 0"});
      }
      if (per_mev_ != 1) values[i] = static_cast<float>(values[i] / per_mev_);
    }
  }

  Hdf5File file_;
  bool is_calo_;
  Hdf5Array values_;
  double per_mev_ = 1;  ///< MeV in the unit of the rows
  std::vector<LatentInfo> latents_;
  std::vector<float> truth_;  ///< [rows stored, latents]
};

}  // namespace

DatasetFormat hdf5_format() {
  return {
      "hdf5",
      "HDF5 arrays: images (uint8) or events as export writes them, or showers (CaloChallenge)",
      "PATH is one file of arrays. columns: x [rows, features] of any numbers (events) or uint8 "
      "[rows, height, width, 1 or 3] (images), label [rows] of whole numbers where there is one, "
      "and of exported events what they were drawn with (latents). calochallenge: "
      "incident_energies [rows, 1] and showers [rows, voxels], MeV; the latent is energy. "
      "Compressed arrays are read a chunk at a time: streamed in any order they cost a chunk a "
      "row.",
      hdf5_table().rows(),
      [](const fs::path& path) { return path.extension() == ".h5" || path.extension() == ".hdf5"; },
      [](const DatasetRequest& request) -> std::unique_ptr<Dataset> {
        return std::make_unique<Hdf5Rows>(request,
                                          hdf5_table().read(request.settings, request.place));
      }};
}

}  // namespace wellspring
