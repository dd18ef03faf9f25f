// `wellspring describe NAME`: a generator, model or format with all its parameters.
#include "cli/command.h"
#include "cli/describe_json.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/text/text.h"
#include "generators/generator.h"
#include "generators/own/own_generator.h"
#include "kernels/augment/augmentation_config.h"
#include "kernels/batch/batch_columns.h"
#include "sources/files/format.h"
#include "train/config/run_config.h"
#include "train/models/model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::cli {
namespace {

/// All names or, if there are many, the first few and the last one.
std::string class_text(const std::vector<std::string>& classes) {
  constexpr std::size_t kMost = 24, kFirst = 8;
  if (classes.size() <= kMost) return join(classes);
  const std::vector<std::string> first(classes.begin(), classes.begin() + kFirst);
  return join(first) + ", ..., " + classes.back();
}

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
      return "string";
    case ParamType::real_list:
      return "numbers";
    case ParamType::integer_list:
      return "integers";
    case ParamType::text_list:
      return "strings";
    case ParamType::size:
      return "integer or [height, width]";
  }
  return "";
}

/// Prints text below a heading that has the same or a smaller indent.
void print_below(std::size_t indent, const std::string& text) {
  fmt::print("{}\n", fit(std::string(indent, ' ') + text, STDOUT_FILENO, indent));
}

void print_parameters(const std::vector<ParamRow>& rows) {
  constexpr std::size_t kHelp = 6, kPreset = 10;  // indents
  for (const ParamRow& row : rows) {
    const std::string unit = row.unit.empty() ? "" : " " + row.unit;
    const std::string range = row.range_text().empty() ? "" : ", " + row.range_text();
    const std::string standard =
        row.required ? "required" : fmt::format("default {}{}", row.default_text, unit);
    print_below(2, fmt::format("{}  {}, {}{}", paint(Colour::bold, row.name), type_name(row.type),
                               standard, range));
    print_below(kHelp, row.help);
    if (!row.source.empty()) print_below(kHelp, "source: " + row.source);
    if (!row.effect.empty()) print_below(kHelp, "only with " + row.effect);
    for (const ParamPreset& preset : row.presets) {
      print_below(kHelp, paint(Colour::bold, preset.name) + "  " + preset.help);
      print_below(kPreset, preset.to_string());
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
  std::vector<std::string> texts;
  for (const ValueInfo& value : values)
    texts.push_back(value.name + (value.unit.empty() ? "" : " [" + value.unit + "]"));
  print_below(0, fmt::format("{}: {}", column, join(texts)));
}

void print(const GeneratorEntry& entry) {
  constexpr int kAnySize = 64;  // no effect on what is printed
  const std::unique_ptr<Generator> generator = entry.make({}, kAnySize);
  const SampleInfo& info = generator->info();
  print_below(0, fmt::format("{}, version {}: {}", paint(Colour::bold, entry.name), info.version,
                             entry.summary));
  if (!info.reference.empty()) print_below(0, "reference: " + info.reference);
  if (entry.kind == SampleKind::image) {
    fmt::print("sample: image of --size pixels, {}\n",
               counted(generator->layout().channels, "channel"));
  } else {
    print_below(0, "sample: " + to_string(info.layout));
    print_values("features", info.features);
    print_values("globals", info.globals);
  }
  print_values("targets", info.targets);
  for (const BestResult& best : info.best) {
    fmt::print("best possible {}: {:.6g}\n", best.metric, best.value);
  }
  print_below(0, "random numbers: " + draws_text(info.draws));
  print_below(0, fmt::format("classes ({}): {}", info.classes.size(), class_text(info.classes)));
  fmt::print("\nlatents (true parameters of each sample{})\n",
             info.settable_latents == 0
                 ? ""
                 : fmt::format("; export --latents can set the first {}", info.settable_latents));
  for (const LatentInfo& latent : info.latents) {
    fmt::print("  {}  [{:g}, {:g}]{}{}\n", paint(Colour::bold, latent.name), latent.low,
               latent.high, latent.unit.empty() ? "" : " ", latent.unit);
    print_below(6, latent.help);
  }
  if (info.plane) {
    fmt::print("\ndense labels, per pixel (--plane)\n  {}{}{}\n",
               paint(Colour::bold, info.plane->name), info.plane->unit.empty() ? "" : "  ",
               info.plane->unit);
    print_below(6, info.plane->help);
  }
  fmt::print("\nparameters\n");
  print_parameters(entry.parameters);
}

void print(const ModelEntry& entry) {
  print_below(0, fmt::format("{}: {}", paint(Colour::bold, entry.name), entry.summary));
  if (!entry.reference.empty()) print_below(0, "reference: " + entry.reference);
  fmt::print("\nparameters\n");
  print_parameters(entry.parameters);
  constexpr int kAnyWidth = 10;
  std::vector<OutputSpec> outputs;
  fmt::print("\noutputs\n");
  for (const std::string& name : entry.outputs) {
    outputs.push_back({name, kAnyWidth, name == kPixelOutput});
    print_below(2, fmt::format("{}: one vector per {}", paint(Colour::bold, name),
                               name == kPixelOutput ? "pixel" : "sample"));
  }
  fmt::print("\nlayers with default parameters, outputs of width {} and input {}\n{}", kAnyWidth,
             to_string(entry.example), describe(entry.make({})->record(entry.example, outputs)));
}

void print(const DatasetFormat& format) {
  print_below(0, fmt::format("{}: {}", paint(Colour::bold, format.name), format.summary));
  print_below(0, "files: " + format.files);
  fmt::print("\nkeys of a source of this format, in addition to the keys of `kind: files`\n");
  print_parameters(format.parameters);
}

void print(const std::vector<ConfigSection>& sections) {
  fmt::print("Integers may have underscores between digits: 1_000_000.\n\n");
  for (const ConfigSection& section : sections) {
    fmt::print("{}", paint(Colour::bold, section.path.empty() ? "top level" : section.path));
    fmt::print("{}{}\n", section.condition.empty() ? "" : ", ", section.condition);
    print_parameters(section.rows);
    if (!section.others.empty())
      print_below(2, (section.rows.empty() ? "" : "and ") + section.others);
    fmt::print("\n");
  }
}

void print(const AugmentPreset& preset) {
  print_below(0, paint(Colour::bold, preset.name) + ": " + preset.summary);
  print_below(2, preset.source);
  fmt::print("\n{}\n", preset.list);
}

void print(const std::vector<AugmentEntry>& operations) {
  fmt::print("Operations for the list `augment` of data or of a source, applied in order.\n\n");
  for (const AugmentEntry& entry : operations) {
    print_below(0, paint(Colour::bold, entry.name) + ": " + entry.summary);
    if (!entry.source.empty()) print_below(2, entry.source);
    if (entry.takes_value()) fmt::print("  `{0}: VALUE` sets {1}\n", entry.name, entry.main);
    print_parameters(entry.rows());
    fmt::print("\n");
  }
  if (operations.size() == 1) return;
  fmt::print("Groups, whose members are operations or groups\n\n");
  for (const GroupKind kind : kGroupKinds) {
    print_below(0, paint(Colour::bold, group_name(kind)) + ": " + group_help(kind));
    print_parameters(group_table(kind).rows());
    fmt::print("\n");
  }
  fmt::print("Presets, which are replaced by their operations\n\n");
  for (const AugmentPreset& preset : augment_presets()) print(preset);
}

constexpr const char* kConfiguration = "config";
constexpr const char* kAugmentation = "augment";

/// All sections. Augmentations appear by name only, because `describe augment` prints their
/// keys.
std::vector<ConfigSection> sections_without_augmentations() {
  std::vector<ConfigSection> sections;
  bool listed = false;
  for (ConfigSection& section : config_sections()) {
    if (section.path.find(".augment[]") == std::string::npos) {
      sections.push_back(std::move(section));
    } else if (!std::exchange(listed, true)) {
      std::vector<std::string> names;
      for (const AugmentEntry& entry : augmentation_table()) names.push_back(entry.name);
      for (const GroupKind kind : kGroupKinds) names.emplace_back(group_name(kind));
      for (const AugmentPreset& preset : augment_presets()) names.push_back(preset.name);
      sections.push_back({"data.augment[], data.sources[].augment[]",
                          "images only",
                          {},
                          "see `wellspring describe augment`: " + join(names)});
    }
  }
  return sections;
}

/// The sections at and below a path such as "train" or "data.sources".
std::vector<ConfigSection> sections_of(const std::string& path) {
  std::vector<ConfigSection> found;
  std::vector<std::string> known;
  for (ConfigSection& section : sections_without_augmentations()) {
    std::string name = section.path;
    for (std::size_t at = 0; (at = name.find("[]")) != std::string::npos;) name.erase(at, 2);
    if (name.find(',') != std::string::npos || name.empty()) continue;
    const std::string shown = kConfiguration + ("." + name);
    if (std::ranges::find(known, shown) == known.end()) known.push_back(shown);
    if (name == path || name.starts_with(path + ".")) found.push_back(std::move(section));
  }
  if (found.empty())
    fail(ErrorKind::config, {fmt::format("command line: a configuration has no section '{}'", path),
                             "", name_advice(kConfiguration + ("." + path), known)});
  return found;
}

/// Calls `show` with the operation or preset named `name`.
template <class Show>
void with_operation(const std::string& name, const Show& show) {
  std::vector<std::string> known;
  for (const AugmentEntry& entry : augmentation_table()) {
    if (entry.name == name) return show(std::vector<AugmentEntry>{entry});
    known.push_back(entry.name);
  }
  for (const AugmentPreset& preset : augment_presets()) {
    if (preset.name == name) return show(preset);
    known.push_back(preset.name);
  }
  fail(ErrorKind::config, {fmt::format("command line: unknown augmentation '{}'", name), "",
                           name_advice(name, known)});
}

/// Calls `show` with the entry named `name`.
template <class Show>
void with_entry(const std::string& name, const Show& show) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  const std::string of = name.substr(0, dot), part = name.substr(std::min(dot + 1, name.size()));
  if (of == kConfiguration)
    return show(part.empty() ? sections_without_augmentations() : sections_of(part));
  if (is_own_generator(name)) return show(find_generator(name, {"command line"}));
  if (of == kAugmentation && part.empty()) return show(augmentation_table());
  if (of == kAugmentation) return with_operation(part, show);
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
  app->add_option(
         "name", options->name,
         "a name from 'wellspring list'; 'config' for the keys of a configuration file, or "
         "a section of it, such as 'config.train'; 'augment' for the augmentation "
         "operations, or one of them or a preset, such as 'augment.crop_resize'")
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
