// The nodes of a recorded step as a table, for `wellspring config --nodes` and tests. Host only.
#pragma once

#include "kernels/runtime/step_graph.h"
#include "train/config/run_config.h"

#include <cstddef>
#include <span>
#include <string>

namespace wellspring {

/// Device memory that a node reads and writes.
struct NodeBytes {
  std::size_t read = 0, written = 0;
};

/// One line per node, then the numbers of all nodes, of nodes on the longest path, of Wellspring's
/// kernels, of library kernels, and of others. `bytes`: one entry per node, unused for library
/// nodes; empty if unknown.
std::string node_table(const GraphCensus& census, std::span<const NodeBytes> bytes = {});

/// Runs the first steps of a configuration, without files, until the step is recorded. Error
/// (config) on a CPU, which runs the step without kernels.
GraphCensus record_step(RunConfig config);

}  // namespace wellspring
