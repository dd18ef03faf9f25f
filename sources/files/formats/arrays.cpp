// Formats `hdf5`, `npz`, `npy` and `idx`: rows and truth are arrays in one file (npy, idx: in
// several), in the layout of `export`, CaloChallenge, JetNet or IceCube.
#include "core/error.h"
#include "core/io/idx.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "export/shard_folder.h"
#include "sources/files/array_images.h"
#include "sources/files/array_input.h"
#include "sources/files/array_rows.h"
#include "sources/files/array_settings.h"
#include "sources/files/data_name.h"
#include "sources/files/exported_run.h"
#include "sources/files/format.h"
#include "sources/files/shard_names.h"
#include "sources/files/sharded_rows.h"
#include "sources/files/stored_sets.h"
#include "sources/files/truth_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShowers = "showers";
constexpr const char* kEnergies = "incident_energies";
constexpr const char* kParticles = "particle_features";
constexpr const char* kJets = "jet_features";
constexpr const char* kPulses = "first_pulse_index";
constexpr const char* kLatents = "latents";
constexpr const char* kTarget = "target";

class ArrayFileRows final : public ArrayRows {
 public:
  ArrayFileRows(const DatasetRequest& request, std::unique_ptr<ArrayInput> file,
                const ArraySettings& settings)
      : ArrayRows(request.path, request.limit_per_class, request.labelled),
        file_(std::move(file)),
        layout_(layout_of(settings)) {
    const ExportedMeaning exported = read_meaning(*file_);
    set_normalised(exported.normalised);
    set_finite(request.finite);
    open_values(settings, exported);
    read_labels(settings, exported, request.labelled);
    if (request.labelled) require_weights_of_one();
    read_truth(settings, exported);
  }

  const std::vector<ValueInfo>& features() const override { return features_; }
  const std::vector<ValueInfo>& globals() const override { return global_names_; }
  const std::vector<LatentInfo>& latents() const override { return latents_.columns; }
  void read_latents(std::int64_t row, float* out) const override {
    latents_.read(stored(row), out);
  }
  const std::vector<ValueInfo>& targets() const override { return target_names_; }
  void read_targets(std::int64_t row, float* out) const override {
    targets_.read(stored(row), out);
  }
  std::string place(std::int64_t row) const override {
    return fmt::format("{}, '{}'", ArrayRows::place(row), rows_name_);
  }
  std::string summary() const override {
    if (layout_ == ArrayLayout::jetnet) return ArrayRows::summary() + " (jetnet)";
    if (layout_ == ArrayLayout::icecube) return ArrayRows::summary() + " (icecube)";
    return ArrayRows::summary() + (is_calo() ? " (calochallenge, in " + unit_name() + ")" : "");
  }
  std::unique_ptr<RowReader> reader() const override { return std::make_unique<Reader>(*this); }
  std::uint64_t held_bytes() const override { return file_->held_bytes(); }
  void hold(std::span<std::byte> memory) override { file_->hold(memory); }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const ArrayFileRows& data) : data_(data) {}
    /// Reads the row, unless it is known to be readable and every value is allowed.
    void check(std::int64_t row) override {
      if (data_.images_ && data_.images_->is_verbatim() && data_.values_->is_checked()) return;
      buffer_.resize(static_cast<std::size_t>(data_.layout().bytes()) / sizeof(float) + 1);
      read(row, reinterpret_cast<std::uint8_t*>(buffer_.data()));
    }
    void read(std::int64_t row, std::uint8_t* out) override {
      if (data_.sets_) return data_.read_set(row, reinterpret_cast<float*>(out));
      const NumberArray& rows = *data_.values_;
      if (data_.images_)
        return data_.images_->read(rows, data_.stored(row), data_.location(row), out);
      auto* const values = reinterpret_cast<float*>(out);
      rows.read(data_.stored(row), 1, values);
      data_.require_finite(row, values);
      if (data_.is_calo()) data_.check_and_scale(row, values);
    }

   private:
    const ArrayFileRows& data_;
    std::vector<float> buffer_;  ///< floats for alignment
  };

  bool is_calo() const { return layout_ == ArrayLayout::calochallenge; }
  std::string unit_name() const { return per_mev_ == 1 ? "MeV" : "GeV"; }
  std::int64_t stored_rows() const { return sets_ ? sets_->rows() : values_->rows(); }
  /// "'x' has 20 rows", and the reason if rows were not grouped into sets.
  std::string rows_text() const {
    std::string text = fmt::format("'{}' has {}", rows_name_, counted(stored_rows(), "row"));
    const bool items = values_ && !is_calo() && layout().type == ElementType::f32;
    if (items && !offsets_name_.empty())
      text += fmt::format(", each a sample, since there is no array '{}' of set offsets",
                          offsets_name_);
    return text;
  }

  ArrayLayout layout_of(const ArraySettings& settings) const {
    if (settings.layout != ArrayLayout::automatic) return settings.layout;
    if (file_->has(settings.array) || settings.array != ArraySettings{}.array)
      return ArrayLayout::columns;
    if (file_->has(kShowers) && file_->has(kEnergies)) return ArrayLayout::calochallenge;
    if (file_->has(kParticles)) return ArrayLayout::jetnet;
    if (file_->has(kPulses)) return ArrayLayout::icecube;
    fail(ErrorKind::data,
         {fmt::format("{}: no array '{}', no '{}' and '{}', no '{}', no '{}'", path().string(),
                      settings.array, kEnergies, kShowers, kParticles, kPulses),
          fmt::format("it has {}", file_->names().empty()
                                       ? "nothing"
                                       : fmt::format("'{}'", fmt::join(file_->names(), "', '"))),
          "set array: to the name of the array of rows; sets are read from the layouts columns, "
          "jetnet and icecube"});
  }

  void open_values(const ArraySettings& settings, const ExportedMeaning& exported) {
    rows_name_ = is_calo() ? kShowers : settings.array;
    offsets_name_ = settings.offsets;
    if (layout_ == ArrayLayout::icecube) {
      rows_name_ = kPulses;
      sets_ = open_pulses(*file_, {settings.length_unit, settings.time_unit});
    } else if (layout_ == ArrayLayout::jetnet) {
      rows_name_ = kParticles;
      sets_ = open_masked_sets(*file_, kParticles);
    } else if (!is_calo() && is_there(settings.offsets, ArraySettings{}.offsets)) {
      rows_name_ = settings.offsets;
      sets_ = open_ragged_sets(*file_, settings.array, settings.offsets);
    }
    if (sets_) {
      set_sets(settings, exported);
      features_ = sets_->names();
    } else {
      values_.emplace(file_->array(rows_name_));
      is_calo() ? expect_showers() : set_columns(settings);
      if (layout().type == ElementType::f32)
        features_ = named_columns(*values_, static_cast<std::size_t>(layout().sample.features));
    }
    const auto width = static_cast<std::size_t>(layout().sample.features);
    if (layout_ == ArrayLayout::columns && exported.features.size() == width)
      features_ = exported.features;
  }

  /// True if the array `name` exists; error (data) if it was named in the settings and is missing.
  bool is_there(const std::string& name, const std::string& unless_named) const {
    if (name.empty() || file_->has(name)) return !name.empty();
    if (name != unless_named) file_->array(name);  // throws unless it exists
    return name != unless_named;
  }

  void set_sets(const ArraySettings& settings, const ExportedMeaning& exported) {
    std::int64_t items = settings.items;
    if (items == 0 && layout_ != ArrayLayout::jetnet) items = exported.most_items;
    if (items == 0) items = std::max<std::int64_t>(1, sets_->most_items());
    if (items * sets_->features() > kMostFeatures) {
      file_->refuse(rows_name_,
                    fmt::format("has sets of up to {} of {}", counted(items, "item"),
                                counted(sets_->features(), "feature")),
                    fmt::format("a row holds up to {} numbers", kMostFeatures),
                    fmt::format("set items: {} or less", kMostFeatures / sets_->features()));
    }
    RowLayout layout{SampleLayout::set(static_cast<int>(items), sets_->features()),
                     ElementType::f32};
    if (is_there(settings.globals, ArraySettings{}.globals)) {
      const bool known = settings.globals == ArraySettings{}.globals;
      globals_ = read_columns(*file_, settings.globals, stored_rows(), rows_text(),
                              known ? exported.globals : std::vector<ValueInfo>{});
      global_names_ = names_of(globals_);
      layout.sample.globals = static_cast<int>(globals_.columns.size());
    }
    set_layout(layout);
  }

  static std::vector<ValueInfo> names_of(const TruthColumns& truth) {
    std::vector<ValueInfo> names;
    for (const LatentInfo& column : truth.columns) names.push_back({column.name, column.unit});
    return names;
  }

  double stored_number(std::int64_t row, std::int64_t i, float /*value*/) const override {
    std::vector<double> numbers(static_cast<std::size_t>(layout().sample.elements()));
    if (sets_) {
      sets_->read(stored(row), layout().sample.items, numbers.data());
    } else {
      values_->read(stored(row), 1, numbers.data());
    }
    return numbers[static_cast<std::size_t>(i)];
  }

  /// For the layout, see stored_numbers.
  void read_set(std::int64_t row, float* out) const {
    const SampleLayout sample = layout().sample;
    std::fill_n(out, sample.elements(), 0.f);
    const auto count = static_cast<std::int32_t>(sets_->read(stored(row), sample.items, out));
    require_finite(row, out);
    out += sample.elements();
    globals_.read(stored(row), out);
    std::memcpy(out + sample.globals, &count, sizeof count);
  }

  void set_columns(const ArraySettings& settings) {
    if (stored_rows() == 0) file_->refuse(*values_, "it has no rows", "store [rows, ...]");
    images_ = ArrayImages::of(*file_, *values_, settings.channels, settings.range);
    if (images_) return set_layout(images_->layout());
    const auto layout = event_layout_of(values_->shape());
    if (!layout) {
      file_->refuse(
          *values_,
          fmt::format(
              "rows are images, [rows, height, width, 1 or 3], [rows, 1 or 3, height, width] or "
              "[rows, height, width], or events, [rows, features], up to {}; items of sets are "
              "[all items, features] with offsets [sets + 1]",
              kMostFeatures),
          "convert it: x.reshape(len(x), -1)");
    }
    if (settings.channels != ChannelPlace::automatic || settings.range != PixelRange::automatic)
      file_->refuse(*values_, "channels: and range: apply only to images, but its rows are events",
                    "remove them, or store images [rows, height, width]");
    set_layout(*layout);
  }

  void read_labels(const ArraySettings& settings, const ExportedMeaning& exported, bool labelled) {
    ClassLabels labels;
    std::vector<std::string> known;
    if (labelled && is_there(settings.labels, ArraySettings{}.labels)) {
      if (exported.mixed)
        refuse_mixed_labels(file_->where(settings.labels), ", or labels: '' to read no labels");
      labels = read_class_labels(*file_, file_->array(settings.labels), stored_rows(), rows_text());
      known = exported.classes;
    } else {
      if (labelled) expect_no_other_labels(settings);
      labels.label.assign(static_cast<std::size_t>(stored_rows()), settings.label);
    }
    ClassNaming naming{settings.classes};
    if (!settings.class_names.empty()) naming.names = path().parent_path() / settings.class_names;
    const bool named = !known.empty() || !naming.names.empty();
    if (naming.classes == 0 && !named) naming.classes = labels.classes;
    set_labels(labels.label, file_->where(settings.labels), naming, known);
  }

  /// Refuses an array of labels under another name if the settings say nothing about labels: all
  /// rows would otherwise silently get the same class.
  void expect_no_other_labels(const ArraySettings& settings) const {
    const bool silent = settings.labels == ArraySettings{}.labels && settings.label == 0 &&
                        settings.latents.empty();
    if (layout_ != ArrayLayout::columns || !silent) return;
    const DataName rows = DataName::of(settings.array);
    for (const std::string& name : file_->names()) {
      const DataName words = DataName::of(name);
      if (name == kTarget || words.role != DataName::Role::labels || words.part != rows.part ||
          (!words.rest.empty() && words.rest != rows.rest))
        continue;
      const NumberArray array = file_->array(name);
      if (array.rows() != stored_rows() || array.shape().size() > 2) continue;
      const bool images = layout().type != ElementType::f32;
      file_->refuse(
          name,
          fmt::format("seems to hold the labels, but there is no array '{}'", settings.labels),
          "without labels, all rows have the same class",
          fmt::format("set labels: {0}{1}, or labels: '' to ignore it", name,
                      images ? "" : fmt::format(", or latents: [{}] for a regression", name)));
    }
  }

  /// Refuses other weights: rows of data sets have weight 1.
  void require_weights_of_one() const {
    if (!file_->has("weight")) return;
    std::vector<double> weights(static_cast<std::size_t>(stored_rows()));
    file_->array_of("weight", {stored_rows()}, rows_text()).read(0, stored_rows(), weights.data());
    const auto other = std::ranges::find_if(weights, [](double weight) { return weight != 1; });
    if (other == weights.end()) return;
    file_->refuse("weight", fmt::format("of row {} is {}", other - weights.begin(), *other),
                  "rows of data sets must have weight 1",
                  "export samples of weight 1, or remove the array");
  }

  void read_truth(const ArraySettings& settings, const ExportedMeaning& exported) {
    if (layout().type != ElementType::f32) {
      if (settings.latents.empty()) return;
      file_->refuse(rows_name_, "holds images, but latents: is set",
                    "latents are read for events and sets only", "remove latents:");
    }
    if (is_calo()) latents_ = read_energies(settings);
    for (const std::string& name : latent_arrays(settings, exported)) {
      const bool known = name == kLatents;
      latents_.append(read_columns(*file_, name, stored_rows(), rows_text(),
                                   known ? exported.latents : std::vector<LatentInfo>{}),
                      *file_);
    }
    if (is_calo() || !file_->has(kTarget)) return;
    targets_ = read_columns(*file_, kTarget, stored_rows(), rows_text(), exported.targets);
    target_names_ = names_of(targets_);
  }

  std::vector<std::string> latent_arrays(const ArraySettings& settings,
                                         const ExportedMeaning& exported) const {
    if (!settings.latents.empty() || is_calo()) return settings.latents;
    if (!exported.latents.empty() && file_->has(kLatents)) return {kLatents};
    if (layout_ == ArrayLayout::jetnet && file_->has(kJets)) return {kJets};
    std::vector<std::string> names;
    for (const char* name : {"azimuth", "zenith"})
      if (layout_ == ArrayLayout::icecube && file_->has(name)) names.emplace_back(name);
    return names;
  }

  /// Energies must be in MeV; some files state their unit.
  void require_mev(const NumberArray& array) const {
    for (const char* name : {"units", "unit"}) {
      const auto unit = array.text_attribute(name);
      if (!unit || *unit == "MeV") continue;
      file_->refuse(
          array.name(),
          fmt::format("is in '{}' according to its attribute '{}'", printable(*unit), name),
          "this layout stores energies in MeV", "convert the array and the attribute");
    }
  }

  void expect_showers() {
    require_mev(*values_);
    const auto layout = event_layout_of(values_->shape());
    if (!layout) {
      file_->refuse(*values_,
                    fmt::format("showers must be [rows, voxels], at least one row, up to {} voxels",
                                kMostFeatures),
                    "store them flat: rings fastest, then sectors, then layers");
    }
    set_layout(*layout);
  }

  TruthColumns read_energies(const ArraySettings& settings) {
    per_mev_ = settings.unit == EnergyUnit::gev ? 1000 : 1;
    const NumberArray array = file_->array_of(kEnergies, {stored_rows(), 1}, rows_text());
    require_mev(array);
    std::vector<double> energies(static_cast<std::size_t>(stored_rows()));
    array.read(0, stored_rows(), energies.data());
    const double low = 1000 * settings.energy_low;
    const double high =
        settings.energy_high > 0 ? 1000 * settings.energy_high : std::numeric_limits<float>::max();
    TruthColumns truth;
    for (std::size_t row = 0; row < energies.size(); ++row) {
      const double energy = energies[row];
      if (!(energy > 0) || !std::isfinite(energy)) {
        file_->refuse(kEnergies, fmt::format("of row {} is {} MeV", row, energy),
                      "the energy of a particle must be above 0", "remove the row");
      }
      // Allows half a unit in the last place of f32: files may be rounded.
      if (energy * (1 + 0x1p-24) < low || energy * (1 - 0x1p-24) > high) {
        file_->refuse(
            kEnergies, fmt::format("of row {} is {} MeV", row, energy),
            "it is not between energy_low and energy_high",
            "set the range of the file, and the same range for the generator mixed with it");
      }
      truth.values.push_back(static_cast<float>(energy / per_mev_));
    }
    LatentInfo latent;
    latent.name = "energy";
    latent.help = "energy of the particle";
    latent.unit = unit_name();
    const auto [least, most] = std::ranges::minmax(truth.values);
    const double gev = 1000 / per_mev_;
    latent.low = settings.energy_low > 0 ? static_cast<float>(settings.energy_low * gev) : least;
    latent.high = settings.energy_high > 0 ? static_cast<float>(settings.energy_high * gev) : most;
    truth.columns.push_back(std::move(latent));
    return truth;
  }

  void check_and_scale(std::int64_t row, float* values) const {
    for (std::int64_t i = 0; i < layout().sample.elements(); ++i) {
      if (values[i] < 0) {
        fail(ErrorKind::data,
             {fmt::format("{}: voxel {} has {} MeV", location(row), i, values[i]),
              "energies in this layout cannot be negative", "remove the row or store 0"});
      }
      if (per_mev_ != 1) values[i] = static_cast<float>(values[i] / per_mev_);
    }
  }

  std::unique_ptr<ArrayInput> file_;
  ArrayLayout layout_;
  std::string rows_name_;     ///< array with one row per sample
  std::string offsets_name_;  ///< array that would group rows into sets
  std::optional<NumberArray> values_;
  std::optional<ArrayImages> images_;  ///< how values_ holds images
  std::unique_ptr<StoredSets> sets_;   ///< replaces values_ for sets
  double per_mev_ = 1;                 ///< unit of the rows per MeV
  TruthColumns globals_, latents_, targets_;
  std::vector<ValueInfo> features_, global_names_, target_names_;
};

constexpr const char* kFiles =
    "PATH is a file of arrays, or several: a folder of them (one that `wellspring pack` has "
    "written needs no format: key), or train-{00..15}.npz. columns: x [rows, features] of numbers "
    "(events), or images (below), or for sets x [all items, features] and offsets [rows + 1], "
    "from 0 to the number of items; optional label [rows], integers, or [rows, classes], one-hot, "
    "and target [rows, numbers]; from an export also latents, and globals of sets. Arrays may be "
    "in groups: array: train/x. calochallenge: incident_energies [rows, 1] and showers [rows, "
    "voxels], MeV; the latent is energy. jetnet: particle_features [rows, slots, features and a "
    "mask], of which items with mask 1 are kept in order, and jet_features [rows, 4], the latents "
    "pt, eta, mass and num_particles. icecube: time, sensor_id, charge and auxiliary [pulses], "
    "first_pulse_index and last_pulse_index [rows], both inclusive, azimuth and zenith [rows], "
    "and sensor_geometry [sensors, 3], m; an item is x, y and z of the sensor, time, charge and "
    "auxiliary.";

constexpr const char* kImages =
    " Images are [rows, height, width, 1 or 3], [rows, 1 or 3, height, width] or [rows, height, "
    "width], integers from 0 to 255 or real numbers from 0 to 1 (see channels and range).";

constexpr const char* kHeld =
    " Compressed arrays, and arrays in Fortran order, are held in host memory.";

template <auto Open, auto IsShard>
std::unique_ptr<Dataset> open_files(const DatasetRequest& request) {
  const ArraySettings settings = array_table().read(request.settings, request.place);
  return open_sharded_rows(request, IsShard, [&](const DatasetRequest& file) {
    return std::make_unique<ArrayFileRows>(file, Open(file.path), settings);
  });
}

std::unique_ptr<Dataset> open_npy(const DatasetRequest& request) {
  const NpySettings settings = npy_table().read(request.settings, request.place);
  return std::make_unique<ArrayFileRows>(request, open_npy_input(request.path),
                                         settings.of(request.path));
}

std::unique_ptr<Dataset> open_idx(const DatasetRequest& request) {
  NpySettings settings = npy_table().read(request.settings, request.place);
  if (settings.labels.empty()) settings.labels = labels_next_to_idx(request.path);
  return std::make_unique<ArrayFileRows>(request, open_npy_input(request.path),
                                         settings.of(request.path));
}

}  // namespace

DatasetFormat hdf5_format() {
  return {
      "hdf5",
      "HDF5 arrays: images, events or sets as written by export, showers (CaloChallenge), "
      "jets (JetNet), pulses (IceCube)",
      std::string(kFiles) + kImages +
          " Compressed arrays are read chunk by chunk: in random order, each row costs a chunk.",
      array_table().rows(),
      [](const fs::path& path) {
        return is_hdf5_name(path.filename().string()) || is_shard_folder(path, ".h5");
      },
      open_files<open_hdf5_input, is_hdf5_name>};
}

DatasetFormat npz_format() {
  return {"npz",
          "NumPy archives: the same arrays as hdf5, written by export, numpy.savez or "
          "numpy.savez_compressed",
          std::string(kFiles) + kImages + kHeld,
          array_table().rows(),
          [](const fs::path& path) {
            return is_npz_name(path.filename().string()) || is_shard_folder(path, ".npz");
          },
          open_files<open_npz_input, is_npz_name>};
}

DatasetFormat npy_format() {
  return {"npy",
          "NumPy arrays: images or events, and files of their labels or regression targets",
          std::string("PATH is an array of rows, written by numpy.save: images (below), or "
                      "[rows, features] of numbers (events). labels: is an array of integers "
                      "[rows], or one-hot [rows, classes].") +
              kImages + kHeld,
          npy_table().rows(),
          [](const fs::path& path) { return path.extension() == ".npy"; },
          open_npy};
}

DatasetFormat idx_format() {
  return {"idx",
          "IDX files of MNIST and its relatives, also compressed by gzip",
          "PATH is train-images-idx3-ubyte or t10k-images-idx3-ubyte (also .gz). Labels are in "
          "train-labels-idx1-ubyte next to it, unless labels: names another file.",
          npy_table().rows(),
          [](const fs::path& path) { return is_idx_name(path.filename().string()); },
          open_idx};
}

}  // namespace wellspring
