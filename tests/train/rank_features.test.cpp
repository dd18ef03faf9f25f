// Ranks share the caches of a node and, if configured, the statistics of batch norms.
#include "tests/train/several_ranks.h"

#include <cmath>

namespace wellspring::test {
namespace {

// Mixing and repeats with a cache that ranks share, and a resume with another cache.
TEST_F(Ranks, GiveEqualBitsWithAnyCache) {
  const auto cached = [&](const std::string& cache, const std::string& out) {
    return config(kPictures, {"data.sources.1.cache=" + cache}, out);
  };
  const RankEnds plain = train(config(kPictures, {}, "plain"), 3, quick());
  const std::string tiers =
      "[{tier: shm, rows: encoded, fraction: 0.4}, {tier: disk, path: " + folder.path().string() +
      ", fraction: 0.4}]";
  for (const std::string& cache : {std::string("[{tier: shm}]"), tiers}) {
    EXPECT_EQ(train(cached(cache, "cached"), 3, quick()).states, plain.states) << cache;
    const fs::path middle = folder / "plain/checkpoints/step-6";
    train(cached(cache, "resumed"), 3, quick(ResumeChoice::parse(middle.string())));
    EXPECT_EQ(weights_of(folder / "resumed/checkpoints/step-14"),
              weights_of(folder / "plain/checkpoints/step-14"));
    fs::remove_all(folder / "cached");
    fs::remove_all(folder / "resumed");
  }
}

// All ranks have bit-identical statistics of the whole batch. After one step from the same weights,
// the loss of the second step differs from a single rank's loss only by rounding. The network has
// batch norms with fewer than 2^10 rows each, and rounding errors grow by a factor of order 2^4 in
// each layer.
TEST_F(Ranks, CanShareTheStatisticsOfBatchNorms) {
  const Settings settings = {"model={name: resnet20}", "train.steps=2",
                             "train.log_every=1",      "train.checkpoint_every=0",
                             "eval.sources=[]",        "train.sync_batch_norm=true"};
  const RankEnds one = train(config(kPictures, settings), 1);
  Settings apart = settings;
  apart.back() = "train.sync_batch_norm=false";
  for (const int ranks : {2, 3}) {
    const RankEnds ends = train(config(kPictures, with(settings, {"train.graph=check"})), ranks);
    const RankEnds own = train(config(kPictures, apart), ranks);
    const auto loss = [](const RankEnds& of) { return of.listeners[0].steps.at(1).loss; };
    EXPECT_NEAR(loss(ends), loss(one), 0x1p14 * kRounding);
    EXPECT_GT(std::abs(loss(own) - loss(one)), 0x1p16 * kRounding) << "the bound means something";
  }
}

}  // namespace
}  // namespace wellspring::test
