#include "generators/own/kernel_library.h"

#include "core/text/demangled.h"
#include "kernels/runtime/cuda_check.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace wellspring::own {
namespace {

#if WELLSPRING_CUDA && !WELLSPRING_CUDA_STAND_IN
using NamedKernels = std::map<std::string, cudaKernel_t>;  ///< by mangled name

NamedKernels load_cubin(const std::byte* cubin) {
  cudaLibrary_t library = nullptr;  // never unloaded: recorded steps may launch its kernels
  WS_CUDA_CHECK(cudaLibraryLoadData(&library, cubin, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  WS_CUDA_CHECK(cudaLibraryGetKernelCount(&count, library));
  std::vector<cudaKernel_t> kernels(count);
  WS_CUDA_CHECK(cudaLibraryEnumerateKernels(kernels.data(), count, library));
  NamedKernels named;
  for (cudaKernel_t kernel : kernels) {
    const char* name = nullptr;
    WS_CUDA_CHECK(cudaFuncGetName(&name, kernel));
    named[name] = kernel;
  }
  return named;
}
#endif

}  // namespace

bool takes_block(const std::string& mangled, const std::type_info& block) {
  return demangled(mangled.c_str()).ends_with("(" + demangled(block.name()) + ")");
}

#if WELLSPRING_CUDA && !WELLSPRING_CUDA_STAND_IN
const void* find_kernel(const std::byte* cubin, const std::type_info& block) {
  static std::mutex mutex;
  static std::map<const std::byte*, NamedKernels> libraries;
  const std::lock_guard lock(mutex);
  auto found = libraries.find(cubin);
  if (found == libraries.end()) found = libraries.emplace(cubin, load_cubin(cubin)).first;
  for (const auto& [name, kernel] : found->second)
    if (takes_block(name, block)) return kernel;
  throw std::logic_error(
      fmt::format("the compiled header has no kernel for {}", demangled(block.name())));
}
#endif

}  // namespace wellspring::own
