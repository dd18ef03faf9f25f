// Files, pictures and profiles of samples.
#include "core/error.h"
#include "core/picture/png.h"
#include "core/signals.h"
#include "export/export.h"
#include "export/preview.h"
#include "measure/data_profile.h"
#include "sources/dataset_reader.h"
#include "train/config/files_read.h"
#include "train/run_samples.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "python/bindings.h"
#include "python/configuration.h"
#include "python/generator_batches.h"
#include "python/process.h"
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <utility>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

void stop_on_interrupt(std::uint64_t /*done*/) {
  stop_if_interrupted();
}

using Parameters = std::vector<std::pair<std::string, std::string>>;  ///< names, values as in YAML

std::vector<ParamSetting> settings_of(const Parameters& parameters, const ConfigLocation& place) {
  std::vector<ParamSetting> settings;
  for (const auto& [key, value] : parameters) settings.push_back({key, value, place});
  return settings;
}

/// The purpose of samples. A profile has a usual number of them, and counts NaN and infinity.
enum class SampleUse : std::uint8_t { copy, profile };

template <class Reader>
void limit(Reader& reader, const std::optional<std::uint64_t>& count, SampleUse use) {
  if (!count && use == SampleUse::profile)
    reader.limit(usual_profile_samples(reader.layout().kind));
}

/// `count`: by default as many as a profile has.
std::unique_ptr<SampleReader> open_generator(const std::string& name, const Parameters& parameters,
                                             ImageSize size, std::uint64_t seed,
                                             std::uint64_t first,
                                             const std::optional<std::uint64_t>& count, bool plane,
                                             const std::string& device) {
  SampleMaking making;
  making.device = Device::parse(device);
  making.dense = plane ? DenseLabels::plane : DenseLabels::none;
  auto generator =
      make_generator(name, size, settings_of(parameters, {"Generator"}), {"Generator"});
  const SampleRange range{seed, first,
                          count ? *count : usual_profile_samples(generator->layout().kind)};
  if (first > kSampleIds - range.count)
    fail(ErrorKind::config,
         {fmt::format("first = {} is out of range", first), "",
          fmt::format("choose an integer from 0 to {}", kSampleIds - range.count)});
  return std::make_unique<GeneratorReader>(std::move(generator), range, making);
}

/// Samples, and the files that they are read from.
struct OpenedSamples {
  std::unique_ptr<SampleReader> samples;
  std::vector<std::filesystem::path> files = {};
};

OpenedSamples open_rows(const std::string& path, const Parameters& keys, std::uint64_t first,
                        const std::optional<std::uint64_t>& count, SampleUse use) {
  const ConfigLocation place{"data set"};
  DatasetRequest request = dataset_request(path, settings_of(keys, place), place);
  request.finite = use != SampleUse::profile;
  auto rows = std::make_unique<DatasetReader>(request, first, count);
  limit(*rows, count, use);
  return {std::move(rows), {path}};
}

OpenedSamples open_run(const std::string& file, const std::optional<std::string>& text,
                       const std::vector<std::string>& overrides, bool held_out, std::uint64_t step,
                       const std::optional<std::uint64_t>& count, bool plane, SampleUse use) {
  const RunConfig config = read_config(file, text, overrides);
  RunSampleRange range;
  if (held_out) range.split = RunSampleRange::Split::evaluation;
  range.step = step;
  range.count = count;
  range.dense = plane ? DenseLabels::plane : DenseLabels::none;
  auto samples = std::make_unique<RunSamples>(config, range);
  limit(*samples, count, use);
  OpenedSamples run{std::move(samples), files_read(config)};
  if (!text) run.files.emplace_back(file);
  return run;
}

/// Samples that are exported, drawn or measured once.
class Samples {
 public:
  explicit Samples(OpenedSamples opened)
      : reader_(std::move(opened.samples)), files_(std::move(opened.files)) {}

  std::vector<std::string> write(const std::string& out, const std::string& layout,
                                 const std::string& pixels, const std::string& channels) {
    const InterruptBridge interrupts;
    expect_own_threads();
    require_not_an_input(out, files_);
    ImageForm images;
    images.pixels = pixels == "u8" ? ElementType::u8 : ElementType::f32;
    images.channels_first = channels == "first";
    return export_samples(*reader_, out, {layout, stop_on_interrupt, images}).arrays;
  }
  std::vector<std::byte> draw() {
    const InterruptBridge interrupts;
    expect_own_threads();
    return encode_png(preview(*reader_, stop_on_interrupt).image);
  }
  /// The profile as JSON, with the drift from a stored one: the JSON text `stored`, or that of `file`.
  std::string profile(const std::optional<std::string>& stored,
                      const std::optional<std::string>& file) {
    const InterruptBridge interrupts;
    expect_own_threads();
    std::optional<DataProfile> before;
    if (stored) before = parse_profile(*stored, "against");
    if (file) before = read_profile(*file);
    const DataProfile now = profile_of(*reader_, before ? &*before : nullptr, stop_on_interrupt);
    nlohmann::ordered_json json = to_json(now);
    json["identity"] = reader_->identity();
    if (before) json["drift"] = to_json(compare(*before, now));
    return json.dump(-1, ' ', /*ensure_ascii=*/true);
  }

 private:
  std::unique_ptr<SampleReader> reader_;
  std::vector<std::filesystem::path> files_;
};

nb::bytes draw_png(Samples& samples) {
  std::vector<std::byte> png;
  {
    const nb::gil_scoped_release release;
    png = samples.draw();
  }
  return nb::bytes(png.data(), png.size());
}

}  // namespace

void bind_samples(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  using Count = std::optional<std::uint64_t>;
  nb::class_<Samples>(module, "Samples")
      .def("write", &Samples::write, Release())
      .def("draw", draw_png)
      .def("profile", &Samples::profile, nb::arg("stored").none(), nb::arg("file").none(),
           Release());
  module.def(
      "generator_samples",
      [](const std::string& name, const Parameters& parameters, std::pair<int, int> size,
         std::uint64_t seed, std::uint64_t first, const Count& count, bool plane,
         const std::string& device) {
        return Samples({open_generator(name, parameters, {size.first, size.second}, seed, first,
                                       count, plane, device)});
      },
      nb::arg("name"), nb::arg("parameters"), nb::arg("size"), nb::arg("seed"), nb::arg("first"),
      nb::arg("count").none(), nb::arg("plane"), nb::arg("device"), Release());
  const auto use_of = [](bool usual) { return usual ? SampleUse::profile : SampleUse::copy; };
  module.def(
      "run_samples",
      [use_of](const std::string& file, const std::optional<std::string>& text,
               const std::vector<std::string>& overrides, bool held_out, std::uint64_t step,
               const Count& count, bool plane, bool usual) {
        return Samples(
            open_run(file, text, overrides, held_out, step, count, plane, use_of(usual)));
      },
      nb::arg("file"), nb::arg("text").none(), nb::arg("overrides"), nb::arg("held_out"),
      nb::arg("step"), nb::arg("count").none(), nb::arg("plane"), nb::arg("usual"), Release());
  module.def("names_dataset", [](const std::string& path) { return names_dataset(path); });
  module.def(
      "dataset_samples",
      [use_of](const std::string& path, const Parameters& keys, std::uint64_t first,
               const Count& count,
               bool usual) { return Samples(open_rows(path, keys, first, count, use_of(usual))); },
      nb::arg("path"), nb::arg("keys"), nb::arg("first"), nb::arg("count").none(), nb::arg("usual"),
      Release());
}

}  // namespace wellspring::python
