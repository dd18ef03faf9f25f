#include "train/config/optimizer_config.h"

#include "train/optimizer/optimizer.h"

namespace wellspring {
namespace {

const ParamTable<ops::OptimizerSpec>& optimizer_spec_table() {
  using Spec = ops::OptimizerSpec;
  static const auto table =
      ParamTable<Spec>("optimizer")
          .choice("kind", &Spec::kind,
                  {{"sgd", ops::OptimizerKind::sgd}, {"adamw", ops::OptimizerKind::adamw}},
                  "update rule", "AdamW: Loshchilov & Hutter 2019, algorithm 2")
          .real("momentum", &Spec::momentum, {0, 0.9999}, "", "(sgd) momentum; 0: plain SGD")
          .flag("nesterov", &Spec::nesterov, "(sgd) Nesterov momentum", "Sutskever et al. 2013")
          .real("beta1", &Spec::beta1, {0, 0.9999}, "", "(adamw) decay of the first moment")
          .real("beta2", &Spec::beta2, {0, 0.99999}, "", "(adamw) decay of the second moment")
          .real("epsilon", &Spec::epsilon, {1e-12, 1}, "",
                "(adamw) added to the square root of the second moment")
          .real("weight_decay", &Spec::weight_decay, {0, 10}, "",
                "weight decay of matrices; decoupled for adamw, added to the gradient for sgd");
  return table;
}

const ParamTable<OptimizerConfig>& optimizer_table() {
  static const auto table =
      ParamTable<OptimizerConfig>("optimizer")
          .real("lr", &OptimizerConfig::lr, {0, 1000}, "", "peak learning rate")
          .real("warmup", &OptimizerConfig::warmup, {0, 1}, "of the run",
                "length of the linear warm-up from 0")
          .real("floor", &OptimizerConfig::floor, {0, 1}, "of the peak",
                "learning rate at the end of the cosine", "Loshchilov & Hutter 2017, equation 5");
  return table;
}

}  // namespace

OptimizerConfig read_optimizer(const ConfigNode& node) {
  OptimizerConfig optimizer = node.read(optimizer_table());
  node.read(optimizer_spec_table(), optimizer.spec);
  if (optimizer.spec.nesterov && optimizer.spec.momentum == 0)
    node.refuse("nesterov needs a momentum above 0", "it looks ahead along the momentum");
  return optimizer;
}

void write_optimizer(ConfigWriter& writer, const OptimizerConfig& optimizer) {
  writer.section("optimizer", [&] {
    writer.table(optimizer_spec_table(), optimizer.spec);
    writer.table(optimizer_table(), optimizer);
  });
}

std::vector<ConfigSection> optimizer_sections() {
  std::vector<ParamRow> rows = optimizer_spec_table().rows();
  for (ParamRow& row : optimizer_table().rows()) rows.push_back(std::move(row));
  return {{"optimizer", "", rows, ""}};
}

}  // namespace wellspring
