// Says in words that the processor is too old, where the program would otherwise die of an illegal
// instruction. This file alone is compiled for the oldest x86-64, and its constructor runs before
// those of the other files, which may already use newer instructions.
#include <cstdlib>
#include <unistd.h>

namespace {

constexpr int kDeviceExitCode = 4;  // ErrorKind::device

#if defined(__x86_64__)
constexpr char kMessage[] =
    "wellspring: error: this processor lacks instructions that this program was built for "
    "(x86-64-v3: AVX2, BMI2, FMA, F16C; Intel since 2013, AMD since 2015)\n"
    "  build for it with: cmake --preset cpu -DWELLSPRING_MARCH=x86-64\n";

// The features that x86-64-v3 adds and code of ours may use; x86-64 psABI, table 3.1.
bool runs_here() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}

[[gnu::constructor(101)]] void check_processor() {
#if WELLSPRING_NEEDS_X86_64_V3
  if (runs_here()) return;
  // No iostreams: nothing of the standard library is set up this early.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(kDeviceExitCode);
#endif
}
#endif

}  // namespace
