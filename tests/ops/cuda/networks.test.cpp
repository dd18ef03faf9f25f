// Asks cuDNN, on a machine without a GPU, to plan every convolution of the networks for an H200.
// Planning each network on the CPU lists its convolutions.
#include "bench/gpu/network_convolutions.h"
#include "tests/ops/cuda/h200.h"
#include "train/config/run_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::ops::cuda {
namespace {

class NetworkOnH200 : public CudnnOnH200 {
 protected:
  /// Returns the number of convolutions.
  std::size_t expect_network_planned(const std::string& model,
                                     const std::vector<ParamSetting>& settings, std::int64_t batch,
                                     ImageSize size) {
    const auto planned = bench::network_convolutions(model, settings, batch, size);
    for (const Conv2dSpec& spec : planned) expect_planned(spec);
    return planned.size();
  }
};

// Covers all shipped configurations.
TEST_F(NetworkOnH200, PlansEveryConfiguration) {
  std::size_t convolutions = 0;
  for (const auto& file : std::filesystem::directory_iterator(WELLSPRING_SOURCE_DIR "/configs")) {
    if (file.path().extension() != ".yaml") continue;
    SCOPED_TRACE(file.path().filename());
    const RunConfig config = RunConfig::load(file.path());
    convolutions +=
        expect_network_planned(config.model.name, config.model.params,
                               config.train.batch / config.train.accumulate, config.data.size);
  }
  EXPECT_GT(convolutions, 0u);
}

// The network used in the benchmarks that compare frameworks.
TEST_F(NetworkOnH200, PlansTheBenchmarkNetwork) {
  EXPECT_EQ(expect_network_planned("cnn", {}, 128, 32), 3u);
}

TEST_F(NetworkOnH200, PlansConvolutionsWithBiasAndRelu) {
  const std::vector<ParamSetting> plain = {{"norm", "none", {}}, {"pool", "[0, 0, 0]", {}}};
  EXPECT_EQ(expect_network_planned("cnn", plain, 128, 32), 3u);
}

TEST_F(NetworkOnH200, PlansResnet18WithEitherStem) {
  EXPECT_EQ(expect_network_planned("resnet18", {}, 256, 224), 20u);
  EXPECT_EQ(expect_network_planned("resnet18", {{"stem", "cifar", {}}}, 512, 32), 20u);
}

}  // namespace
}  // namespace wellspring::ops::cuda
