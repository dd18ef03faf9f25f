// Memory nodes (NUMA) of this machine and their processors. Threads that read and decode rows are
// spread over them (sources/datasets); host only.
#pragma once

#include <filesystem>
#include <vector>

namespace wellspring {

/// The processors of each memory node that are among `allowed`, in ascending order. Nodes without
/// such processors are left out. Empty if the kernel does not list nodes. `root`: prefix of /sys;
/// tests use a folder with copies. Source: Linux, Documentation/ABI/stable/sysfs-devices-node.
std::vector<std::vector<int>> memory_nodes(const std::vector<int>& allowed,
                                           const std::filesystem::path& root = "/");

/// Processors on which this process may run. If OpenMP has bound the calling thread to one of them
/// (OMP_PROC_BIND), returns all processors of OpenMP's places.
std::vector<int> allowed_processors();

/// Binds the calling thread to the memory node with index `thread` modulo the number of nodes. The
/// thread's buffers are then in that node's memory. Does nothing if there is only one node. A
/// thread that the kernel refuses to bind runs anywhere, which costs only speed.
void bind_to_memory_node(int thread);

}  // namespace wellspring
