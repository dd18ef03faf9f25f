#include "sources/files/exported_run.h"

#include "core/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace wellspring {
namespace {

using Json = nlohmann::json;

/// The value of `key`; null if it is missing.
Json value_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() ? *found : Json();
}

Json exported_data(const Json& metadata) {
  return value_in(value_in(metadata, "configuration"), "data");
}

}  // namespace

bool is_normalised_export(const Json& metadata) {
  const Json sources = value_in(exported_data(metadata), "sources");
  return sources.is_array() && std::ranges::any_of(sources, [](const Json& source) {
           return value_in(source, "normalise").is_object();
         });
}

bool is_mixed_export(const Json& metadata) {
  if (value_in(metadata, "split") != "train") return false;  // held-out samples are not mixed
  const Json mix = value_in(exported_data(metadata), "mix");
  const auto is_on = [&](const char* key, bool usual) {
    const Json value = value_in(mix, key);
    return value.is_number() ? value.get<double>() > 0 : usual;
  };
  return is_on("probability", true) && (is_on("mixup", false) || is_on("cutmix", false));
}

void refuse_mixed_labels(const std::string& where, const std::string& otherwise) {
  fail(
      ErrorKind::data,
      {where + ": the samples were mixed (data.mix), but a label is one class",
       "training would take each blend of two samples for one of them",
       "export again with data.mix.probability=0, and set data.mix in the run that reads the rows" +
           otherwise});
}

}  // namespace wellspring
