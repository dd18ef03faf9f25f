// Trains as one rank of a launch. Writes a digest of each row that it trains on, one per line, to
// OUT.RANK, and the gradients of the first step (f32) to OUT.RANK.gradients. For the tests that
// start ranks with mpirun. Usage: rank_rows CONFIG STEPS OUT
#include "core/error.h"
#include "core/io/sha256.h"
#include "tests/train/trained_rows.h"
#include "train/ranks/open_ranks.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>

int main(int argc, char** argv) {
  using namespace wellspring;
  if (argc != 4) return 2;
  try {
    const std::optional<Launch> launch = find_launch(process_environment(), getppid());
    std::unique_ptr<ConnectedRanks> connected;
    if (launch) connected = open_ranks(*launch, Device::cpu(), "rows", std::chrono::seconds(60));
    Communicator& ranks = connected ? static_cast<Communicator&>(*connected) : single_rank();
    const std::string name = std::string(argv[3]) + "." + std::to_string(ranks.rank());
    const test::TrainedSteps done =
        test::train_steps(RunConfig::load(argv[1], {}), ranks, std::stoi(argv[2]));
    std::ofstream rows(name), gradients(name + ".gradients", std::ios::binary);
    for (const std::string& row : done.rows) rows << Sha256().update(bytes_of(row)).hex() << '\n';
    gradients.write(reinterpret_cast<const char*>(done.gradients.data()),
                    static_cast<std::streamsize>(done.gradients.size() * sizeof(float)));
    ranks.barrier();
    return rows.flush() && gradients.flush() ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
