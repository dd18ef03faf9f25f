// The `optimizer` section of a configuration: the update rule and the learning-rate schedule. Used
// by run configurations and the trainer; host only.
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "train/network/parameter_policy.h"
#include "train/optimizer/learning_rate.h"
#include "train/optimizer/optimizer.h"

#include <cstdint>
#include <vector>

namespace wellspring {

struct OptimizerConfig {
  ops::OptimizerSpec spec;
  double lr = 1e-3;      ///< peak learning rate
  double warmup = 0.05;  ///< fraction of the run
  double floor = 0;      ///< fraction of the peak, at the end of the schedule
  ops::ScheduleKind schedule = ops::ScheduleKind::cosine;
  double start = 0.04;                  ///< one_cycle: fraction of the peak
  double cooldown = 0;                  ///< constant: fraction of the run
  std::vector<double> milestones = {};  ///< step: fractions of the run
  double gamma = 0.1;                   ///< step
  std::vector<ParameterRule> parameters = {};
};

/// Errors (config). Only the network can check whether the rules of `parameters` fit.
OptimizerConfig read_optimizer(const ConfigNode& node);
/// Error (config) if a rule unfreezes parameters only after the run.
void expect_unfrozen_within(std::int64_t steps, const OptimizerConfig& optimizer);
void write_optimizer(ConfigWriter& writer, const OptimizerConfig& optimizer);
std::vector<ConfigSection> optimizer_sections();

}  // namespace wellspring
