#include "train/config/optimizer_config.h"

#include "train/optimizer/optimizer.h"

#include <algorithm>

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

/// A rule with all its settings; those that a file leaves out have no effect.
struct FullRule {
  std::string match;
  float lr_scale = 1, weight_decay = 0;
  bool frozen = false;
};

const ParamTable<FullRule>& rule_table() {
  static const auto table =
      ParamTable<FullRule>("rule for parameters")
          .text("match", &FullRule::match,
                "shell pattern (*, ?, [abc]) of the parameters' names, such as stage0.*; if "
                "several matching rules give a setting, the last one wins")
          .required()
          .real("lr_scale", &FullRule::lr_scale, {0, 1000}, "", "factor of the learning rate")
          .real("weight_decay", &FullRule::weight_decay, {0, 10}, "",
                "weight decay, also of vectors")
          .flag("frozen", &FullRule::frozen,
                "keep the initial values; a batch norm whose weight and bias are frozen uses its "
                "running statistics, which then stay unchanged");
  return table;
}

ParameterRule read_rule(const ConfigNode& node) {
  const FullRule full = node.read(rule_table());
  ParameterRule rule{.match = full.match, .place = node.location()};
  if (node.has("lr_scale")) rule.lr_scale = full.lr_scale;
  if (node.has("weight_decay")) rule.weight_decay = full.weight_decay;
  if (node.has("frozen")) rule.frozen = full.frozen;
  node.finish();  // an unknown key could be the only setting
  if (!rule.lr_scale && !rule.weight_decay && !rule.frozen)
    node.refuse("the rule has no effect", "it has none of lr_scale, weight_decay, frozen",
                "give one of them, or remove the rule");
  return rule;
}

void write_rule(ConfigWriter& writer, const ParameterRule& rule) {
  const FullRule full{rule.match, rule.lr_scale.value_or(1), rule.weight_decay.value_or(0),
                      rule.frozen.value_or(false)};
  writer.table(rule_table(), full,
               {rule.lr_scale ? "" : "lr_scale", rule.weight_decay ? "" : "weight_decay",
                rule.frozen ? "" : "frozen"});
}

}  // namespace

OptimizerConfig read_optimizer(const ConfigNode& node) {
  OptimizerConfig optimizer = node.read(optimizer_table());
  node.read(optimizer_spec_table(), optimizer.spec);
  if (optimizer.spec.nesterov && optimizer.spec.momentum == 0)
    node.refuse("nesterov needs a momentum above 0", "it looks ahead along the momentum");
  for (const ConfigNode& rule : node.list("parameters"))
    optimizer.parameters.push_back(read_rule(rule));
  return optimizer;
}

void write_optimizer(ConfigWriter& writer, const OptimizerConfig& optimizer) {
  writer.section("optimizer", [&] {
    writer.table(optimizer_spec_table(), optimizer.spec);
    writer.table(optimizer_table(), optimizer);
    writer.section("parameters", [&] {
      for (std::size_t i = 0; i < optimizer.parameters.size(); ++i)
        writer.element(i, [&] { write_rule(writer, optimizer.parameters[i]); });
    });
  });
}

std::vector<ConfigSection> optimizer_sections() {
  std::vector<ParamRow> rows = optimizer_spec_table().rows();
  for (ParamRow& row : optimizer_table().rows()) rows.push_back(std::move(row));
  std::vector<ParamRow> of_rules = rule_table().rows();
  std::ranges::find(of_rules, "weight_decay", &ParamRow::name)->default_text =
      "optimizer.weight_decay for matrices, 0 for vectors";
  return {{"optimizer", "", rows, ""}, {"optimizer.parameters[]", "", of_rules, ""}};
}

}  // namespace wellspring
