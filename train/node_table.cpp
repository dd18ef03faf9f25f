#include "train/node_table.h"

#include "core/error.h"
#include "kernels/runtime/device.h"
#include "train/step/step_runner.h"
#include "train/trainer.h"

#include <fmt/format.h>

namespace wellspring {

std::string node_table(const GraphCensus& census, std::span<const NodeBytes> bytes) {
  std::string text = fmt::format("{:>4} {:>9} {:>9} {:>8}", "node", "blocks", "threads", "scratch");
  if (!bytes.empty()) text += fmt::format(" {:>10} {:>10}", "read", "written");
  text += "  kernel\n";
  int libraries = 0;
  for (std::size_t i = 0; i < census.nodes.size(); ++i) {
    const GraphNode& node = census.nodes[i];
    if (node.library) ++libraries;
    text += fmt::format("{:>4} ", i + 1);
    text += node.kind != NodeKind::kernel || node.library
                ? fmt::format("{:>28}", node.library ? "library" : "")
                : fmt::format("{:>9} {:>9} {:>8}", node.shape.blocks,
                              node.shape.threads * node.shape.teams, node.shape.scratch_bytes);
    if (!bytes.empty())
      text += node.library ? fmt::format(" {:>21}", "")
                           : fmt::format(" {:>10} {:>10}", bytes[i].read, bytes[i].written);
    text += fmt::format("  {}\n", node.name);
  }
  const auto all = static_cast<int>(census.nodes.size());
  return text + fmt::format(
                    "{} nodes, {} on the longest path: {} kernels of Wellspring, {} of "
                    "libraries, {} others\n",
                    all, census.longest_path, census.kernels - libraries, libraries,
                    all - census.kernels);
}

GraphCensus record_step(RunConfig config) {
  if (Device::parse(config.device).is_cpu())
    fail(ErrorKind::config, {"--nodes: a CPU runs the step without kernels",
                             "only a GPU, with a build that has CUDA, captures the nodes of a step",
                             "add device=cuda:0 on such a machine"});
  config.train.graph = GraphMode::on;
  TrainObserver observer;
  TrainerOptions options;
  options.write_files = false;
  Trainer trainer(std::move(config), observer, std::move(options));
  trainer.train_until(StepRunner::kWarmUpSteps + 1);
  return trainer.census();
}

}  // namespace wellspring
