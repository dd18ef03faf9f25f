// A configuration's YAML: the tree, a table with a row of every type, and the list of values.
#include "core/config/config.h"

#include "core/config/config_values.h"
#include "tests/fuzz/fuzz.h"

#include <algorithm>

using namespace wellspring;

namespace {

enum class Law : std::uint8_t { uniform, gaussian };

struct Rows {
  double real = 0;
  float single = 0;
  std::int64_t integer = 0;
  std::int32_t small = 0;
  bool flag = false;
  std::string text;
  std::vector<double> reals;
  std::vector<std::int32_t> integers;
  std::vector<std::string> texts;
  Law law = Law::uniform;
};

const ParamTable<Rows>& rows_table() {
  static const auto table =
      ParamTable<Rows>("rows")
          .real("real", &Rows::real, {0, 1e300}, "", "")
          .real("single", &Rows::single, {}, "", "")
          .integer("integer", &Rows::integer, {}, "", "")
          .integer("small", &Rows::small, {-3, 1000}, "", "")
          .flag("flag", &Rows::flag, "")
          .text("text", &Rows::text, "")
          .real_list("reals", &Rows::reals, {-1, 1}, "", "")
          .integer_list("integers", &Rows::integers, {}, "", "")
          .text_list("texts", &Rows::texts, "")
          .choice("law", &Rows::law, {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}}, "")
          .preset("film", {{"law", "gaussian"}, {"real", "0.05"}}, "");
  return table;
}

/// Checks that values read back as written, because runs read the configurations that they wrote.
void read_rows(const ConfigNode& node) {
  const Rows rows = node.read(rows_table());
  const std::string yaml = rows_table().to_yaml(rows);
  const auto again = ConfigDocument::parse(yaml, "written").root().read(rows_table());
  fuzz::expect(rows_table().to_yaml(again) == yaml, "a table's values read back");
}

void walk(const ConfigNode& node) {
  fuzz::expect(!node.describe().empty(), "every value has a location");
  switch (node.kind()) {
    case ConfigKind::map:
      for (const std::string& key : node.keys()) walk(node.at(key));
      fuzz::refused_or([&] { (void)node.settings(); });
      break;
    case ConfigKind::list:
      for (const ConfigNode& element : node.elements()) walk(element);
      break;
    case ConfigKind::scalar:
      (void)node.scalar();
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of({data, size}));
  fuzz::refused_or([&] {
    const ConfigDocument document = ConfigDocument::parse(text, "fuzz.yaml");
    fuzz::refused_or([&] { read_rows(document.root()); });
    fuzz::refused_or([&] { read_rows(document.root().section("rows")); });
    fuzz::refused_or([&] { document.finish(); });
    walk(document.root());
    document.finish();
  });
  fuzz::refused_or([&] {
    const std::vector<ConfigEntry> entries = config_entries(text, "fuzz.yaml");
    for (const ConfigEntry& entry : entries) (void)entry.path_text();
    fuzz::expect(config_differences(text, text).empty(), "a document is equal to itself");
  });
  return 0;
}
