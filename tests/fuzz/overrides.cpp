// Command-line overrides, one per line of the input, applied to a small document; also checks that
// any text value reads back as written.
#include "core/config/config.h"
#include "core/text/text.h"
#include "tests/fuzz/fuzz.h"

#include <algorithm>

using namespace wellspring;

namespace {

constexpr const char* kBase =
    "train: {steps: 20, batch: 8}\ndata:\n  sources:\n    - {kind: generator, name: shapes}\n"
    "    - {kind: files, path: x}\nout: run\n";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Checks that text which a file may contain (no control characters) reads back as written.
void read_back(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\t';
  });
  if (!plain || !is_utf8(text)) return;
  const auto document = ConfigDocument::parse("key: " + yaml_scalar(text) + "\n", "written");
  const auto setting = document.root().scalar("key");
  fuzz::expect(setting && setting->value == text, "a written scalar reads back");
  const std::vector<std::string> texts = {text, "other"};
  const auto split = split_yaml_list(yaml_list(texts));
  fuzz::expect(split && *split == texts, "a written list reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> lines = lines_of(fuzz::text_of({data, size}));
  fuzz::refused_or([&] {
    const ConfigDocument document = ConfigDocument::parse(kBase, "fuzz.yaml", lines);
    for (const ConfigNode& source : document.root().section("data").list("sources"))
      (void)source.settings();
    document.finish();
  });
  for (const std::string& line : lines) {
    (void)split_yaml_list(line);
    if (line.size() < 4096) read_back(line);
  }
  return 0;
}
