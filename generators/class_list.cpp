#include "generators/class_list.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {

void expect_class_list(const std::string& generator, const std::string& row,
                       const std::vector<std::string>& names,
                       const std::vector<std::string>& known) {
  const auto refuse = [&](const std::string& problem, const std::string& why,
                          const std::string& advice) {
    fail(ErrorKind::config, {fmt::format("{}: {} {}", generator, row, problem), why, advice});
  };
  if (names.empty())
    refuse("is empty", "each name is a class", fmt::format("name some of {}", join(known)));
  for (const std::string& name : names) {
    if (std::ranges::count(known, name) == 0)
      refuse(fmt::format("names '{}', which is unknown", printable(name)), "",
             name_advice(name, known));
    if (std::ranges::count(names, name) > 1)
      refuse(fmt::format("names {} twice", name), "each name is a class", "name each once");
  }
}

}  // namespace wellspring
