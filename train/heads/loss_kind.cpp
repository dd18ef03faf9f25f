#include "core/error.h"
#include "core/text/text.h"
#include "train/heads/heads.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {

const std::vector<std::pair<std::string, LossKind>>& loss_names() {
  static const std::vector<std::pair<std::string, LossKind>> names = {
      {"class", LossKind::class_label},
      {"soft_label", LossKind::soft_label},
      {"multi_label", LossKind::multi_label},
      {"regression", LossKind::regression},
      {"pixel_class", LossKind::pixel_class},
      {"item_regression", LossKind::item_regression},
      {"masked_patches", LossKind::masked_patches},
      {"info_nce", LossKind::info_nce},
      {"alignment_uniformity", LossKind::alignment_uniformity},
      {"vicreg", LossKind::vicreg}};
  return names;
}

const std::vector<std::pair<std::string, CrossEntropy>>& cross_entropy_names() {
  static const std::vector<std::pair<std::string, CrossEntropy>> names = {
      {"softmax", CrossEntropy::softmax}, {"binary", CrossEntropy::binary}};
  return names;
}

const std::vector<std::pair<std::string, ops::RegressionError>>& error_names() {
  static const std::vector<std::pair<std::string, ops::RegressionError>> names = {
      {"squared", ops::RegressionError::squared},
      {"huber", ops::RegressionError::huber},
      {"gaussian", ops::RegressionError::gaussian},
      {"quantile", ops::RegressionError::quantile}};
  return names;
}

ops::RegressionLaw make_law(ops::RegressionError error, double delta,
                            const std::vector<double>& quantiles) {
  ops::RegressionLaw law;
  law.error = error;
  law.delta = static_cast<float>(delta);
  if (error == ops::RegressionError::gaussian) law.outputs = 2;
  if (error != ops::RegressionError::quantile) return law;
  law.level[0] = 0.5f;
  std::ranges::transform(quantiles, law.level + 1,
                         [](double level) { return static_cast<float>(level); });
  law.outputs = static_cast<std::int32_t>(1 + quantiles.size());
  return law;
}

std::string to_string(LossKind kind) {
  for (const auto& [name, value] : loss_names())
    if (value == kind) return name;
  return "";
}

LossKind loss_named(const std::string& name) {
  for (const auto& [known, value] : loss_names())
    if (known == name) return value;
  fail(ErrorKind::data, {fmt::format("unknown loss '{}'", name), "", ""});
}

}  // namespace wellspring
