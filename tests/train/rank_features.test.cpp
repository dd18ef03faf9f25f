// Ranks share the caches of a node.
#include "tests/train/several_ranks.h"

namespace wellspring::test {
namespace {

// Pairs of a cache: mixing, repeats, ranks that share it, and a resume with another one.
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
    EXPECT_EQ(slurp(folder / "resumed/checkpoints/step-14/model.safetensors"),
              slurp(folder / "plain/checkpoints/step-14/model.safetensors"));
    fs::remove_all(folder / "cached");
    fs::remove_all(folder / "resumed");
  }
}

}  // namespace
}  // namespace wellspring::test
