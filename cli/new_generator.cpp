// `wellspring new generator NAME`: writes the header of a generator to start from.
#include "cli/command.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"
#include "generators/generator.h"
#include "generators/own/own_generator.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring::cli {
namespace {

/// A file of examples/generators.
struct Template {
  std::string_view kind, name, text;
};
constexpr Template kTemplates[] = {
#include "cli/generator_templates.inc"
};

struct NewArguments {
  std::string what, name, kind = "image";
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// The template with another name for the generator and its functor.
std::string renamed(const Template& original, const std::string& name) {
  std::string text(original.text);
  for (const char quote : {'"', '`'})
    replace_all(text, quote + std::string(original.name) + quote, quote + name + quote);
  replace_all(text, own_functor_name(std::string(original.name) + ".h"),
              own_functor_name(name + ".h"));
  return text;
}

void check_name(const std::string& name) {
  if (name.find('/') != std::string::npos)
    fail(ErrorKind::config,
         {fmt::format("'{}' cannot name a generator", name),
          "the header is written to the current folder", "change to its folder"});
  static_cast<void>(own_functor_name(name + ".h"));
  for (const GeneratorEntry& entry : generator_registry())
    if (entry.name == name)
      fail(ErrorKind::config, {fmt::format("there is a built-in generator '{}'", name),
                               "its random numbers have the same key", "choose another name"});
}

int run(const NewArguments& options) {
  check_name(options.name);
  const std::string file = options.name + ".h";
  for (const Template& candidate : kTemplates) {
    if (candidate.kind != options.kind) continue;
    const std::string text = renamed(candidate, options.name);
    if (std::filesystem::exists(file))
      fail(ErrorKind::config, {fmt::format("{}: the file exists", file), "new overwrites nothing",
                               "choose another name, or remove the file"});
    OutputFile out(file, OutputFile::Mode::create);
    out.write(bytes_of(text));
    out.finish();
  }
  fmt::print(
      "{0}: a working generator; see docs/own-generator.md\n"
      "Try next:\n  wellspring preview ./{0}\n  wellspring describe ./{0}\n",
      file);
  return 0;
}

}  // namespace

Command add_new(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "new", "write the header of a generator to start from (docs/own-generator.md)");
  auto options = std::make_shared<NewArguments>();
  std::vector<std::string> kinds;
  for (const Template& known : kTemplates) kinds.emplace_back(known.kind);
  app->add_option("what", options->what, "generator")
      ->required()
      ->check(CLI::IsMember({"generator"}));
  app->add_option("name", options->name, "its name: letters, digits and underscores")->required();
  app->add_option("--kind", options->kind,
                  "image (a colour per pixel), canvas (points added to cells), event (fixed "
                  "features), set (a varying number of items) or field (an evolving grid) "
                  "(default: image)")
      ->check(CLI::IsMember(kinds));
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
