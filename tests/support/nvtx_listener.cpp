// An imitation of NVIDIA's tools for NVTX: a library that NVTX_INJECTION64_PATH names. It appends
// the name of each range that begins, and "/" for each end, to the file WS_NVTX_LOG. Tests only.
#include <cstdio>
#include <cstdlib>
#include <nvtx3/nvToolsExt.h>

namespace {

int add_line(const char* text) {
  if (std::FILE* const log = std::fopen(std::getenv("WS_NVTX_LOG"), "a")) {
    std::fprintf(log, "%s\n", text);
    std::fclose(log);
  }
  return 0;
}

int push(const char* name) {
  return add_line(name);
}
int pop() {
  return add_line("/");
}

}  // namespace

/// Called by NVTX before its first range; 1: a tool is attached.
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned int count = 0;
  if (callbacks == nullptr || std::getenv("WS_NVTX_LOG") == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count) == 0 ||
      count <= NVTX_CBID_CORE_RangePop)
    return 0;
  *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
