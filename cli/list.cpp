// `wellspring list`: the generators, models and formats that a configuration can name.
#include "cli/command.h"
#include "cli/terminal.h"
#include "export/export_layout.h"
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

void print_row(const std::string& name, const char* kind, const std::string& text) {
  constexpr std::size_t kText = 26;  // column
  fmt::print("{}\n", fit(fmt::format("  {:<15} {:<7} {}", name, kind, text), STDOUT_FILENO, kText));
}

void list_generators() {
  fmt::print("{}\n", paint(Colour::bold, "generators"));
  for (const GeneratorEntry& entry : generator_registry()) {
    print_row(entry.name, kind_name(entry.kind),
              fmt::format("version {}  {}", entry.version, entry.summary));
  }
}

void list_models() {
  fmt::print("{}\n", paint(Colour::bold, "models"));
  for (const ModelEntry& entry : model_registry()) {
    print_row(entry.name, "", entry.summary);
  }
}

void list_formats() {
  fmt::print("{}\n", paint(Colour::bold, "formats"));
  for (const DatasetFormat& format : format_registry()) {
    print_row(format.name, "read", format.summary);
  }
  const std::string exported = "wellspring export --out NAME.";
  print_row("npz", "write", "NumPy arrays: " + exported + "npz");
  for (const ExportLayout& layout : export_layouts())
    print_row(
        "hdf5", "write",
        fmt::format("{}: {}: {}h5 --layout {}", layout.name, layout.arrays, exported, layout.name));
  print_row("npz, hdf5", "write",
            "folders of array files: wellspring export --format npz --out FOLDER");
  print_row("webdataset", "write",
            "tar shards: wellspring export --layout webdataset --out FOLDER");
  print_row("trackml", "write", "a folder of tables, for tracker hits: " + exported + "trackml");
  print_row("lhe, hepmc", "write", "Les Houches and HepMC3 events: " + exported + "lhe");
  print_row("png", "write", "contact sheets: wellspring preview");
  print_row("jsonl", "write", "metrics of a run, one object per line, and TensorBoard events");
  print_row("html", "write", "the report of a run");
  print_row("json", "write", "wellspring bench --json, describe --json");
  print_row("safetensors", "both", "checkpoints");
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
