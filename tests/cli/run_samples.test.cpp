// `export`, `preview` and `digest` of configurations, and their interruption: exit codes, messages
// and files.
#include "core/io/npy.h"
#include "tests/cli/command.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <signal.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

/// A generator and files, mixed.
constexpr const char* kMixedRun = R"(name: mixed
device: auto
data:
  size: 12
  augment: [flip_x: 0.5]
  normalise: {mean: [0.5], std: [0.25]}
  sources:
    - {name: shapes, kind: generator, generator: shapes}
    - {name: photos, kind: files, path: x.npy, labels: y.npy, class_names: classes.txt}
eval:
  samples: 9
  sources: [{of: shapes}]
model: {name: mlp, widths: [8]}
train: {batch: 8, steps: 10}
)";

class RunSamples : public testing::Test {
 protected:
  RunSamples() {
    write_as_npy(folder(), labelled_noise(3, 5, 12));
    spill(folder() / "mixed.yaml", kMixedRun);
  }
  fs::path folder() const { return folder_.path(); }
  Outcome run(const std::vector<std::string>& arguments) const {
    return wellspring(arguments, folder());
  }
  nlohmann::json digest(std::vector<std::string> more) const {
    more.insert(more.begin(), {"digest", "mixed.yaml"});
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return nlohmann::json::parse(outcome.out);
  }
  /// The files that the commands wrote.
  std::vector<std::string> written_files() const {
    std::vector<std::string> names = folder_.names();
    for (const char* ours : {"classes.txt", "mixed.yaml", "x.npy", "y.npy"})
      std::erase(names, ours);
    return names;
  }

  TemporaryFolder folder_;
};

// Only the masked patches of generated and stored images are 0, even in repeats.
TEST_F(RunSamples, ExportsTheMasksOfPatches) {
  const Outcome made = run({"export", "mixed.yaml", "--out", "m.npz", "--count", "24",
                            "data.normalise={mean: [2]}", "data.sources.0.repeats=2",
                            "data.augment=[simclr, mask_patches: {patch: 3, ratio: 0.7}]"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const NpyArray images = read_npz(folder() / "m.npz", "x"),
                 masks = read_npz(folder() / "m.npz", "mask");
  EXPECT_EQ(masks.spec.shape, (std::vector<std::int64_t>{24, 16}));
  const float* const x = images.as<float>().data();
  const std::uint8_t* const mask = masks.as<std::uint8_t>().data();
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(std::count(mask + 16 * i, mask + 16 * (i + 1), 1), 11);  // floor(0.7 * 16)
    for (std::size_t p = 0; p < 144; ++p)
      ASSERT_EQ(x[(i * 144 + p) * 3] == 0, mask[16 * i + p / 12 / 3 * 4 + p % 12 / 3] == 1)
          << i << ": " << p;
  }
  // Sources without the operation have empty masks, and held-out samples have no mask.
  ASSERT_EQ(run({"export", "mixed.yaml", "--out", "half.npz", "--count", "80",
                 "data.augment=[mask_patches: {patch: 3}]", "data.sources.1.augment=[]"})
                .exit_code,
            0);
  const NpyArray half = read_npz(folder() / "half.npz", "mask"),
                 source = read_npz(folder() / "half.npz", "source");
  for (std::size_t i = 0; i < 80; ++i) {
    const std::uint8_t* const own = half.as<std::uint8_t>().data() + 16 * i;
    EXPECT_EQ(std::count(own, own + 16, 1), source.as<std::int32_t>()[i] == 0 ? 12 : 0);
  }
  const Outcome held_out = run({"export", "mixed.yaml", "--split", "eval", "--out", "e.npz",
                                "data.augment=[mask_patches: {patch: 3}]"});
  EXPECT_EQ(held_out.exit_code, 0) << held_out.err;
  EXPECT_EQ(held_out.out.find("mask"), std::string::npos) << held_out.out;
  const Outcome mixed = run({"export", "mixed.yaml", "--out", "n.npz", "data.mix={mixup: 0.8}",
                             "data.augment=[mask_patches: {patch: 3}]"});
  EXPECT_EQ(mixed.exit_code, 2);
  expect_parts(mixed.err, {"mask_patches cannot be combined with data.mix"});
}

TEST_F(RunSamples, MakesImagesWithOneChannel) {
  const std::vector<std::string> grey = {"data.channels=1",
                                         "data.sources=[{name: shapes, generator: shapes}]"};
  std::vector<std::string> arguments = {"export", "mixed.yaml", "--out", "g.npz", "--count", "9"};
  arguments.insert(arguments.end(), grey.begin(), grey.end());
  const Outcome made = run(arguments);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(read_npz(folder() / "g.npz", "x").spec.shape,
            (std::vector<std::int64_t>{9, 12, 12, 1}));
  arguments = {"train", "mixed.yaml", "out=r"};
  arguments.insert(arguments.end(), grey.begin(), grey.end());
  const Outcome trained = run(arguments);
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  const Outcome mixed = run({"export", "mixed.yaml", "--out", "c.npz", "data.channels=1"});
  EXPECT_EQ(mixed.exit_code, 3);
  expect_parts(mixed.err, {"source 'photos'", "3 channels", "data.channels is 1"});
}

TEST_F(RunSamples, ExportsBothSources) {
  const Outcome outcome = run({"export", "mixed.yaml", "--count", "21", "--out", "a.npz"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "a.npz: 21 samples of mixed as network inputs, steps 0 to 2, arrays x, label, "
            "latents, weight, source, sample, location, metadata\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(written_files(), std::vector<std::string>{"a.npz"});
  const fs::path path = folder() / "a.npz";
  EXPECT_EQ(read_npz(path, "x").spec.shape, (std::vector<std::int64_t>{21, 12, 12, 3}));
  const NpyArray source = read_npz(path, "source"), sample = read_npz(path, "sample");
  std::vector<std::int64_t> ids;  // samples of shapes, in any order within a batch
  int photos = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    if (source.as<std::int32_t>()[i] == 0) ids.push_back(sample.as<std::int64_t>()[i]);
    photos += source.as<std::int32_t>()[i] == 1 ? 1 : 0;
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(photos, 8);
  EXPECT_EQ(ids, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(RunSamples, ExportsMixedBatchesWithTheirTargets) {
  const Outcome outcome = run({"export", "mixed.yaml", "data.mix={mixup: 1, cutmix: 1}", "--count",
                               "21", "--out", "a.npz"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_parts(outcome.out, {"arrays x, label, target, latents"});
  const NpyArray target = read_npz(folder() / "a.npz", "target");
  ASSERT_EQ(target.spec.shape, (std::vector<std::int64_t>{21, 10}));  // shapes has 10 classes
  int soft = 0;
  for (std::size_t row = 0; row < 21; ++row) {
    float sum = 0;
    for (const float share : target.as<float>().subspan(10 * row, 10)) {
      sum += share;
      soft += share > 0 && share < 1 ? 1 : 0;
    }
    EXPECT_NEAR(sum, 1, 1.2e-7);  // two shares, each rounded to f32
  }
  EXPECT_GT(soft, 0);
}

// The rows must depend neither on the count, which may end inside a batch, nor on the first step.
TEST_F(RunSamples, ExportsTheSameRowsInParts) {
  const auto x = [&](const std::string& count, const std::string& step) {
    const std::string file = "part" + count + "-" + step + ".npz";
    const Outcome outcome =
        run({"export", "mixed.yaml", "--count", count, "--step", step, "--out", file});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const NpyArray array = read_npz(folder() / file, "x");
    return std::vector<float>(array.as<float>().begin(), array.as<float>().end());
  };
  const std::vector<float> all = x("40", "0");
  constexpr std::ptrdiff_t kRow = 12 * 12 * 3;
  for (const std::ptrdiff_t count : {1, 7, 8, 9, 39}) {
    EXPECT_TRUE(std::ranges::equal(x(std::to_string(count), "0"),
                                   std::span(all).first(static_cast<std::size_t>(count * kRow))));
  }
  EXPECT_TRUE(std::ranges::equal(x("11", "2"), std::span(all).subspan(16 * kRow, 11 * kRow)));
}

TEST_F(RunSamples, FollowsTheSettingsOfTraining) {
  const nlohmann::json plain = digest({"--count", "20"});
  EXPECT_EQ(digest({"threads=1", "--count", "20"})["sha256"], plain["sha256"]);
  EXPECT_NE(digest({"seed=2", "--count", "20"})["sha256"], plain["sha256"]);
  EXPECT_EQ(plain["device"], "cpu") << "cpu must be the default";
  EXPECT_EQ(plain["sources"][0]["generator"], "shapes");
  EXPECT_TRUE(plain["sources"][0]["generator_version"].is_number());
  EXPECT_EQ(digest({"--split", "train", "--count", "20"})["sha256"], plain["sha256"]);
}

TEST_F(RunSamples, GivesHeldOutSamplesAsASplit) {
  const nlohmann::json held = digest({"--split", "eval"});
  EXPECT_EQ(held["count"], 9) << "must be all held-out samples";
  EXPECT_EQ(held["split"], "eval");
  EXPECT_EQ(digest({"--split", "eval", "train.batch=2"})["sha256"], held["sha256"]);
  const nlohmann::json fewer = digest({"--split", "eval", "--count", "8"});
  EXPECT_EQ(fewer["count"], 8);
  EXPECT_NE(fewer["sha256"], held["sha256"]);
}

TEST_F(RunSamples, AcceptsConfigurationsOfAnyName) {
  fs::copy_file(folder() / "mixed.yaml", folder() / "mixed.conf");
  EXPECT_EQ(run({"digest", "mixed.conf", "--count", "3"}).exit_code, 0);
}

TEST_F(RunSamples, PreviewsNetworkInputs) {
  const auto picture = [&](std::vector<std::string> settings) {
    std::vector<std::string> arguments = {"preview", "mixed.yaml", "--out", "a.png"};
    arguments.insert(arguments.end(), settings.begin(), settings.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return slurp(folder() / "a.png");
  };
  const std::string plain = picture({});
  EXPECT_EQ(plain.substr(1, 3), "PNG");
  EXPECT_NE(picture({"seed=2"}), plain);
  EXPECT_NE(picture({"--step", "1"}), plain);
  EXPECT_NE(picture({"--split", "eval"}), plain);
  // If a run has fewer samples than a picture can show, all of them must be shown.
  EXPECT_EQ(run({"preview", "mixed.yaml", "train.steps=1"}).out,
            "mixed.png: 8 samples of mixed as network inputs, step 0\n");
}

// A preview reports clamped values (tests/export/samples.test.cpp). Colour operations clamp their
// own results, so even the strongest leave nothing to report.
TEST_F(RunSamples, PreviewsStrongColoursWithoutClamping) {
  const Outcome outcome = run(
      {"preview", "mixed.yaml", "data.augment=[brightness: 0.9, contrast: 0.9, saturation: 0.9]"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(RunSamples, ExplainsNumbersThatReplaceNames) {
  spill(folder() / "classes.txt", "Öl\n猫\nбык\n");
  const Outcome outcome = run({"preview", "mixed.yaml"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err,
            "note: pictures can only show Latin letters: in photos, #1 is '猫', #2 is 'бык'\n");
}

// Two generators of events with different classes.
TEST_F(RunSamples, PreviewsSeveralSourcesOfEvents) {
  spill(folder() / "events.yaml", R"(name: events
data:
  sources:
    - {name: two, kind: generator, generator: ee_mumu}
    - {name: four, kind: generator, generator: ee_mumu, params: {energies: [70, 80, 100, 130]}}
eval: {sources: [{of: four}]}
model: {name: mlp, widths: [8]}
train: {batch: 32, steps: 10}
)");
  const Outcome outcome = run({"preview", "events.yaml", "--count", "100"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"four: "});
  EXPECT_EQ(run({"preview", "events.yaml", "--split", "eval", "--count", "100"}).exit_code, 0);
}

TEST_F(RunSamples, ExportsNameALayoutThatIsNotTheSamples) {
  const auto layout = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"export", "ginkgo", "momentum_low=300", "momentum_high=500",
                               "--count", "4", "--out"});
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out.substr(outcome.out.find('\n') + 1);
  };
  expect_parts(layout({"jets.h5"}), {"layout jetnet, the default", "relative to the jet",
                                     "--layout columns stores the values as generated"});
  EXPECT_EQ(layout({"jets.h5", "--layout", "columns"}), "");
  EXPECT_EQ(layout({"jets.h5", "--layout", "jetnet"}), "") << "as asked";
  EXPECT_EQ(layout({"jets.npz"}), "");
}

TEST_F(RunSamples, PreviewsEventsAndSets) {
  const std::string config = (source_folder() / "configs/ee_mumu.yaml").string();
  const Outcome events = run({"preview", config, "--count", "300"});
  EXPECT_EQ(events.exit_code, 0) << events.err;
  expect_parts(events.out, {"cos_theta"});
  EXPECT_EQ(slurp(folder() / "ee_mumu.png").substr(1, 3), "PNG");
  const std::string sets = (source_folder() / "configs/ginkgo.yaml").string();
  EXPECT_EQ(run({"preview", sets, "--count", "30"}).exit_code, 0);
  EXPECT_EQ(slurp(folder() / "ginkgo.png").substr(1, 3), "PNG");
}

// Items that do not fit must be dropped, counted and reported.
TEST_F(RunSamples, ReportsOverflowingSets) {
  for (const std::vector<std::string>& what :
       {std::vector<std::string>{(source_folder() / "configs/ginkgo.yaml").string(),
                                 "data.sources.0.params.items=8"},
        std::vector<std::string>{"ginkgo", "items=8"}}) {
    std::vector<std::string> arguments = {"export"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    arguments.insert(arguments.end(), {"--count", "50", "--out", "sets.npz"});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const NpyArray offsets = read_npz(folder() / "sets.npz", "offsets");
    const NpyArray latents = read_npz(folder() / "sets.npz", "latents");
    int samples = 0, items = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      const auto made = static_cast<int>(latents.as<float>()[i * 7 + 5]);  // constituents
      const auto kept = offsets.as<std::int64_t>()[i + 1] - offsets.as<std::int64_t>()[i];
      EXPECT_EQ(kept, std::min(made, 8));
      samples += made > 8 ? 1 : 0;
      items += std::max(0, made - 8);
    }
    EXPECT_GT(samples, 0);
    EXPECT_EQ(outcome.err,
              "note: " + std::to_string(items) + " items of " + std::to_string(samples) +
                  " samples did not fit into rows of 8 items; they are left out and counted in "
                  "the metadata\n");
  }
}

struct RefusedSamples {
  const char* what;
  std::vector<std::string> arguments;
  std::vector<std::string> messages;
  int exit_code = 2;
};

void PrintTo(const RefusedSamples& refusal, std::ostream* out) {
  *out << refusal.what;
}

class RefusedRunSamples : public RunSamples, public testing::WithParamInterface<RefusedSamples> {};

TEST_P(RefusedRunSamples, ExitWithCodeAndReason) {
  const Outcome outcome = run(GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, GetParam().exit_code) << outcome.out;
  expect_parts(outcome.err, GetParam().messages);
  EXPECT_EQ(written_files(), std::vector<std::string>{});
}

/// `last` may contain spaces.
std::vector<std::string> exported(const std::string& more, const std::string& last = "") {
  std::vector<std::string> arguments =
      split_words("export mixed.yaml --count 9 --out a.npz " + more);
  if (!last.empty()) arguments.push_back(last);
  return arguments;
}

const RefusedSamples kRefusedSamples[] = {
    {"Seed", exported("--seed 3"), {"--seed cannot be used with", "write seed=3"}},
    {"Size", exported("--size 8"), {"--size cannot be used with", "data.size=8"}},
    {"First", exported("--first 8"), {"--first cannot be used with", "--step"}},
    {"Batch", exported("--batch 8"), {"--batch cannot be used with", "train.batch"}},
    {"Device", exported("--device auto"), {"--device", "write device=auto"}},
    {"Threads", exported("--threads 1"), {"--threads", "write threads=1"}},
    {"StepOfWhatIsHeldOut",
     exported("--split eval --step 1"),
     {"--step cannot be used with --split eval"}},
    {"UnknownSplit", exported("--split test"), {"--split", "train", "eval"}},
    {"SplitThatIsNotThere",
     exported("eval.sources=[] --split eval"),
     {"mixed has no held-out samples"}},
    {"NoCount",
     split_words("export mixed.yaml --out a.npz"),
     {"--count is missing", "the whole run has 80 samples", "--split eval"}},
    {"MoreThanTheRun",
     split_words("export mixed.yaml --count 81 --out a.npz"),
     {"81 samples: only 80 are left", "train.steps"}},
    {"StepBehindTheRun", exported("--step 10"), {"mixed has no step 10"}},
    {"UnknownKey", exported("data.sise=16"), {"did you mean 'size'"}},
    {"SettingThatIsNone", exported("seed"), {"'seed' is not key=value"}},
    {"SettingTwice",
     exported("seed=3 train.batch=4 seed=5"),
     {"command line: seed is given twice, as '3' and as '5'"}},
    {"SettingThatUndoesAnother",
     exported("train.batch=4", "train={steps: 10}"),
     {"'train={steps: 10}' would undo the earlier 'train.batch=4'"}},
    {"OldSpelling", exported("--param seed=3"), {"write seed=3 without"}},
    {"DataThatAreNotThere", exported("data.sources.1.path=no.npy"), {"no.npy: no such"}, 3},
    {"DeviceThatIsNotThere", exported("device=cuda:99"), {"cuda:99"}, 4},
    {"UnknownFormat", split_words("export mixed.yaml --count 9 --out a.csv"), {".npz"}},
    {"FolderThatIsNotThere",
     split_words("export mixed.yaml --count 9 --out no/such/a.npz"),
     {"no/such/a.npz: cannot create"},
     1},
    {"PreviewThatIsNoPng", split_words("preview mixed.yaml --out a.gif"), {".png"}},
};
INSTANTIATE_TEST_SUITE_P(Samples, RefusedRunSamples, testing::ValuesIn(kRefusedSamples),
                         [](const auto& test) { return test.param.what; });

// ---- files --------------------------------------------------------------------------------------

TEST_F(RunSamples, RefusesUnwritableFolders) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::create_directory(folder() / "closed");
  fs::permissions(folder() / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome outcome = run({"export", "mixed.yaml", "--count", "9", "--out", "closed/a.npz"});
  EXPECT_EQ(outcome.exit_code, 1);
  expect_parts(outcome.err, {"closed/a.npz: cannot create", "a folder that you can write to"});
}

TEST_F(RunSamples, KeepsTheOldFileOnAFullDisk) {
  spill(folder() / "a.npz", "older");
  const Outcome outcome = shell("trap '' XFSZ; ulimit -f 64; exec '" + wellspring_path() +
                                    "' export shapes --count 100 --size 64 --out a.npz",
                                folder());
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  expect_parts(outcome.err, {"a.npz", "cannot write", "File too large"});
  EXPECT_EQ(slurp(folder() / "a.npz"), "older");
  EXPECT_EQ(written_files(), std::vector<std::string>{"a.npz"});
}

/// Waits until the command is writing its file, which gets its name only when it is complete.
bool writes_its_file(Process& process, const TemporaryFolder& folder) {
  const fs::path descriptors = "/proc/" + std::to_string(process.id()) + "/fd";
  return process.wait_until([&] {
    std::error_code gone;  // the command may end in the meantime
    for (fs::directory_iterator entry(descriptors, gone), last; !gone && entry != last;
         entry.increment(gone)) {
      const std::string file = fs::read_symlink(entry->path(), gone).string();
      if (gone || !file.starts_with(folder.path().string() + "/") || !file.ends_with(" (deleted)"))
        continue;
      if (fs::file_size(entry->path(), gone) > 0 && !gone) return true;
    }
    return false;
  });
}

TEST_F(RunSamples, LeavesNothingAfterASignal) {
  const std::vector<std::string> generator = {"shapes"},
                                 mixture = {"mixed.yaml", "train.steps=1000000"};
  const auto ended_by = [&](const std::vector<std::string>& what, int signal) {
    std::vector<std::string> arguments = {wellspring_path(), "export"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    arguments.insert(arguments.end(), {"--count", "4000000", "--out", "a.npz"});
    Process process(arguments, folder());
    EXPECT_TRUE(writes_its_file(process, folder_));
    process.send(signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(written_files(), std::vector<std::string>{}) << signal;
    return outcome;
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGXCPU}) {
    const Outcome outcome = ended_by(signal == SIGINT ? mixture : generator, signal);
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    expect_parts(outcome.err, {"interrupted: nothing is kept"});
  }
  EXPECT_EQ(ended_by(generator, SIGKILL).signal, SIGKILL);
}

// Exporting 60 times as many samples must not take more memory.
TEST_F(RunSamples, ExportsInConstantMemory) {
  std::vector<long> peaks;
  for (const char* count : {"20000", "1200000"}) {
    const Outcome outcome =
        run({"export", "ee_mumu", "--batch", "1024", "--count", count, "--out", "a.npz"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    peaks.push_back(outcome.peak_memory);
  }
  ASSERT_GT(peaks[0], 0);
  // Columns other than x take 32 bytes per sample, so keeping them in memory would add 36 MiB. This
  // test's own peak, about 10 MiB, may hide the smaller export's peak.
  EXPECT_LT(peaks[1], peaks[0] + 5 * 1024);
}

TEST_F(RunSamples, IsReadByNumPy) {
  if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) {
    GTEST_SKIP() << "needs python3 with numpy";
  }
  ASSERT_EQ(run({"export", "mixed.yaml", "--count", "21", "--out", "a.npz"}).exit_code, 0);
  ASSERT_EQ(run({"export", "ginkgo", "--count", "21", "--out", "g.npz"}).exit_code, 0);
  const Outcome outcome = shell(R"(python3 -c '
import json, numpy
a = numpy.load("a.npz")
assert a["x"].shape == (21, 12, 12, 3) and a["x"].dtype == numpy.float32
assert a["source"].dtype == numpy.int32 and a["sample"].dtype == numpy.int64
about = json.loads(str(a["metadata"]))
assert [source["name"] for source in about["sources"]] == ["shapes", "photos"]
assert about["sources"][1]["classes"] == open("classes.txt").read().split()
assert about["configuration"]["data"]["size"] == 12
g = numpy.load("g.npz")
for arrays in (a, g):
    assert {key: arrays[key] for key in arrays}["metadata"].shape == ()
assert g["offsets"].shape == (22,) and g["offsets"][-1] == len(g["x"])
')",
                                folder());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
}  // namespace wellspring::test
