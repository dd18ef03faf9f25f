// Reports a processor that is too old, instead of crashing on an illegal instruction. Only this
// file is compiled for baseline x86-64, and its constructor runs before all others, which may
// already use newer instructions.
#include <cstdlib>
#include <unistd.h>

namespace {

constexpr int kDeviceExitCode = 4;  // ErrorKind::device

#if defined(__x86_64__)
constexpr char kMessage[] =
    "wellspring: error: this processor lacks instructions that this build needs "
    "(x86-64-v3: AVX2, BMI2, FMA, F16C; Intel since 2013, AMD since 2015)\n"
    "  build a portable version: cmake --preset cpu -DWELLSPRING_MARCH=x86-64\n";

// Features of x86-64-v3 that the program may use; x86-64 psABI, table 3.1.
bool runs_here() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}

[[gnu::constructor(101)]] void check_processor() {
#if WELLSPRING_NEEDS_X86_64_V3
  if (runs_here()) return;
  // No iostreams: the standard library is not initialised yet.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(kDeviceExitCode);
#endif
}
#endif

}  // namespace
