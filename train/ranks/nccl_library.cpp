#include "train/ranks/nccl_library.h"

#include "core/error.h"

#include <fmt/format.h>

#include <dlfcn.h>

namespace wellspring::nccl {
namespace {

constexpr const char* kAdvice =
    "install NCCL 2 for the driver's CUDA version (Debian and Ubuntu: libnccl2; PyPI: "
    "nvidia-nccl-cu13), "
    "and add its folder to LD_LIBRARY_PATH";

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    fail(ErrorKind::device, {fmt::format("NCCL has no function {}", name), "", kAdvice});
}

Functions load() {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    fail(ErrorKind::device,
         {"NCCL, which several GPUs need, cannot be opened", dlerror(), kAdvice});
  Functions functions{};
  find(library, "ncclGetUniqueId", functions.get_unique_id);
  find(library, "ncclCommInitRank", functions.init_rank);
  find(library, "ncclAllReduce", functions.all_reduce);
  find(library, "ncclCommAbort", functions.abort);
  find(library, "ncclCommDestroy", functions.destroy);
  find(library, "ncclGetErrorString", functions.error_text);
  find(library, "ncclGetVersion", functions.version);
  return functions;  // the library stays open for the life of the process
}

}  // namespace

const Functions& functions() {
  static const Functions opened = load();
  return opened;
}

}  // namespace wellspring::nccl
