// Asks cuDNN, on a machine without a GPU, whether it has a plan for every convolution of the
// networks on an H200. Which those are is found by planning each network on the CPU.
#include "kernels/ops/plan_log.h"
#include "tests/ops/cuda/h200.h"
#include "train/model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring::ops::cuda {
namespace {

class NetworkOnH200 : public CudnnOnH200 {
 protected:
  void expect_network_planned(const std::string& model, const std::vector<ParamSetting>& settings,
                              std::int64_t batch, const SampleShape& in, int outputs,
                              std::size_t convolutions) {
    const Stream stream(Device::cpu(), 1);
    MemoryPlan memory(Device::cpu());
    NetworkContext context(memory, stream, batch, DType::f32);
    const auto network = make_model(model, settings)->plan(context, in, outputs);
    const auto& planned = stream.library<PlanLog>()->convolutions;
    EXPECT_EQ(planned.size(), convolutions);
    for (const Conv2dSpec& spec : planned) expect_planned(spec);
  }
};

TEST_F(NetworkOnH200, PlansThreeConvolutionNetwork) {
  expect_network_planned("cnn", {}, 128, {32, 32, 3}, 10, 3);
}

TEST_F(NetworkOnH200, PlansNetworkWithoutNormalisation) {
  expect_network_planned("cnn", {{"norm", "none", {}}}, 128, {32, 32, 3}, 10, 3);
}

TEST_F(NetworkOnH200, PlansResidualNetwork) {
  expect_network_planned("cnn", {{"blocks", "[1, 1, 1]", {}}}, 256, {32, 32, 3}, 20, 9);
}

}  // namespace
}  // namespace wellspring::ops::cuda
