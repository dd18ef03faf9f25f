#include "core/config/duplicates.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

namespace wellspring {

void fail_given_twice(const ConfigLocation& place, const std::string& name, std::string_view first,
                      std::string_view second) {
  fail(ErrorKind::config, {fmt::format("{}{} is given twice, as '{}' and as '{}'", place.prefix(),
                                       name, trim(first), trim(second)),
                           "only one value can apply", "leave one of them out"});
}

}  // namespace wellspring
