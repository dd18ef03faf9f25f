#include "tests/cuda_stand_in/sass/kernels.h"

#include <cstdlib>
#include <cxxabi.h>
#include <stdexcept>
#include <string_view>

namespace wellspring::sass {
namespace {

std::string without_spaces(std::string_view text) {
  std::string out(text);
  std::erase(out, ' ');
  return out;
}

/// "map:F" of "void wellspring::cuda::run_map<F>(wellspring::MapBlock<F>)".
std::string key_of_mangled(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) return {};
  const std::string text = without_spaces(name.get());
  for (const auto& [launcher, block] : {std::pair{"run_map<", ">(wellspring::MapBlock<"},
                                        std::pair{"run_league<", ">(wellspring::LeagueBlock<"}}) {
    const std::size_t begin = text.find(launcher), end = text.find(block);
    if (begin == text.npos || end == text.npos) continue;
    const std::size_t functor = begin + std::string_view(launcher).size();
    return std::string(launcher) + text.substr(functor, end - functor);
  }
  return {};
}

/// The same key for "... wellspring::cuda::map_kernel() [with F = ...]".
std::string key_of_handle(std::string_view name) {
  const std::string_view mark = "[with F = ";
  const std::size_t begin = name.find(mark) + mark.size(), end = name.rfind(']');
  const bool is_map = name.find("map_kernel") != name.npos;
  return (is_map ? "run_map<" : "run_league<") + without_spaces(name.substr(begin, end - begin));
}

}  // namespace

Kernels* Kernels::of_environment() {
  static const char* const folder = std::getenv("WELLSPRING_STAND_IN_LISTINGS");
  static const std::unique_ptr<Kernels> kernels(folder == nullptr ? nullptr : new Kernels(folder));
  return kernels.get();
}

Code& Kernels::find(const std::string& name) {
  std::unique_ptr<Code>& code = codes_[name];
  if (code) return *code;
  if (mangled_.empty()) {
    for (const auto& [mangled, listing] : listings_) mangled_[key_of_mangled(mangled)] = mangled;
  }
  const auto found = mangled_.find(key_of_handle(name));
  if (found == mangled_.end()) throw std::runtime_error("no listing for " + name);
  code = std::make_unique<Code>(key_of_handle(name), listings_.at(found->second));
  return *code;
}

std::uint64_t Kernels::warp_instructions() const {
  std::uint64_t sum = 0;
  for (const auto& [name, code] : codes_) {
    if (code) sum += code->warp_instructions();
  }
  return sum;
}

}  // namespace wellspring::sass
