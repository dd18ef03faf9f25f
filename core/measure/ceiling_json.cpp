#include "core/measure/ceiling_json.h"

#include <nlohmann/json.hpp>

namespace wellspring {

using Json = nlohmann::ordered_json;

Json to_json(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

Json to_json(const ProcessorLoad& load) {
  Json object = {{"own", load.own}};
  if (const auto& machine = load.machine) {
    object["others"] = machine->others;
    object["stolen"] = machine->stolen;
    object["of"] = machine->processors;
  }
  return object;
}

}  // namespace wellspring
