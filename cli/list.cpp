// `wellspring list`: the generators, models and formats that a configuration can name.
#include "cli/command.h"
#include "cli/terminal.h"
#include "generators/generator.h"
#include "sources/files/format.h"
#include "train/models/model.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace wellspring::cli {
namespace {

const char* kind_name(SampleKind kind) {
  switch (kind) {
    case SampleKind::image:
      return "images";
    case SampleKind::event:
      return "events";
    case SampleKind::set:
      return "sets";
  }
  return "";
}

void list_generators() {
  fmt::print("{}\n", paint(Colour::bold, "generators"));
  for (const GeneratorEntry& entry : generator_registry()) {
    fmt::print("  {:<14} {:<7} version {}  {}\n", entry.name, kind_name(entry.kind), entry.version,
               entry.summary);
  }
}

void list_models() {
  fmt::print("{}\n", paint(Colour::bold, "models"));
  for (const ModelEntry& entry : model_registry()) {
    fmt::print("  {:<14} {:<7} {}\n", entry.name, "", entry.summary);
  }
}

void list_formats() {
  fmt::print("{}\n", paint(Colour::bold, "formats"));
  for (const DatasetFormat& format : format_registry()) {
    fmt::print("  {:<14} {:<7} {}\n", format.name, "read", format.summary);
  }
  fmt::print("  {:<14} {:<7} {}\n", "npz", "write", "NumPy arrays: wellspring export");
  fmt::print("  {:<14} {:<7} {}\n", "png", "write", "contact sheets: wellspring preview");
  fmt::print("  {:<14} {:<7} {}\n", "safetensors", "both", "checkpoints");
}

}  // namespace

Command add_list(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("list", "list generators, models and file formats");
  auto what = std::make_shared<std::string>("all");
  app->add_option("what", *what, "generators, models or formats (default: all)")
      ->check(CLI::IsMember({"all", "generators", "models", "formats"}));
  return {app, [what] {
            const bool all = *what == "all";
            if (all || *what == "generators") list_generators();
            if (all || *what == "models") list_models();
            if (all || *what == "formats") list_formats();
            return 0;
          }};
}

}  // namespace wellspring::cli
