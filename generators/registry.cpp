// All generators, by name. To add one, add a line to generators/CMakeLists.txt.
#include "core/text/text.h"
#include "generators/functor_generator.h"
#include "generators/own/own_generator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace wellspring {

// The build writes one file per row and this list of all rows: WS_GENERATOR(shapes).
namespace rows {
#define WS_GENERATOR(name) GeneratorEntry name();
#include "generators/generators.inc"
#undef WS_GENERATOR
}  // namespace rows

namespace {

Generators build_registry() {
  Generators entries = {
#define WS_GENERATOR(name) rows::name(),
#include "generators/generators.inc"
#undef WS_GENERATOR
  };
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].name == entries[i - 1].name) {
      throw std::logic_error("two generators are called '" + entries[i].name + "'");
    }
  }
  return entries;
}

/// The entries of the registry. Each entry has access to the others.
struct Registry {
  Generators entries = build_registry();

  Registry() {
    for (GeneratorEntry& entry : entries) entry.others = &entries;
  }
  Registry(const Registry&) = delete;
};

}  // namespace

const Generators& generator_registry() {
  static const Registry registry;
  return registry.entries;
}

const GeneratorEntry& find_generator(const std::string& name, const ConfigLocation& place) {
  if (is_own_generator(name)) return own_generator(name, place);
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  fail(ErrorKind::config, {place.prefix() + fmt::format("unknown generator '{}'", name), "",
                           name_advice(name, names)});
}

std::unique_ptr<Generator> make_generator(const std::string& name, ImageSize size,
                                          const std::vector<ParamSetting>& settings,
                                          const ConfigLocation& place) {
  const GeneratorEntry& entry = find_generator(name, place);
  try {
    return entry.make(settings, size);
  } catch (const Error& error) {
    detail::rethrow_at(place, settings, error);
  }
}

void expect_plane(const SampleInfo& info) {
  if (info.plane) return;
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (entry.has_plane) names.push_back(entry.name);
  }
  detail::refuse_plane(info,
                       fmt::format("leave --plane out, or use one of {}", fmt::join(names, ", ")));
}

}  // namespace wellspring
