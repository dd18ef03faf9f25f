#include "tests/cuda_stand_in/sass/kernels.h"

#include "core/text/demangled.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace wellspring::sass {
namespace {

/// "wellspring::MapBlock<F>" of "void wellspring::cuda::run_map<F>(wellspring::MapBlock<F>)"; ""
/// for other functions.
std::string block_of(const std::string& mangled_kernel) {
  const std::string text = demangled(mangled_kernel.c_str());
  for (const char* const block : {"(wellspring::MapBlock<", "(wellspring::LeagueBlock<"}) {
    const std::size_t begin = text.find(block);
    if (begin != text.npos) return text.substr(begin + 1, text.size() - begin - 2);
  }
  return {};
}

}  // namespace

Kernels* Kernels::of_environment() {
  static const char* const folder = std::getenv("WELLSPRING_STAND_IN_LISTINGS");
  static const std::unique_ptr<Kernels> kernels(folder == nullptr ? nullptr : new Kernels(folder));
  return kernels.get();
}

Code& Kernels::find(const std::string& block) {
  std::unique_ptr<Code>& code = codes_[block];
  if (code) return *code;
  if (mangled_.empty()) {
    for (const auto& [mangled, listing] : listings_) mangled_[block_of(mangled)] = mangled;
  }
  const std::string type = demangled(block.c_str());
  const auto found = mangled_.find(type);
  if (found == mangled_.end()) throw std::runtime_error("no listing of a kernel for " + type);
  const std::string& kernel = found->second;
  code = std::make_unique<Code>(type, parse_listings(listings_.at(kernel)).at(kernel));
  if (const char* const ran = std::getenv("WELLSPRING_STAND_IN_RAN"))
    std::ofstream(ran, std::ios::app) << kernel << '\n';
  return *code;
}

std::uint64_t Kernels::warp_instructions() const {
  std::uint64_t sum = 0;
  for (const auto& [name, code] : codes_) {
    if (code) sum += code->warp_instructions();
  }
  return sum;
}

std::uint64_t Kernels::warp_instructions(Pipe pipe) const {
  std::uint64_t sum = 0;
  for (const auto& [name, code] : codes_) {
    if (code) sum += code->warp_instructions(pipe);
  }
  return sum;
}

Traffic Kernels::traffic() const {
  Traffic sum;
  for (const auto& [name, code] : codes_) {
    if (code) sum += code->traffic;
  }
  return sum;
}

}  // namespace wellspring::sass
