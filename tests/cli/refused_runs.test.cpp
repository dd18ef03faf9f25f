// Runs that `train` and `config` refuse: exit codes, locations and advice.
#include "tests/cli/train_testing.h"

namespace wellspring::test {
namespace {

struct Refusal {
  const char* what;
  std::string from, to;  ///< edit of the configuration
  std::vector<std::string> overrides;
  int exit_code;
  std::vector<std::string> messages;  ///< parts of standard error
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.what;
}

/// Tests in core/config and train/config cover more refused configurations.
class RefusedRun : public Train, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedRun, ExitsWithCodeLocationAndAdvice) {
  std::string text = kConfig;
  if (!GetParam().from.empty()) {
    const std::size_t at = text.find(GetParam().from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, GetParam().from.size(), GetParam().to);
  }
  spill(config(), text);
  std::vector<std::string> arguments = {"train", "small.yaml"};
  arguments.insert(arguments.end(), GetParam().overrides.begin(), GetParam().overrides.end());
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.exit_code, GetParam().exit_code) << outcome.out << outcome.err;
  expect_parts(outcome.err, GetParam().messages);
  // `config` gives the same refusal, except for errors of the machine or of training itself.
  if (outcome.exit_code != 2 && outcome.exit_code != 3) return;
  arguments[0] = "config";
  const Outcome checked = run(arguments);
  EXPECT_EQ(checked.exit_code, outcome.exit_code) << checked.out;
  EXPECT_EQ(checked.err, outcome.err);
  EXPECT_EQ(checked.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Runs, RefusedRun,
    testing::Values(
        Refusal{"UnknownKey",
                "  batch: 8",
                "  bacth: 8",
                {},
                2,
                {"small.yaml:19:3", "bacth", "'batch'"}},
        Refusal{"UnknownOverride", "", "", {"train.bacth=3"}, 2, {"command line", "'batch'"}},
        Refusal{"BrokenYaml", "  sources:", "  sources: [", {}, 2, {"small.yaml:"}},
        Refusal{"DeviceThatIsNotThere", "", "", {"device=cuda:99"}, 4, {"cuda:99"}},
        Refusal{"UnknownDevice",
                "device: cpu",
                "device: gpu",
                {},
                2,
                {"small.yaml:2:9: unknown device 'gpu'", "cuda:N"}},
        Refusal{"ParametersThatContradict",
                "generator: shapes",
                "generator: shapes\n      params: {scale_low: 0.25, scale_high: 0.2}",
                {},
                2,
                {"small.yaml:8:18: shapes: scale_low = 0.25 is larger"}},
        Refusal{"ModelThatContradicts",
                "  blocks: [0]",
                "  blocks: [0, 1]",
                {},
                2,
                {"small.yaml:10:9: model cnn: widths has 1 stage, blocks 2"}},
        Refusal{"BatchThatCannotFit",
                "",
                "",
                {"train.batch=1048576", "memory=0.1"},
                4,
                {"activations"}},
        Refusal{"MoreThreadsThanAnyMachine",
                "",
                "",
                {"threads=4096"},
                2,
                {"threads = 4096", "1024", "at most 64"}},
        Refusal{"DataThatIsNotThere",
                "generator: shapes",
                "kind: files\n      path: no/such/folder",
                {"eval.sources.0.path=no/such/other"},
                3,
                {"no/such/folder"}},
        Refusal{"MixupAmongAugmentations",
                "  size: 16",
                "  size: 16\n  augment: [mixup: 0.8]",
                {},
                2,
                {"augment: mixup mixes samples", "write mix: {mixup: 1} under data"}},
        Refusal{"MixingOfAnOddBatch",
                "  size: 16",
                "  size: 16\n  mix: {mixup: 0.8}",
                {"train.batch=9"},
                2,
                {"small.yaml:6:8", "data.mix with a batch of 9 samples", "for example 10"}},
        Refusal{
            "MixingBesideARegression",
            "  size: 16",
            "  size: 16\n  mix: {mixup: 0.8}",
            {"loss.kind=mse", "loss.targets=[x, y]"},
            2,
            {"head 'regression': data.mix does not support loss regression", "no common latents"}},
        Refusal{"TimeWithoutAUnit",
                "  steps: 20",
                "  steps: 20\n  max_time: 90",
                {},
                2,
                {"small.yaml:21:13: train.max_time: '90' is not a time", "90m, 2h"}},
        Refusal{"BestOfOneEvaluation",
                "",
                "",
                {"train.keep_best=accuracy"},
                2,
                {"the run is evaluated only once", "set eval.every"}},
        Refusal{"BestOfNothing",
                "",
                "",
                {"train.keep_best=accuracy", "eval.sources=[]"},
                2,
                {"nothing is held out"}},
        Refusal{"PatienceWithoutAFigure",
                "",
                "",
                {"train.patience=3"},
                2,
                {"patience without keep_best"}},
        Refusal{"ImagesOfOnePixel", "", "", {"data.size=1"}, 2, {"cannot halve images of 1x1"}},
        Refusal{"EventsIntoACnn",
                "generator: shapes",
                "generator: ee_mumu",
                {},
                2,
                {"model cnn: the samples are events", "set model.name to mlp"}},
        Refusal{"WeightsThatAreNotThere", "", "", {"init.from=no/such/run"}, 3, {"no/such/run"}},
        Refusal{"DataThatAreNoArray",
                "generator: shapes",
                "kind: files\n      path: small.yaml\n      format: npy\n      labels: y.npy",
                {"eval.sources=[]"},
                3,
                {"small.yaml: cannot read the NumPy array"}},
        Refusal{"LossThatIsNotFinite",
                "  lr: 0.01",
                "  lr: 1000",
                {"train.clip=0", "loss.kind=mse", "loss.targets=[x, y]"},
                1,
                {"not finite"}}),
    [](const auto& test) { return test.param.what; });

}  // namespace
}  // namespace wellspring::test
