#include "sources/files/class_names.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <set>

namespace wellspring {

std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string_view line : split(text, '\n')) {
    const std::string name(trim(line));
    if (name.empty()) continue;
    if (!seen.insert(name).second) {
      fail(ErrorKind::data,
           {fmt::format("{}: duplicate class '{}'", path.string(), name),
            "class names must be unique", "list each class once, in the order of the labels"});
    }
    names.push_back(name);
  }
  if (names.empty()) {
    fail(ErrorKind::data, {path.string() + ": no class names", "the file has no names",
                           "write one name per line, in the order of the labels"});
  }
  return names;
}

void expect_utf8(const std::vector<std::string>& classes, const std::string& whose) {
  for (const std::string& name : classes) {
    if (is_utf8(name)) continue;
    fail(ErrorKind::data,
         {fmt::format("{}: the name of class '{}' is not UTF-8", whose, printable(name)),
          "checkpoints, metrics and exports contain the class names and are UTF-8",
          "rename the class folder, or the class in the list of names"});
  }
}

}  // namespace wellspring
