// `wellspring describe NAME`: a generator, model or format with all its parameters.
#include "cli/command.h"
#include "cli/describe_json.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/text/text.h"
#include "generators/generator.h"
#include "kernels/augment/augmentation_config.h"
#include "kernels/batch/batch_columns.h"
#include "sources/files/format.h"
#include "train/config/run_config.h"
#include "train/models/model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

const char* type_name(ParamType type) {
  switch (type) {
    case ParamType::real:
      return "number";
    case ParamType::integer:
      return "integer";
    case ParamType::flag:
      return "true/false";
    case ParamType::choice:
      return "choice";
    case ParamType::text:
      return "text";
    case ParamType::real_list:
      return "numbers";
    case ParamType::integer_list:
      return "integers";
    case ParamType::text_list:
      return "texts";
  }
  return "";
}

void print_parameters(const std::vector<ParamRow>& rows) {
  for (const ParamRow& row : rows) {
    const std::string unit = row.unit.empty() ? "" : " " + row.unit;
    const std::string range = row.range_text().empty() ? "" : ", " + row.range_text();
    const std::string standard =
        row.required ? "required" : fmt::format("default {}{}", row.default_text, unit);
    fmt::print("  {}  {}, {}{}\n      {}\n", paint(Colour::bold, row.name), type_name(row.type),
               standard, range, row.help);
    if (!row.source.empty()) fmt::print("      source: {}\n", row.source);
    if (!row.effect.empty()) fmt::print("      only with {}\n", row.effect);
    for (const ParamPreset& preset : row.presets) {
      fmt::print("      {}  {}\n          {}\n", paint(Colour::bold, preset.name), preset.help,
                 preset.to_string());
    }
  }
}

std::string draws_text(const DrawBudget& draws) {
  std::string text = fmt::format("blocks of four 32-bit words: at most {} per sample", draws.scene);
  if (draws.part > 0)
    text += draws.side > 0
                ? fmt::format(", {} per tile of {}x{} pixels", draws.part, draws.side, draws.side)
                : fmt::format(", {} for the whole image", draws.part);
  if (draws.pixel > 0) text += fmt::format(", {} per pixel", draws.pixel);
  return text;
}

void print_values(const char* column, const std::vector<ValueInfo>& values) {
  if (values.empty()) return;
  fmt::print("{}:", column);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ValueInfo& value = values[i];
    fmt::print("{} {}{}", i == 0 ? "" : ",", value.name,
               value.unit.empty() ? "" : " [" + value.unit + "]");
  }
  fmt::print("\n");
}

void print(const GeneratorEntry& entry) {
  constexpr int kAnySize = 64;  // no effect on what is printed
  const std::unique_ptr<Generator> generator = make_generator(entry.name, kAnySize);
  const SampleInfo& info = generator->info();
  fmt::print("{}, version {}: {}\n", paint(Colour::bold, entry.name), info.version, entry.summary);
  if (!info.reference.empty()) fmt::print("reference: {}\n", info.reference);
  if (entry.kind == SampleKind::image) {
    fmt::print("sample: image, --size x --size x {}\n", generator->layout().channels);
  } else {
    fmt::print("sample: {}\n", to_string(info.layout));
    print_values("features", info.features);
    print_values("globals", info.globals);
  }
  print_values("targets", info.targets);
  for (const BestResult& best : info.best) {
    fmt::print("best possible {}: {:.6g}\n", best.metric, best.value);
  }
  fmt::print("random numbers: {}\n", draws_text(info.draws));
  fmt::print("classes ({}): {}\n", info.classes.size(), fmt::join(info.classes, ", "));
  fmt::print("\nlatents (true parameters of each sample)\n");
  for (const LatentInfo& latent : info.latents) {
    fmt::print("  {}  [{:g}, {:g}]{}{}\n      {}\n", paint(Colour::bold, latent.name), latent.low,
               latent.high, latent.unit.empty() ? "" : " ", latent.unit, latent.help);
  }
  if (info.plane) {
    fmt::print("\ndense labels, per pixel (--plane)\n  {}{}{}\n      {}\n",
               paint(Colour::bold, info.plane->name), info.plane->unit.empty() ? "" : "  ",
               info.plane->unit, info.plane->help);
  }
  fmt::print("\nparameters\n");
  print_parameters(entry.parameters);
}

void print(const ModelEntry& entry) {
  fmt::print("{}: {}\n", paint(Colour::bold, entry.name), entry.summary);
  if (!entry.reference.empty()) fmt::print("reference: {}\n", entry.reference);
  fmt::print("\nparameters\n");
  print_parameters(entry.parameters);
  constexpr int kAnyOutputs = 10;
  fmt::print("\nlayers with default parameters, {} outputs and input {}\n{}", kAnyOutputs,
             to_string(entry.example),
             describe(entry.make({})->record(entry.example, kAnyOutputs)));
}

void print(const DatasetFormat& format) {
  fmt::print("{}: {}\n", paint(Colour::bold, format.name), format.summary);
  fmt::print("files: {}\n", format.files);
  fmt::print("\nkeys of a source of this format, in addition to the keys of kind: files\n");
  print_parameters(format.parameters);
}

void print(const std::vector<ConfigSection>& sections) {
  for (const ConfigSection& section : sections) {
    fmt::print("{}", paint(Colour::bold, section.path.empty() ? "top level" : section.path));
    fmt::print("{}{}\n", section.condition.empty() ? "" : ", ", section.condition);
    print_parameters(section.rows);
    if (!section.others.empty()) {
      fmt::print("  {}{}\n", section.rows.empty() ? "" : "and ", section.others);
    }
    fmt::print("\n");
  }
}

void print(const std::vector<AugmentEntry>& operations) {
  fmt::print("Operations for the list `augment` of data or of a source, applied in order.\n\n");
  for (const AugmentEntry& entry : operations) {
    fmt::print("{}: {}\n", paint(Colour::bold, entry.name), entry.summary);
    if (!entry.source.empty()) fmt::print("  {}\n", entry.source);
    fmt::print("  `{0}: VALUE` sets {1}\n", entry.name, entry.main);
    print_parameters(entry.rows());
    fmt::print("\n");
  }
}

constexpr const char* kConfiguration = "config";
constexpr const char* kAugmentation = "augment";

/// Calls `show` with the entry named `name`.
template <class Show>
void with_entry(const std::string& name, const Show& show) {
  std::vector<std::string> known = {kConfiguration, kAugmentation};
  for (const GeneratorEntry& entry : generator_registry()) {
    if (entry.name == name) return show(entry);
    known.push_back(entry.name);
  }
  for (const ModelEntry& entry : model_registry()) {
    if (entry.name == name) return show(entry);
    known.push_back(entry.name);
  }
  for (const DatasetFormat& format : format_registry()) {
    if (format.name == name) return show(format);
    known.push_back(format.name);
  }
  if (name == kConfiguration) return show(config_sections());
  if (name == kAugmentation) return show(augmentation_table());
  fail(ErrorKind::config,
       {fmt::format("command line: unknown generator, model or format '{}'", name), "",
        name_advice(name, known)});
}

struct DescribeOptions {
  std::string name;
  bool json = false;
};

}  // namespace

Command add_describe(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "describe",
      "describe a generator, model, format or the configuration file, with all parameters");
  auto options = std::make_shared<DescribeOptions>();
  app->add_option("name", options->name,
                  "a name from 'wellspring list', 'config' for the keys of a configuration file, "
                  "or 'augment' for the augmentation operations")
      ->required();
  app->add_flag("--json", options->json, "print JSON");
  return {app, [options] {
            with_entry(options->name, [&](const auto& entry) {
              if (options->json) {
                fmt::print("{}\n", to_json(entry).dump(2));
              } else {
                print(entry);
              }
            });
            return 0;
          }};
}

}  // namespace wellspring::cli
