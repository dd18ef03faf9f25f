#include "train/config/optimizer_config.h"

#include "core/text/plural.h"
#include "train/optimizer/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

std::vector<std::pair<std::string, ops::OptimizerKind>> optimizer_names() {
  std::vector<std::pair<std::string, ops::OptimizerKind>> names;
  for (const ops::OptimizerRow& row : ops::kOptimizers) names.emplace_back(row.name, row.kind);
  return names;
}

const ParamTable<ops::OptimizerSpec>& optimizer_spec_table() {
  using Spec = ops::OptimizerSpec;
  static const auto table =
      ParamTable<Spec>("optimizer")
          .choice("kind", &Spec::kind, optimizer_names(), "update rule",
                  "AdamW: Loshchilov & Hutter 2019, algorithm 2; Lion: Chen et al. 2023; LAMB: You "
                  "et al. 2020; LARS: You et al. 2017")
          .real("momentum", &Spec::momentum, {0, 0.9999}, "", "(sgd, lars) momentum; 0: none")
          .flag("nesterov", &Spec::nesterov, "(sgd, lars) Nesterov momentum",
                "Sutskever et al. 2013")
          .real(
              "beta1", &Spec::beta1, {0, 0.9999}, "",
              "(adamw, lamb) decay of the first moment; (lion) share of the momentum in the update")
          .real(
              "beta2", &Spec::beta2, {0, 0.99999}, "",
              "(adamw, lamb) decay of the second moment; (lion) decay of the momentum, by default "
              "0.99")
          .real("epsilon", &Spec::epsilon, {1e-12, 1}, "",
                "(adamw, lamb) added to the square root of the second moment, for lamb by default "
                "1e-6; (lars) added to the norm of the gradient")
          .real("weight_decay", &Spec::weight_decay, {0, 10}, "",
                "weight decay of matrices; decoupled for adamw and lion, added to the update for "
                "lamb, added to the gradient for sgd and lars");
  return table;
}

/// Further settings. A setting that a file omits has no effect and is not written.
const ParamTable<ops::OptimizerSpec>& further_table() {
  using Spec = ops::OptimizerSpec;
  static const auto table =
      ParamTable<Spec>("optimizer")
          .real(
              "trust_coefficient", &Spec::trust_coefficient, {0, 1000}, "",
              "(lars) learning rate relative to the ratio of a tensor's weight and gradient norms",
              "timm; You et al. 2017, equation 6")
          .real("layer_decay", &Spec::layer_decay, {0.01, 1}, "",
                "factor of the learning rate from each block of the network to the one before it; "
                "1: all blocks learn at the same rate",
                "Bao et al. 2022 (BEiT); timm's param_groups_layer_decay")
          .real("agc", &Spec::agc, {0, 100}, "",
                "adaptive gradient clipping: largest norm of a unit's gradient relative to its "
                "weights, before train.clip; 0: none",
                "Brock et al. 2021, equation 3");
  return table;
}

const ParamTable<OptimizerConfig>& optimizer_table() {
  static const auto table =
      ParamTable<OptimizerConfig>("optimizer")
          .real("lr", &OptimizerConfig::lr, {0, 1000}, "", "peak learning rate")
          .real("warmup", &OptimizerConfig::warmup, {0, 1}, "of the run",
                "length of the linear warm-up from 0")
          .real("floor", &OptimizerConfig::floor, {0, 1}, "of the peak",
                "learning rate at the end of the schedule", "Loshchilov & Hutter 2017, equation 5");
  return table;
}

/// The schedule after the warm-up. The default, a cosine, is not written.
const ParamTable<OptimizerConfig>& schedule_table() {
  using Config = OptimizerConfig;
  using Kind = ops::ScheduleKind;
  static const auto table =
      ParamTable<Config>("optimizer")
          .choice(
              "schedule", &Config::schedule,
              {{"cosine", Kind::cosine},
               {"linear", Kind::linear},
               {"step", Kind::step},
               {"one_cycle", Kind::one_cycle},
               {"constant", Kind::constant}},
              "learning rate after the warm-up; cosine, linear: down to floor at the end of the "
              "run; step: times gamma at each of the milestones; one_cycle: a cosine from start "
              "to the peak as warm-up, then one down to floor; constant: the peak, then linear "
              "to floor during cooldown",
              "Smith & Topin 2018: one_cycle; Zhai et al. 2022, section 3.5: constant")
          .real_list("milestones", &Config::milestones, {0, 1}, "of the run",
                     "(step) times of the steps, increasing, after the warm-up")
          .real("gamma", &Config::gamma, {0, 1}, "",
                "(step) factor of the learning rate at each milestone", "0.1 as in PyTorch")
          .real("start", &Config::start, {0, 1}, "of the peak",
                "(one_cycle) learning rate of the first step", "1 / 25 as in PyTorch")
          .real("cooldown", &Config::cooldown, {0, 1}, "of the run",
                "(constant) length of the linear decrease at the end of the run");
  return table;
}

bool decreases_to_floor(const OptimizerConfig& optimizer) {
  return optimizer.schedule != ops::ScheduleKind::step &&
         (optimizer.schedule != ops::ScheduleKind::constant || optimizer.cooldown > 0);
}

void check_schedule(const ConfigNode& node, const OptimizerConfig& optimizer) {
  using Kind = ops::ScheduleKind;
  const std::vector<double>& at = optimizer.milestones;
  const auto only_for = [&](Kind kind, const char* name, const char* key) {
    if (optimizer.schedule != kind && node.has(key))
      node.at(key).refuse(fmt::format("{} does not apply to this schedule", key), "",
                          fmt::format("remove it, or set schedule: {}", name));
  };
  only_for(Kind::step, "step", "milestones");
  only_for(Kind::step, "step", "gamma");
  only_for(Kind::one_cycle, "one_cycle", "start");
  only_for(Kind::constant, "constant", "cooldown");
  if (!decreases_to_floor(optimizer) && node.has("floor"))
    node.at("floor").refuse("floor has no effect", "the learning rate does not decrease to it",
                            optimizer.schedule == Kind::step
                                ? "remove it; gamma and milestones set the learning rates"
                                : "remove it, or set cooldown");
  if (optimizer.warmup + optimizer.cooldown > 1)
    node.refuse(fmt::format("warmup {} and cooldown {}", optimizer.warmup, optimizer.cooldown),
                "together they are longer than the run", "shorten one of them");
  if (optimizer.schedule != Kind::step) return;
  if (at.empty() || at.size() > ops::ScheduleSpec::kMostMilestones)
    node.refuse(fmt::format("schedule step with {}", counted(at.size(), "milestone")),
                fmt::format("it needs 1 to {}", ops::ScheduleSpec::kMostMilestones),
                "for example milestones: [0.5, 0.75]");
  if (!std::ranges::is_sorted(at, std::less_equal<>()) || at.front() < optimizer.warmup ||
      at.back() == 1)
    node.at("milestones")
        .refuse("the milestones are not increasing from the warm-up to the end of the run", "",
                "for example milestones: [0.5, 0.75]");
}

/// The largest number of steps; a double represents all smaller integers exactly.
constexpr double kMostSteps = 0x1p53;

/// A rule with all its settings; settings that a file omits have no effect.
struct FullRule {
  std::string match;
  float lr_scale = 1, weight_decay = 0;
  bool frozen = false;
  std::uint64_t unfreeze_at = 1;
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
                "running statistics, which then stay unchanged")
          .integer("unfreeze_at", &FullRule::unfreeze_at, {1, kMostSteps}, "steps",
                   "frozen for this many steps, then trained");
  return table;
}

ParameterRule read_rule(const ConfigNode& node) {
  const FullRule full = node.read(rule_table());
  ParameterRule rule{.match = full.match, .place = node.location()};
  if (node.has("lr_scale")) rule.lr_scale = full.lr_scale;
  if (node.has("weight_decay")) rule.weight_decay = full.weight_decay;
  if (node.has("frozen")) rule.frozen = full.frozen;
  if (node.has("unfreeze_at")) rule.unfreeze_at = full.unfreeze_at;
  node.finish();  // before the next check: an unknown key could be the only setting
  if (!rule.lr_scale && !rule.weight_decay && !rule.frozen && !rule.unfreeze_at)
    node.refuse("the rule has no effect",
                "it has none of lr_scale, weight_decay, frozen, unfreeze_at",
                "give one of them, or remove the rule");
  if (rule.unfreeze_at && rule.frozen == false)
    node.refuse("frozen: false with unfreeze_at", "unfreeze_at freezes the first steps",
                "remove one of the two");
  return rule;
}

void write_rule(ConfigWriter& writer, const ParameterRule& rule) {
  const FullRule full{rule.match, rule.lr_scale.value_or(1), rule.weight_decay.value_or(0),
                      rule.frozen.value_or(false), rule.unfreeze_at.value_or(1)};
  writer.table(rule_table(), full,
               {rule.lr_scale ? "" : "lr_scale", rule.weight_decay ? "" : "weight_decay",
                rule.frozen ? "" : "frozen", rule.unfreeze_at ? "" : "unfreeze_at"});
}

}  // namespace

OptimizerConfig read_optimizer(const ConfigNode& node) {
  OptimizerConfig optimizer = node.read(optimizer_table());
  ops::OptimizerSpec& spec = optimizer.spec;
  node.read(optimizer_spec_table(), spec);
  node.read(further_table(), spec);
  node.read(schedule_table(), optimizer);
  check_schedule(node, optimizer);
  if (!node.has("beta2")) spec.beta2 = spec.row().beta2;
  if (!node.has("epsilon")) spec.epsilon = spec.row().epsilon;
  if (node.has("trust_coefficient") && spec.kind != ops::OptimizerKind::lars)
    node.at("trust_coefficient")
        .refuse(fmt::format("trust_coefficient does not apply to {}", spec.row().name),
                "only lars has one", "remove it, or set kind: lars");
  const bool has_momentum =
      spec.kind == ops::OptimizerKind::sgd || spec.kind == ops::OptimizerKind::lars;
  if (spec.nesterov && !has_momentum)
    node.refuse(fmt::format("nesterov does not apply to {}", spec.row().name),
                "only sgd and lars have a Nesterov momentum", "remove it, or set kind: sgd");
  if (spec.nesterov && spec.momentum == 0)
    node.refuse("nesterov needs a momentum above 0", "it looks ahead along the momentum");
  for (const ConfigNode& rule : node.list("parameters"))
    optimizer.parameters.push_back(read_rule(rule));
  return optimizer;
}

void expect_unfrozen_within(std::int64_t steps, const OptimizerConfig& optimizer) {
  for (const ParameterRule& rule : optimizer.parameters)
    if (rule.unfreeze_at && *rule.unfreeze_at >= static_cast<std::uint64_t>(steps))
      fail(ErrorKind::config, {fmt::format("{}unfreeze_at: {}: the run has {}", rule.place.prefix(),
                                           *rule.unfreeze_at, counted(steps, "step")),
                               "no step would train these parameters",
                               "use a smaller unfreeze_at, or set frozen: true"});
}

void write_optimizer(ConfigWriter& writer, const OptimizerConfig& optimizer) {
  writer.section("optimizer", [&] {
    writer.table(optimizer_spec_table(), optimizer.spec);
    writer.table(optimizer_table(), optimizer, {decreases_to_floor(optimizer) ? "" : "floor"});
    const auto unless = [&](ops::ScheduleKind kind, const char* key) {
      return optimizer.schedule == kind ? "" : key;
    };
    writer.table(schedule_table(), optimizer,
                 {
                     optimizer.schedule == ops::ScheduleKind::cosine ? "schedule" : "",
                     unless(ops::ScheduleKind::step, "milestones"),
                     unless(ops::ScheduleKind::step, "gamma"),
                     unless(ops::ScheduleKind::one_cycle, "start"),
                     unless(ops::ScheduleKind::constant, "cooldown"),
                 });
    const ops::OptimizerSpec& spec = optimizer.spec;
    writer.table(further_table(), spec,
                 {spec.kind == ops::OptimizerKind::lars ? "" : "trust_coefficient",
                  spec.layer_decay == 1 ? "layer_decay" : "", spec.agc == 0 ? "agc" : ""});
    writer.section("parameters", [&] {
      for (std::size_t i = 0; i < optimizer.parameters.size(); ++i)
        writer.element(i, [&] { write_rule(writer, optimizer.parameters[i]); });
    });
  });
}

std::vector<ConfigSection> optimizer_sections() {
  std::vector<ParamRow> rows = optimizer_spec_table().rows();
  for (ParamRow& row : optimizer_table().rows()) rows.push_back(std::move(row));
  for (ParamRow& row : schedule_table().rows()) rows.push_back(std::move(row));
  for (ParamRow& row : further_table().rows()) rows.push_back(std::move(row));
  std::vector<ParamRow> of_rules = rule_table().rows();
  std::ranges::find(of_rules, "weight_decay", &ParamRow::name)->default_text =
      "optimizer.weight_decay for matrices, 0 for vectors";
  return {{"optimizer", "", rows, ""}, {"optimizer.parameters[]", "", of_rules, ""}};
}

}  // namespace wellspring
