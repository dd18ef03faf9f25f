// Trains, evaluates and resumes on one file with a held-out fraction of its rows, with both kinds
// of storage, and with arrays kept in memory.
#include "tests/support/dataset_fixtures.h"
#include "tests/support/image_fixtures.h"
#include "tests/support/npz_fixtures.h"
#include "tests/train/training_testing.h"

#include <cmath>

namespace wellspring::test {
namespace {

TEST(TrainerTest, HoldsOutAFractionOfAFile) {
  const TemporaryFolder folder;
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (int i = 0; i < 200; ++i) {
    y.push_back(i / 100);  // sorted by class
    for (int k = 0; k < 3; ++k)
      x.push_back(std::sin(static_cast<float>(3 * i + k)) + static_cast<float>(4 * y.back()));
  }
  test::write_compressed_npz(folder / "a.npz", {{"x", npy_file({ElementType::f32, {200, 3}}, x)},
                                                {"label", npy_file({ElementType::i64, {200}}, y)}});
  const auto run = [&](const std::string& out, const std::string& storage) {
    return RunConfig::parse(
        "name: a\ndevice: cpu\nthreads: 1\ndata: {sources: [{name: real, kind: "
        "files, path: " +
            (folder / "a.npz").string() + ", storage: " + storage +
            "}]}\neval: {sources: [{of: real, fraction: 0.25}]}\nmodel: {name: "
            "mlp, widths: [8]}\noptimizer: {lr: 0.05}\n"
            "train: {batch: 16, steps: 40, log_every: 4}\n",
        "a.yaml", std::vector<std::string>{"out=" + (folder / out).string()});
  };
  Listener listener;
  Trainer whole(run("resident", "resident"), listener, quick());
  const FinishReport finish = whole.run();
  const EvaluationResult& result = finish.evaluation->results[0];
  EXPECT_NEAR(static_cast<double>(result.samples), 50, 37);  // binomial, six standard deviations
  EXPECT_EQ(result.trained_on, 0u);
  EXPECT_EQ(*result.accuracy, 1) << "both classes are in both parts";
  {
    const SignalGuard guard;
    Listener stopper;
    stopper.interrupt_at = 12;
    Trainer first(run("streamed", "streamed"), stopper, quick());
    EXPECT_EQ(first.run().status, RunStatus::interrupted);
  }
  Trainer second(run("streamed", "streamed"), listener, quick());
  EXPECT_GT(second.step(), 0u);
  second.run();
  EXPECT_EQ(second.state_bytes(), whole.state_bytes());
}

// Images on a canvas and images of the network's size have different bytes.
TEST(TrainerTest, DoesNotReportAnOverlapOfImagesThatItCannotCompare) {
  const TemporaryFolder folder;
  write_as_folder(folder / "photos", labelled_noise(2, 3, 8));
  write_as_folder(folder / "held", labelled_noise(2, 3, 8));
  const auto trained_on = [&](const std::string& held_out) {
    Listener listener;
    Trainer trainer(
        RunConfig::parse(
            "name: a\ndevice: cpu\nthreads: 1\ndata: {size: 8, root: " + folder.path().string() +
                ", sources: [{name: photos, kind: files, path: photos, canvas: 16}]}\n"
                "eval: {sources: [{of: photos, " +
                held_out + "}]}\nmodel: {name: mlp, widths: [4]}\ntrain: {batch: 4, steps: 1}\n",
            "a.yaml", std::vector<std::string>{"out=" + (folder / "run").string()}),
        listener, in_memory());
    return trainer.run().evaluation->results[0].trained_on;
  };
  EXPECT_EQ(trained_on("path: held"), 6u);
  EXPECT_FALSE(trained_on("path: held, canvas: 0").has_value());
  expect_parts(message_of(ErrorKind::data, [&] { trained_on("canvas: 0"); }),
               {"held-out source 'photos'", "is also trained on"});
}

// The second training source shares no image with the held-out data.
TEST(TrainerTest, ReportsTheLargestOverlapOfItsSources) {
  const TemporaryFolder folder;
  LabelledImages images = labelled_noise(2, 3, 8);
  write_as_folder(folder / "same", images);
  write_as_folder(folder / "held", images);
  for (std::size_t i = 0; i < images.rgb.size(); ++i)
    images.rgb[i] = noise_rgb(8, 8, 50'000 + static_cast<std::uint32_t>(i));
  write_as_folder(folder / "other", images);
  Listener listener;
  Trainer trainer(
      RunConfig::parse(
          "name: a\ndevice: cpu\nthreads: 1\ndata: {size: 8, root: " + folder.path().string() +
              ", sources: [{name: same, kind: files, path: same}, {name: other, kind: "
              "files, path: other, head: same}]}\n"
              "eval: {sources: [{of: same, path: held}]}\nmodel: {name: mlp, widths: "
              "[4]}\ntrain: {batch: 4, steps: 1}\n",
          "a.yaml", std::vector<std::string>{"out=" + (folder / "run").string()}),
      listener, quick());
  EXPECT_EQ(trainer.run().evaluation->results[0].trained_on, 6u);
}

}  // namespace
}  // namespace wellspring::test
