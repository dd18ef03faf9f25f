// Runs with augmix: generators of several forms and files, with repeats, mixing and resumes.
#include "tests/support/dataset_fixtures.h"
#include "tests/train/trained_rows.h"
#include "tests/train/training_testing.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

const std::string kMixedCopies = "data.augment=[{flip_x: 0.5}, augmix, {erase: 2}]";

/// A formula per pixel, tiles, a canvas of another size, and files.
Settings all_forms(const TemporaryFolder& folder) {
  write_as_npy(folder.path(), labelled_noise(4, 9, 8));
  return {
      "data.sources=[{name: shapes, generator: shapes}, {name: leaves, generator: dead_leaves}, "
      "{name: atoms, generator: visual_atom, params: {render: 64}}, {name: noise, kind: files, "
      "path: " +
          (folder / "x.npy").string() + ", labels: y.npy}]",
      "eval.sources=[]", "train.batch=16"};
}

TEST(AugMixRuns, ChangeImagesAndNothingElse) {
  const TemporaryFolder folder;
  const auto rows = [&](const std::string& augment) {
    const Settings own = with(all_forms(folder), {augment, "data.sources.0.repeats=2"});
    return trained_rows(small_run("unused", own), single_rank(), 3);
  };
  const auto plain = rows("data.augment=[{flip_x: 0.5}, {erase: 2}]"), mixed = rows(kMixedCopies);
  EXPECT_EQ(rows("data.augment=[{flip_x: 0.5}, augmix: {probability: 0}, {erase: 2}]"), plain);
  ASSERT_EQ(mixed.size(), plain.size());
  constexpr std::size_t kImage = 8 * 8 * 3 * sizeof(float);
  for (std::size_t row = 0; row < mixed.size(); ++row) {
    EXPECT_NE(mixed[row].substr(0, kImage), plain[row].substr(0, kImage)) << row;
    EXPECT_EQ(mixed[row].substr(kImage), plain[row].substr(kImage)) << row;
  }
}

// The same state for graphs, threads and resumes.
TEST(AugMixRuns, AreReproducible) {
  const TemporaryFolder folder;
  const auto config = [&](const std::string& name, const Settings& more) {
    return small_run(folder / name, with(with(all_forms(folder), {kMixedCopies, "train.steps=8",
                                                                  "train.checkpoint_every=4",
                                                                  "data.mix={mixup: 0.8}"}),
                                         more));
  };
  const auto whole = end_state(config("whole", {"train.graph=on"}), quick());
  EXPECT_EQ(end_state(config("check", {"train.graph=check", "threads=2"}), quick()), whole);
  const ResumeChoice from{ResumeChoice::Kind::path, folder / "whole/checkpoints/step-4"};
  EXPECT_EQ(end_state(config("resumed", {}), quick(from)), whole);
}

}  // namespace
}  // namespace wellspring::test
