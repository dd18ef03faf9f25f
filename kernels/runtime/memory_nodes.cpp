#include "kernels/runtime/memory_nodes.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <string>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// The numbers of a list such as "0-3,8". Empty if the file cannot be read or is not such a list.
std::vector<int> list_in(const fs::path& path) {
  std::ifstream file(path);
  std::vector<int> numbers;
  for (int first = 0; file >> first;) {
    int last = first;
    char next = '\0';
    if (file >> next && next == '-') {
      next = '\0';
      file >> last >> next;
    }
    if (next != ',' && next != '\0') return {};
    for (int i = first; i <= std::min(last, CPU_SETSIZE - 1); ++i) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace

std::vector<std::vector<int>> memory_nodes(const std::vector<int>& allowed, const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/node";
  std::vector<std::vector<int>> nodes;
  for (const int node : list_in(folder / "online")) {
    std::vector<int> processors = list_in(folder / ("node" + std::to_string(node)) / "cpulist");
    std::erase_if(processors,
                  [&](int p) { return std::ranges::find(allowed, p) == allowed.end(); });
    if (!processors.empty()) nodes.push_back(std::move(processors));
  }
  return nodes;
}

std::vector<int> allowed_processors() {
  std::vector<int> processors;
#ifdef _OPENMP  // not in fuzzers
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    processors.insert(processors.end(), ids.begin(), ids.end());
  }
#endif
  cpu_set_t own;
  if (processors.empty() && sched_getaffinity(0, sizeof own, &own) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &own)) processors.push_back(i);
  std::ranges::sort(processors);
  return processors;
}

void bind_to_memory_node(int thread) {
  static const std::vector<std::vector<int>> nodes = memory_nodes(allowed_processors());
  if (nodes.size() < 2) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : nodes[static_cast<std::size_t>(thread) % nodes.size()])
    CPU_SET(processor, &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set));
}

}  // namespace wellspring
