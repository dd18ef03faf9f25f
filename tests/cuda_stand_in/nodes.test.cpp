// Golden lists of the nodes in the steps of shipped configurations: a fusion or an added pass
// changes a file. WELLSPRING_UPDATE_GOLDEN=1 writes them.
#include "core/io/files.h"
#include "train/node_table.h"
#include "train/trainer.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = WELLSPRING_SOURCE_DIR;

/// The step's nodes with the bytes that the second replay reads and writes.
std::string nodes_of(const RunConfig& config) {
  TrainObserver observer;
  TrainerOptions options;
  options.write_files = false;
  Trainer trainer(config, observer, options);
  trainer.train_until(3);
  std::vector<stand_in::Footprint> footprints;
  stand_in::measure_footprints(&footprints);
  trainer.train_until(4);
  stand_in::measure_footprints(nullptr);
  std::vector<NodeBytes> bytes;
  for (const stand_in::Footprint& node : footprints) bytes.push_back({node.read, node.written});
  return node_table(trainer.census(), bytes);
}

void expect_golden(const std::string& name, const std::string& config,
                   std::vector<std::string> settings) {
  settings.push_back("device=cuda:0");
  const std::string text = nodes_of(RunConfig::load(kSource / "configs" / config, settings));
  const fs::path golden = kSource / "tests/cuda_stand_in/nodes" / (name + ".txt");
  if (std::getenv("WELLSPRING_UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << text;
  EXPECT_EQ(text, read_text(golden)) << "WELLSPRING_UPDATE_GOLDEN=1 writes " << golden;
}

TEST(Nodes, AreTheGoldenOnesOfTheQuickstart) {
  expect_golden("quickstart", "quickstart.yaml", {});
}

// 32 rows instead of 128 keep the test short. This changes grids, not the list of nodes.
TEST(Nodes, AreTheGoldenOnesOfAResnet18At32Pixels) {
  expect_golden("resnet18", "quickstart.yaml", {"model={name: resnet18}", "train.batch=32"});
}

TEST(Nodes, AreTheGoldenOnesOfADeepSet) {
  expect_golden("deepset", "ginkgo.yaml", {});
}

TEST(Nodes, AreTheGoldenOnesOfAVisionTransformer) {
  expect_golden("vit", "shapes_vit.yaml", {"train.batch=32"});
}

TEST(Nodes, AreTheGoldenOnesOfATransformerOverItems) {
  expect_golden("transformer", "lund_jets.yaml", {"train.batch=32"});
}

// A launch of four steps has the nodes of one step four times, in order, and no others.
TEST(Nodes, RepeatForSeveralSteps) {
  struct Recorded : TrainObserver {
    void on_graph(const GraphCensus& census, std::uint64_t steps) override {
      graphs.emplace_back(steps, census);
    }
    std::vector<std::pair<std::uint64_t, GraphCensus>> graphs;
  } recorded;
  TrainerOptions options;
  options.write_files = false;
  Trainer trainer(RunConfig::load(kSource / "configs/ginkgo.yaml",
                                  std::vector<std::string>{"device=cuda:0", "train.batch=32",
                                                           "train.steps_per_launch=4"}),
                  recorded, options);
  trainer.train_until(3);
  ASSERT_EQ(recorded.graphs.size(), 2u);
  const auto& [one, step] = recorded.graphs[0];
  const auto& [four, launch] = recorded.graphs[1];
  EXPECT_EQ(one, 1u);
  EXPECT_EQ(four, 4u);
  EXPECT_TRUE(launch.no_host_transfer());
  ASSERT_EQ(launch.nodes.size(), 4 * step.nodes.size());
  for (std::size_t i = 0; i < launch.nodes.size(); ++i)
    EXPECT_EQ(launch.nodes[i].name, step.nodes[i % step.nodes.size()].name) << i;
}

}  // namespace
}  // namespace wellspring
