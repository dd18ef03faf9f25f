// The variables of launchers.
#include "train/ranks/launch.h"

#include "tests/support/error_testing.h"

#include <map>

namespace wellspring::test {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment(const Variables& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}
constexpr int kJob = 12'345;
std::optional<Launch> find(const Variables& variables) {
  return find_launch(environment(variables), kJob);
}
std::string refused(const Variables& variables) {
  return message_of(ErrorKind::config, [&] { find(variables); });
}
Variables with(Variables variables, const Variables& others) {
  for (const auto& [name, value] : others) variables[name] = value;
  return variables;
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node3"},
                             {"MASTER_PORT", "29500"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kMpich = {
    {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}};
const Variables kSrun = {{"SLURM_PROCID", "6"},
                         {"SLURM_STEP_NUM_TASKS", "7"},
                         {"SLURM_LOCALID", "2"},
                         {"SLURM_NODEID", "1"},
                         {"SLURM_STEP_TASKS_PER_NODE", "4,3"},
                         {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                         {"SLURM_JOB_ID", "4000001"},
                         {"SLURM_STEP_ID", "2"}};

TEST(Launch, ReadsTorchrun) {
  const Launch launch = find(kTorchrun).value();
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 4);
  EXPECT_EQ(launch.address, "node3");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_FALSE(launch.on_one_node());
  // The agent itself has a store at the port.
  EXPECT_EQ(find(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->port, 29501);
}

TEST(Launch, ReadsMpirun) {
  const Launch open = find(kOpenMpi).value(), mpich = find(kMpich).value();
  EXPECT_EQ(open.rank, 1);
  EXPECT_EQ(mpich.rank, 2);
  EXPECT_EQ(mpich.size, 3);
  EXPECT_TRUE(open.on_one_node());
  EXPECT_EQ(open.address, "127.0.0.1");
  EXPECT_EQ(open.port, mpich.port);  // of the same parent
  EXPECT_GE(open.port, 20'000);
  EXPECT_LT(open.port, 32'768);
}

TEST(Launch, ReadsSrun) {
  const Launch launch = find(kSrun).value();
  EXPECT_EQ(launch.rank, 6);
  EXPECT_EQ(launch.local_size, 3);
  EXPECT_EQ(launch.address, "gpu07");
  EXPECT_EQ(launch.port, 20'000 + 4'000'003 % 12'000);
  // Slurm's PMI sets these too, but they do not give the rank on the node.
  EXPECT_EQ(find(with(kSrun, {{"PMI_RANK", "6"}, {"PMI_SIZE", "7"}}))->launcher, "srun");
}

TEST(Launch, TakesTheInnerLauncher) {
  EXPECT_EQ(find(with(kSrun, kTorchrun))->launcher, "torchrun");
  EXPECT_EQ(find(with(kSrun, kOpenMpi))->launcher, "mpirun (Open MPI)");
}

TEST(Launch, FindsNoneForASingleProcess) {
  EXPECT_FALSE(find({}));
  EXPECT_FALSE(find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}));
  EXPECT_FALSE(find({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
}

TEST(Launch, RefusesWhatDoesNotFit) {
  expect_parts(refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
               {"torchrun", "LOCAL_RANK is not set"});
  expect_parts(refused(with(kTorchrun, {{"RANK", "8"}})), {"RANK=8 is not below WORLD_SIZE=8"});
  expect_parts(refused(with(kTorchrun, {{"RANK", "x"}})), {"RANK=x is not a whole number"});
  expect_parts(refused(with(kTorchrun, {{"RANK", "-1"}})), {"RANK=-1"});
  expect_parts(refused(with(kTorchrun, {{"LOCAL_RANK", "4"}})), {"rank 4 of 4 on this node"});
  expect_parts(refused(with(kTorchrun, {{"MASTER_PORT", "70000"}})), {"MASTER_PORT=70000"});
  expect_parts(
      refused(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}})),
      {"several nodes", "set MASTER_ADDR"});
  expect_parts(refused(with(kSrun, {{"SLURM_NODEID", "2"}})), {"4,3 has no node 2"});
}

TEST(Launch, ReadsSlurmLists) {
  EXPECT_EQ(first_node("login"), "login");
  EXPECT_EQ(first_node("a1,a2"), "a1");
  EXPECT_EQ(first_node("gpu[003-005,011],login1"), "gpu003");
  EXPECT_EQ(first_node("rack[2,4]-gpu,x"), "rack2-gpu");
  EXPECT_EQ(tasks_of_node("8", 0), 8);
  EXPECT_EQ(tasks_of_node("4(x2),3", 1), 4);
  EXPECT_EQ(tasks_of_node("4(x2),3", 2), 3);
  for (const char* wrong : {"", "4(x", "x", "4(x2),"})
    EXPECT_THROW(tasks_of_node(wrong, 3), Error) << wrong;
}

}  // namespace
}  // namespace wellspring::test
