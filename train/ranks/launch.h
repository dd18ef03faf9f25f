// How a launcher (torchrun, mpirun, srun, or `wellspring train --ranks`) describes this process:
// the rank, the number of ranks, and where rank 0 is. Called by the command line; host only.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace wellspring {

struct Launch {
  std::string launcher;  ///< "torchrun", "mpirun (Open MPI)", "mpirun (MPICH)", "srun"
  int rank = 0;
  int size = 1;
  int local_rank = 0;        ///< index on this node
  int local_size = 1;        ///< number of ranks on this node
  std::string address = {};  ///< rank 0's node
  int port = 0;              ///< port at which rank 0 listens

  bool on_one_node() const { return local_size == size; }
};

/// Value of an environment variable; nullopt: not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// This process's environment.
Environment process_environment();

/// The launch that the environment describes; nullopt if no launcher started this process, or if
/// there is one rank only. If one launcher started another, the inner one counts: torchrun, mpirun,
/// srun. `job`: a number that all ranks of one node share, such as the parent process; ranks
/// on one node meet at a port made from it. Config error: a variable is missing or not a number, a
/// rank is outside the range, or ranks on several nodes do not know rank 0's address.
///
/// Variables: torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT
/// (PyTorch, torch.distributed.run). Open MPI: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK,
/// _LOCAL_SIZE (mpirun(1), "Exported Environment Variables"). MPICH and Intel MPI (Hydra):
/// PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS. Slurm: SLURM_PROCID, SLURM_STEP_NUM_TASKS,
/// SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE, SLURM_NODEID, SLURM_STEP_NODELIST, SLURM_JOB_ID
/// (srun(1), "OUTPUT ENVIRONMENT VARIABLES").
std::optional<Launch> find_launch(const Environment& environment, int job);

/// The first node of a Slurm list: "gpu03" for "gpu[03-05,11],login1".
std::string first_node(const std::string& nodes);
/// Number of tasks of node `index`: "4(x2),3" means 4, 4, 3. Config error if there is no such node.
int tasks_of_node(const std::string& tasks, int index);

}  // namespace wellspring
