#include "train/models/model.h"

#include "core/text/text.h"

#include <fmt/format.h>

namespace wellspring {

std::unique_ptr<Model> make_model(const std::string& name,
                                  const std::vector<ParamSetting>& settings,
                                  const ConfigLocation& place) {
  std::vector<std::string> known;
  for (const ModelEntry& entry : model_registry()) {
    known.push_back(entry.name);
    if (entry.name != name) continue;
    try {
      return entry.make(settings);
    } catch (const Error& error) {
      detail::rethrow_at(place, settings, error);
    }
  }
  fail(ErrorKind::config,
       {fmt::format("{}unknown model '{}'", place.prefix(), name), "", name_advice(name, known)});
}

Tensor perceptron(Tape& tape, Tensor x, const std::string& name, const std::vector<int>& widths) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    x = tape.relu(tape.dense(x, fmt::format("{}{}", name, i),
                             {.width = widths[i], .weight = Init::he_normal}));
    tape.begin_block();
  }
  return x;
}

}  // namespace wellspring
