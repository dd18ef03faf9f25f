#include "train/loss_config.h"

namespace wellspring {
namespace {

const ParamTable<LossConfig>& loss_table() {
  static const auto table =
      ParamTable<LossConfig>("loss")
          .choice("kind", &LossConfig::kind,
                  {{"cross_entropy", LossKind::cross_entropy}, {"mse", LossKind::mse}},
                  "classification, or regression of latents")
          .real("label_smoothing", &LossConfig::label_smoothing, {0, 0.999}, "",
                "share of the target spread over all classes", "Szegedy et al. 2016, section 7")
          .text_list("targets", &LossConfig::targets, "of mse: the latents to predict, by name");
  return table;
}

}  // namespace

LossConfig read_loss(const ConfigNode& node) {
  const LossConfig loss = node.read(loss_table());
  if (loss.kind == LossKind::mse && loss.targets.empty())
    node.refuse("targets is missing", "a regression needs the names of the latents it predicts");
  if (loss.kind == LossKind::cross_entropy && !loss.targets.empty())
    node.refuse("targets beside cross_entropy", "a classifier learns labels, not latents");
  return loss;
}

void write_loss(ConfigWriter& writer, const LossConfig& loss) {
  writer.section("loss", [&] { writer.table(loss_table(), loss); });
}

std::vector<ConfigSection> loss_sections() {
  return {{"loss", "", loss_table().rows(), ""}};
}

}  // namespace wellspring
