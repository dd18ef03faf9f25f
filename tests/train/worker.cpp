// Trains one configuration and returns the same exit code as the command line. For tests that kill
// a run. Usage: train_worker CONFIG [key=value ...]
#include "core/error.h"
#include "core/signals.h"
#include "train/trainer.h"

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  using namespace wellspring;
  try {
    const SignalGuard signals;
    const std::vector<std::string> overrides(argv + 2, argv + argc);
    TrainObserver observer;
    Trainer trainer(RunConfig::load(argv[1], overrides), observer);
    return trainer.run().status == RunStatus::interrupted ? 75 : 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
