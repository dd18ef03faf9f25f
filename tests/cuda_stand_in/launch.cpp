// Replaces kernels/runtime/launch_cuda.cpp: a launch enqueues the host's loop with a copy of the
// parameters. If WELLSPRING_STAND_IN_LISTINGS names a folder of listings, the launch enqueues the
// kernel's own code instead, instruction by instruction. Host only.
#include "kernels/runtime/launch.h"

#include "kernels/runtime/cuda_check.h"
#include "tests/cuda_stand_in/sass/kernels.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

namespace wellspring::cuda {

void launch_kernel(const Stream& stream, KernelHandle& kernel, const LaunchShape& shape,
                   const void* parameters, std::size_t bytes) {
  cudaFuncAttributes attributes{};
  WS_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel.function()));
  check(stand_in::take_local_memory(attributes.localSizeBytes), kernel.name(), __FILE__, __LINE__);
  std::vector<std::byte> block(bytes);  // operator new aligns it to 16 bytes
  std::memcpy(block.data(), parameters, bytes);
  if (sass::Kernels* const kernels = sass::Kernels::of_environment();
      kernels != nullptr && kernels->in_use()) {
    sass::Code& code =
        kernels->find(static_cast<const stand_in::HostKernel*>(kernel.function())->block);
    stand_in::launch_kernel(
        stream.native(), kernel.name(), shape, [&code, shape, block = std::move(block)] {
          sass::run_grid(code, shape, block.data(), block.size(), stand_in::seed());
        });
    return;
  }
  const auto run = static_cast<const stand_in::HostKernel*>(kernel.function())->run;
  stand_in::launch_kernel(stream.native(), kernel.name(), shape,
                          [run, block = std::move(block)] { run(block.data()); });
}

}  // namespace wellspring::cuda
