// `wellspring doctor`: the capabilities of this machine and what is missing.
#include "bench/machine.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/version.h"
#include "generators/own/compile.h"
#include "kernels/runtime/device.h"
#if WELLSPRING_CUDA
#include "kernels/ops/cuda/versions.h"
#endif

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#ifndef WELLSPRING_NO_OPENSSL
#include <openssl/crypto.h>
#endif
#include <png.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/statvfs.h>

namespace wellspring::cli {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

/// Describes a compiler for header generators.
std::string compiler_text(own::Compiler (*find)()) {
  try {
    const own::Compiler compiler = find();
    return fmt::format("{} ({}), for generators of your own", compiler.program.string(),
                       compiler.version);
  } catch (const Error& error) {
    return fmt::format("none: {}", error.what());
  }
}

void line(const char* what, const std::string& value) {
  fmt::print("  {:<16} {}\n", what, printable(value));
}

void heading(const char* text) {
  fmt::print("{}\n", paint(Colour::bold, text));
}

std::string free_space(const char* path) {
  struct statvfs info {};
  if (statvfs(path, &info) != 0) return "not mounted";
  const double unit = static_cast<double>(info.f_frsize) / kGiB;
  return fmt::format("{:.1f} GiB, {:.1f} GiB free", static_cast<double>(info.f_blocks) * unit,
                     static_cast<double>(info.f_bavail) * unit);
}

std::string cuda_version(int version) {
  return version == 0 ? "none" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void print_machine() {
  heading("machine");
  const bench::Machine machine = bench::this_machine();
  const int processors = usable_cpu_count();
  line("processor", fmt::format("{}, {} available to this process", machine.processor,
                                counted(processors, "processor")));
  line("threads", fmt::format("{}, set by {}", machine.threads, machine.threads_from));
  line("instructions", machine.instruction_sets);
  line("load", fmt::format("{:.2f} (average over the last minute)", machine.load));
  line("memory", fmt::format("{:.1f} GiB, {:.1f} GiB available", machine.memory_bytes / kGiB,
                             machine.available_bytes / kGiB));
  if (!machine.memory_limited_by.empty()) line("", "limited by " + machine.memory_limited_by);
  line("/dev/shm", free_space("/dev/shm"));
  line("this folder", free_space("."));
  line("system", machine.system);
  line("C++ compiler", compiler_text(own::find_compiler));
}

void print_gpus() {
  heading("GPU");
  const CudaStatus status = cuda_status();
  line("CUDA build",
       status.built ? fmt::format("yes, for architectures {}", kCudaArchitectures) : "no");
  if (status.built) line("CUDA compiler", compiler_text(own::find_nvcc));
  line("driver", cuda_version(status.driver_version));
  line("runtime", cuda_version(status.runtime_version));
  if (status.device_count == 0) line("usable", "none: " + status.reason);
  for (int index = 0; index < status.device_count; ++index) {
    const DeviceDescription gpu = describe(Device::cuda(index));
    line(Device::cuda(index).to_string().c_str(),
         fmt::format("{}, compute {}.{}, {} multiprocessors, {:.1f} GiB, {:.1f} GiB free", gpu.name,
                     gpu.compute_capability / 10, gpu.compute_capability % 10, gpu.multiprocessors,
                     static_cast<double>(gpu.memory_bytes) / kGiB,
                     static_cast<double>(gpu.free_bytes) / kGiB));
  }
}

void print_libraries() {
  heading("libraries");
  const dnnl_version_t* dnnl = dnnl_version();
  line("wellspring", fmt::format("{} {} {}", kVersion, kBuildType, kHostArchitecture));
  line("oneDNN", fmt::format("{}.{}.{}", dnnl->major, dnnl->minor, dnnl->patch));
#if WELLSPRING_CUDA
  line("cuDNN", ops::cuda::cudnn_version());
  line("cuBLASLt", ops::cuda::cublas_lt_version());
#endif
#ifndef WELLSPRING_NO_OPENSSL
  line("OpenSSL", OpenSSL_version(OPENSSL_VERSION));
#endif
  line("libpng", png_get_libpng_ver(nullptr));
  line("zlib", zlibVersion());
}

void print_advice() {
  heading("advice");
  const CudaStatus status = cuda_status();
  if (!status.built) {
    line("GPU",
         "this program was built without CUDA; './test' builds it with CUDA if it finds a toolkit");
  } else if (status.device_count == 0) {
    line("GPU", "no usable GPU (reason above): training runs on the CPU");
  }
  const bench::Machine machine = bench::this_machine();
  if (machine.available_bytes < 2 * kGiB)
    line("memory", "less than 2 GiB available: use a small batch");
  if (machine.load > 0.5 * usable_cpu_count()) {
    line("load",
         "other programs are using the cores: rates will be low and noisy; OMP_WAIT_POLICY=passive "
         "may help");
  }
  if (std::getenv("OMP_NUM_THREADS") != nullptr && machine.threads < usable_cpu_count()) {
    line("OMP_NUM_THREADS", "leaves cores idle; 'threads: N' in a configuration takes precedence");
  }
  line("next", "wellspring train configs/quickstart.yaml");
}

}  // namespace

Command add_doctor(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "doctor", "show the processor, memory, GPUs and libraries, and what is missing");
  return {app, [] {
            print_machine();
            print_gpus();
            print_libraries();
            print_advice();
            return 0;
          }};
}

}  // namespace wellspring::cli
