#include "train/ranks/launch.h"

#include "core/error.h"
#include "core/text/parse.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace wellspring {
namespace {

constexpr int kFirstPort = 20'000, kPorts = 12'000;  // below Linux's ephemeral ports (32,768 up)

/// Reads the variables of one launcher.
struct Variables {
  const Environment& environment;
  std::string launcher;

  [[noreturn]] void refuse(const std::string& problem, const std::string& advice = "") const {
    fail(ErrorKind::config,
         {fmt::format("{} started this process, but {}", launcher, problem), "", advice});
  }
  std::optional<int> find(const std::string& name) const {
    const std::optional<std::string> text = environment(name);
    if (!text) return std::nullopt;
    const std::optional<int> value = parse_number<int>(*text);
    if (!value || *value < 0) refuse(fmt::format("{}={} is not a whole number", name, *text));
    return value;
  }
  int number(const std::string& name) const {
    const std::optional<int> value = find(name);
    if (!value) refuse(fmt::format("{} is not set", name));
    return *value;
  }
};

/// Variables that hold a launcher's ranks. Only this launcher sets `marker`: Slurm sets PMI_RANK
/// too and, in batch scripts outside of steps, SLURM_PROCID and SLURM_NTASKS.
struct Names {
  const char *launcher, *marker, *rank, *size, *local_rank, *local_size;
};
constexpr std::array kNames = {
    Names{"torchrun", "WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    Names{"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK",
          "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Names{"mpirun (MPICH)", "MPI_LOCALRANKID", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
          "MPI_LOCALNRANKS"},
    Names{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
          nullptr},
};

int local_size(const Variables& variables, const Names& names) {
  if (names.local_size != nullptr) return variables.number(names.local_size);
  const auto tasks = variables.environment("SLURM_STEP_TASKS_PER_NODE");
  if (!tasks) variables.refuse("SLURM_STEP_TASKS_PER_NODE is not set");
  return tasks_of_node(*tasks, variables.number("SLURM_NODEID"));
}

std::string address_of_first(const Variables& variables, const Launch& launch) {
  if (const auto address = variables.environment("MASTER_ADDR")) return *address;
  if (launch.on_one_node()) return "127.0.0.1";
  if (const auto nodes = variables.environment("SLURM_STEP_NODELIST")) return first_node(*nodes);
  variables.refuse("its ranks are on several nodes, but MASTER_ADDR is not set",
                   "set MASTER_ADDR to the node of rank 0, and MASTER_PORT to a free port there");
}

int port_of_first(const Variables& variables, const Launch& launch, int job) {
  if (const auto port = variables.find("MASTER_PORT")) {
    constexpr int kLastPort = 65'535;
    // torchrun's agent listens at MASTER_PORT itself if it has a store there.
    const bool taken = variables.environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
    if (*port < 1 || *port + (taken ? 1 : 0) > kLastPort)
      variables.refuse(fmt::format("MASTER_PORT={} is not a usable port", *port));
    return *port + (taken ? 1 : 0);
  }
  if (const auto slurm = variables.find("SLURM_JOB_ID"))
    return kFirstPort + (*slurm + variables.find("SLURM_STEP_ID").value_or(0)) % kPorts;
  if (launch.on_one_node()) return kFirstPort + job % kPorts;
  variables.refuse("its ranks are on several nodes, but MASTER_PORT is not set",
                   "set MASTER_PORT to a free port of rank 0's node, the same on all ranks");
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const text = std::getenv(name.c_str());
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
}

std::optional<Launch> find_launch(const Environment& environment, int job) {
  for (const Names& names : kNames) {
    if (!environment(names.marker)) continue;
    const Variables variables{environment, names.launcher};
    Launch launch{.launcher = names.launcher,
                  .rank = variables.number(names.rank),
                  .size = variables.number(names.size)};
    if (launch.size == 1 && launch.rank == 0) return std::nullopt;
    if (launch.rank >= launch.size)
      variables.refuse(fmt::format("{}={} is not below {}={}", names.rank, launch.rank, names.size,
                                   launch.size));
    launch.local_rank = variables.number(names.local_rank);
    launch.local_size = local_size(variables, names);
    if (launch.local_rank >= launch.local_size || launch.local_size > launch.size)
      variables.refuse(fmt::format("it is rank {} of {} on this node, and rank {} of {} in all",
                                   launch.local_rank, launch.local_size, launch.rank, launch.size));
    launch.address = address_of_first(variables, launch);
    launch.port = port_of_first(variables, launch, job);
    return launch;
  }
  return std::nullopt;
}

std::string first_node(const std::string& nodes) {
  const std::size_t end = nodes.find_first_of(",[");
  if (end == std::string::npos || nodes[end] == ',') return nodes.substr(0, end);
  const std::size_t last = nodes.find_first_of(",-]", end + 1);
  const std::size_t close = nodes.find(']', end);
  if (last == std::string::npos || close == std::string::npos) return nodes;
  const std::size_t next = nodes.find(',', close);
  const std::string suffix =
      nodes.substr(close + 1, next == std::string::npos ? next : next - close - 1);
  return nodes.substr(0, end) + nodes.substr(end + 1, last - end - 1) + suffix;
}

int tasks_of_node(const std::string& tasks, int index) {
  int left = index;
  for (const std::string_view entry : split(tasks, ',')) {
    const std::size_t times = entry.find("(x");
    const std::optional<int> count = parse_number<int>(entry.substr(0, times));
    const std::optional<int> repeats =
        times == std::string_view::npos
            ? 1
            : parse_number<int>(entry.substr(times + 2, entry.size() - times - 3));
    if (!count || !repeats) break;
    if (left < *repeats) return *count;
    left -= *repeats;
  }
  fail(ErrorKind::config,
       {fmt::format("SLURM_STEP_TASKS_PER_NODE={} has no node {}", tasks, index)});
}

}  // namespace wellspring
