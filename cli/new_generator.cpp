// `wellspring new generator NAME`: writes the header, page and test of a new generator, as a
// starting point.
#include "cli/command.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"
#include "generators/generator.h"
#include "generators/own/own_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

constexpr std::string_view kPage = R"page(# NAME

What a sample shows, in a sentence, and the publication or formula that it follows.

![Samples of NAME](NAME.png)

    wellspring preview ./NAME.h --out NAME.png

- **Class**: what the label says.
- **Latents**: what each says about the sample; `wellspring describe ./NAME.h` lists them and all parameters.
- **Limits**: what the simulation leaves out.
)page";

constexpr std::string_view kTest = R"test(#!/bin/sh
# Checks the generator NAME: sh NAME.test.sh
set -eu
cd "$(dirname "$0")"

# Values, labels and latents are in their ranges and fill them; no more random numbers than declared.
wellspring compile ./NAME.h --samples 4096

# The bytes of a sample depend neither on the batch nor on the number of threads.
digest() { wellspring digest ./NAME.h --count 100 "$@" | grep '"sha256"'; }
whole=$(digest)
[ "$(digest --batch 7 --threads 1)" = "$whole" ] || { echo "NAME: samples depend on their batch" >&2; exit 1; }

# The first run stores the digest, and later runs compare. If samples are to change, increase info.version and
# remove NAME.digest.
[ -e NAME.digest ] || echo "$whole" >NAME.digest
[ "$(cat NAME.digest)" = "$whole" ] || { echo "NAME: samples have changed since NAME.digest was written" >&2; exit 1; }
echo "NAME: passed"
)test";

struct NewArguments {
  std::string what, name, kind = "image";
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// The template, with the generator and its functor renamed.
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

std::string named(std::string_view original, const std::string& name) {
  std::string text(original);
  replace_all(text, "NAME", name);
  return text;
}

int run(const NewArguments& options) {
  const std::string& name = options.name;
  check_name(name);
  const auto* const chosen = std::ranges::find(kTemplates, options.kind, &Template::kind);
  const std::pair<std::string, std::string> files[] = {{name + ".h", renamed(*chosen, name)},
                                                       {name + ".md", named(kPage, name)},
                                                       {name + ".test.sh", named(kTest, name)}};
  for (const auto& [file, text] : files)
    if (std::filesystem::exists(file))
      fail(ErrorKind::config, {fmt::format("{}: the file exists", file), "new overwrites nothing",
                               "choose another name, or remove the file"});
  for (const auto& [file, text] : files) {
    OutputFile out(file, OutputFile::Mode::create);
    out.write(bytes_of(text));
    out.finish();
  }
  fmt::print(
      "{0}.h: a working generator; see docs/own-generator.md\n"
      "{0}.md: its page, to be filled in\n"
      "{0}.test.sh: its test\n"
      "Try next:\n  wellspring preview ./{0}.h\n  wellspring describe ./{0}.h\n  sh {0}.test.sh\n",
      name);
  return 0;
}

}  // namespace

Command add_new(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "new", "write a generator to start from, its page and its test (docs/own-generator.md)");
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
