#include "train/ranks/nccl_library.h"

#include "core/error.h"
#include "generators/own/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

namespace wellspring::nccl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libnccl.so.2";
constexpr const char* kAdvice =
    "install NCCL 2 for the driver's CUDA version: libnccl2 of Debian or Ubuntu, or "
    "nvidia-nccl-cu13 "
    "of PyPI in the virtual environment";

/// `site`: a folder site-packages.
void add_wheel(std::vector<std::string>& files, const fs::path& site) {
  const fs::path file = site / "nvidia/nccl/lib" / kName;
  std::error_code error;
  if (site.is_absolute() && fs::is_regular_file(file, error) &&
      std::ranges::find(files, file.string()) == files.end())
    files.push_back(file.string());
}

/// `root`: a virtual environment.
void add_environment(std::vector<std::string>& files, const fs::path& root) {
  std::vector<fs::path> versions;
  std::error_code error;
  for (fs::directory_iterator entry(root / "lib", error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with("python3")) versions.push_back(*entry);
  std::ranges::sort(versions);
  for (const fs::path& version : versions) add_wheel(files, version / "site-packages");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    fail(ErrorKind::device, {fmt::format("NCCL has no function {}", name), "", kAdvice});
}

}  // namespace

std::vector<std::string> library_files(const fs::path& binary, const char* environment) {
  std::vector<std::string> files = {kName};
  const fs::path folder = binary.parent_path();
  if (binary.extension() == ".so")
    add_wheel(files, folder.parent_path());
  else if (folder.is_absolute() && folder.filename() == "bin")
    add_environment(files, folder.parent_path());
  if (environment != nullptr && fs::path(environment).is_absolute())
    add_environment(files, environment);
  return files;
}

Functions open_library(const std::vector<std::string>& files) {
  void* library = nullptr;
  std::string problems;
  for (const std::string& file : files) {
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    problems += (problems.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (library == nullptr)
    fail(ErrorKind::device, {"NCCL, which several GPUs need, cannot be opened", problems, kAdvice});
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

const Functions& functions() {
  static const Functions opened =
      open_library(library_files(own::this_binary(), std::getenv("VIRTUAL_ENV")));
  return opened;
}

}  // namespace wellspring::nccl
