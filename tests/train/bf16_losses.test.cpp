// Ten losses of small networks on a CPU, in f32 and bf16, compared with stored values.
#include "kernels/runtime/dtype.h"
#include "tests/ops/operation_test.h"
#include "tests/train/model_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

struct StoredLosses {
  const char* run;  ///< name in model_runs()
  std::vector<double> f32, bf16;
};

std::vector<StoredLosses> stored_losses() {
  return {
      {"vit with a mean",
       {1.224693, 1.236484, 1.220782, 1.186038, 1.219943, 1.206483, 1.190647, 1.197990, 1.192281,
        1.280133},
       {1.224615, 1.236407, 1.220632, 1.186250, 1.219579, 1.206591, 1.190879, 1.197837, 1.191737,
        1.280319}},
      {"convnext",
       {1.257510, 1.240955, 1.221581, 1.241272, 1.228972, 1.137855, 1.187631, 1.266924, 1.170352,
        1.332876},
       {1.257467, 1.240761, 1.221401, 1.241928, 1.229099, 1.137514, 1.187612, 1.267484, 1.170667,
        1.332876}},
      {"unet",
       {1.886597, 1.821195, 1.216820, 1.019710, 1.265594, 1.109652, 0.967455, 1.008664, 1.172367,
        0.984407},
       {1.885762, 1.820550, 1.217486, 1.020933, 1.264310, 1.109906, 0.968635, 1.008947, 1.172080,
        0.984527}},
  };
}

std::vector<double> ten_losses(const std::string& name, const std::string& precision) {
  const std::vector<ModelRun> runs = model_runs();
  const auto found = std::ranges::find(runs, name, &ModelRun::name);
  if (found == runs.end()) throw std::logic_error(name);
  const ModelRun& run = *found;
  Listener listener;
  Trainer(small_run("unused", with(run.settings, {"device=cpu", "precision=" + precision,
                                                  "train.steps=10", "train.log_every=1"})),
          listener, in_memory())
      .run();
  std::vector<double> losses;
  for (const StepReport& step : listener.steps) losses.push_back(step.loss);
  return losses;
}

// Processors add products in different orders, so a value may round to the other of two neighbours
// in bf16, and the bytes of a run are equal on one kind of processor only. The runs in f32 and bf16
// have the same draws and differ by the roundings to bf16. Elsewhere, the run in bf16 has roundings
// with the same number and size, so it is about as far from the run in f32. Both distances add up,
// and a factor of 2 allows for random growth. Two losses may agree by chance, so the smallest
// distance is one rounding of logits of 1/2, with random signs in the 8 rows.
TEST(Bf16Losses, AgreeWithStoredValuesOnAnyProcessor) {
  const double first = 0.5 * ops::test::rounding(DType::bf16) / std::sqrt(8);
  for (const StoredLosses& stored : stored_losses()) {
    const std::vector<double> f32 = ten_losses(stored.run, "f32");
    const std::vector<double> bf16 = ten_losses(stored.run, "bf16");
    SCOPED_TRACE(fmt::format("{}\n f32: {:.6f}\nbf16: {:.6f}", stored.run, fmt::join(f32, ", "),
                             fmt::join(bf16, ", ")));
    EXPECT_EQ(f32.size(), stored.f32.size());
    EXPECT_EQ(bf16.size(), stored.bf16.size());
    EXPECT_NE(bf16, f32);
    double distance = first;
    for (std::size_t i = 0; i < std::min(bf16.size(), stored.bf16.size()); ++i) {
      distance = std::max(distance, std::abs(stored.bf16[i] - stored.f32[i]));
      EXPECT_NEAR(bf16[i], stored.bf16[i], 4 * distance) << "bf16, step " << i + 1;
      EXPECT_NEAR(f32[i], stored.f32[i], 4 * distance) << "f32, step " << i + 1;
    }
  }
}

}  // namespace
}  // namespace wellspring::test
