// Steps that take the batch through the network in several passes: the same samples, and the same
// weights up to rounding.
#include "core/io/safetensors.h"
#include "tests/support/rank_group.h"
#include "tests/train/trained_rows.h"
#include "tests/train/training_testing.h"

#include <cmath>

namespace wellspring::test {
namespace {

/// Mixed, augmented and repeated samples.
const Settings kMixed = {"train.batch=32", "data.mix={mixup: 0.8, cutmix: 1, probability: 0.8}",
                         "data.augment=[flip_x: 0.5]", "data.sources.0.repeats=2"};

TEST(Accumulation, TakesTheSamplesOfTheWholeBatch) {
  const auto rows = trained_rows(small_run("unused", kMixed), single_rank(), 3);
  for (const char* passes : {"train.accumulate=2", "train.accumulate=4"})
    EXPECT_EQ(trained_rows(small_run("unused", with(kMixed, {passes})), single_rank(), 3), rows)
        << passes;
  std::vector<std::string> of_ranks[2];
  RankGroup(2).run([&](Communicator& rank) {
    of_ranks[rank.rank()] =
        trained_rows(small_run("unused", with(kMixed, {"train.accumulate=2"})), rank, 3);
  });
  for (std::size_t step = 0; step < 3; ++step)
    for (std::size_t row = 0; row < 32; ++row)
      ASSERT_EQ(of_ranks[row / 16][step * 16 + row % 16], rows[step * 32 + row]) << row;
}

std::vector<float> weights_after(const Settings& settings) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder.path(), settings), listener, quick());
  trainer.run();
  std::vector<float> weights;
  const SafetensorsFile file(folder.path() / "checkpoints/step-3/model.safetensors");
  for (const TensorInfo& info : file.tensors()) {
    std::vector<float> values(info.bytes / sizeof(float));
    file.read(info, std::as_writable_bytes(std::span(values)));
    weights.insert(weights.end(), values.begin(), values.end());
  }
  return weights;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(sum);
}

// A gradient is a sum over the rows and positions of the batch. Passes change only the order of
// additions, in a tree of depth 30 at most. In the norm over all weights, cancellation magnifies
// relative errors by at most 100. SGD propagates errors proportionally.
TEST(Accumulation, GivesTheWeightsOfTheWholeBatchUpToRounding) {
  const Settings sgd =
      with(kMixed, {"optimizer={kind: sgd, lr: 0.05, momentum: 0, warmup: 0}", "train.steps=3"});
  const std::vector<float> start = weights_after(with(sgd, {"optimizer.lr=0"}));
  const std::vector<float> whole = weights_after(sgd);
  const double moved = distance(whole, start);
  EXPECT_GT(moved, 1e-3);
  for (const char* passes : {"train.accumulate=2", "train.accumulate=4"}) {
    const std::vector<float> parts = weights_after(with(sgd, {passes}));
    EXPECT_NE(parts, whole);
    EXPECT_LT(distance(parts, whole), 100 * 30 * 0x1p-24 * moved) << passes;
  }
}

TEST(Accumulation, RefusesBatchesThatItDoesNotDivide) {
  const auto refused = [](const Settings& settings, const std::vector<std::string>& parts) {
    Listener listener;
    expect_parts(message_of(ErrorKind::config,
                            [&] { Trainer(small_run("unused", settings), listener, in_memory()); }),
                 parts);
  };
  refused({"train.accumulate=2"}, {"train.accumulate: 2 passes in 8 rows", "multiple of 8",
                                   "set train.batch to a multiple of 16"});
  refused({"train.accumulate=3", "train.batch=32"}, {"3 passes in 32", "a multiple of 24"});
  expect_parts(message_of(ErrorKind::config, [] { small_run("unused", {"train.accumulate=0"}); }),
               {"accumulate", "out of range"});
}

TEST(Accumulation, NeedsLessMemoryForActivations) {
  Listener listener;
  const auto activations = [&](const Settings& settings) {
    return Trainer(small_run("unused", settings), listener, in_memory()).plan().activations;
  };
  EXPECT_NE(activations({"train.batch=64"}), activations({"train.batch=64", "train.accumulate=4"}));
  EXPECT_EQ(activations({"train.batch=16"}), activations({"train.batch=64", "train.accumulate=4"}));
}

}  // namespace
}  // namespace wellspring::test
