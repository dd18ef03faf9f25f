// Trains as one rank of a launch and writes a digest of each row that it trains on, one per line, to
// OUT.RANK. For the tests that start ranks with mpirun. Usage: rank_rows CONFIG STEPS OUT
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
    std::ofstream out(std::string(argv[3]) + "." + std::to_string(ranks.rank()));
    for (const std::string& row :
         test::trained_rows(RunConfig::load(argv[1], {}), ranks, std::stoi(argv[2])))
      out << Sha256().update(bytes_of(row)).hex() << '\n';
    ranks.barrier();
    return out.flush() ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
