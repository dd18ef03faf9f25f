#include "generators/own/compile.h"

#include "core/error.h"
#include "core/io/files.h"
#include "generators/own/build.h"
#include "generators/own/child_process.h"
#include "generators/own/own_generator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace wellspring::own {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> on_path(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return ::access(name.c_str(), X_OK) == 0 ? std::optional<fs::path>(name) : std::nullopt;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path file = fs::path(folder) / name; ::access(file.c_str(), X_OK) == 0)
      return file;
  return std::nullopt;
}

/// The file that contains this library: the program or the Python module.
fs::path this_binary() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_compiler), &info) == 0) return {};
  std::error_code unreadable;
  const fs::path named = info.dli_fname == nullptr ? "" : info.dli_fname;
  // The name of the program may be relative to a folder that was left since.
  const fs::path file = named.extension() == ".so" ? named : fs::path("/proc/self/exe");
  return fs::canonical(file, unreadable);
}

bool has_headers(const fs::path& folder) {
  std::error_code unreadable;
  return fs::is_regular_file(folder / "generators" / "own" / "instance.h", unreadable);
}

/// One message of the compiler.
struct Message {
  std::string place;  ///< "rings.h:12:3"
  std::string text;
};

/// The first error in each user's line, in order. An error in Wellspring's own headers belongs to
/// the last line of the user that the compiler mentioned before it, or to no line.
std::vector<Message> errors_in(const std::string& messages, const fs::path& header) {
  std::vector<Message> errors;
  std::istringstream lines(messages);
  const std::string folder = header.parent_path().string() + "/";
  std::string before;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t user = line.find(folder);
    std::string place;
    if (user != std::string::npos) {
      std::size_t end = user + folder.size();
      for (int colons = 0; end < line.size() && (line[end] != ':' || ++colons < 3); ++end)
        if (line[end] == ' ' && colons > 0) break;
      place = line.substr(user, end - user);
      while (!place.empty() && (place.back() == ',' || place.back() == ':')) place.pop_back();
    }
    const std::string_view kinds[] = {" fatal error: ", " error: "};
    const auto* const kind = std::ranges::find_if(
        kinds, [&](std::string_view word) { return line.find(word) != std::string::npos; });
    if (kind != std::end(kinds)) {
      const std::string text = line.substr(line.find(*kind) + kind->size());
      if (place.empty()) place = before.empty() ? header.string() : before;
      if (errors.empty() || errors.back().place != place) errors.push_back({place, text});
      before.clear();
    } else if (!place.empty() && place.find(':') != std::string::npos) {
      before = place;
    }
  }
  return errors;
}

struct Hint {
  std::string_view sign, advice;
};

constexpr Hint kHints[] = {
    {"No such file or directory",
     "files are searched next to the header and among Wellspring's headers"},
    {"a functor is copied to the device",
     "members of the functor must be numbers, structs or arrays of them: no std::string, "
     "std::vector or virtual function"},
    {"trivially copyable",
     "the functor and its Scene may only have numbers, structs and arrays of them"},
    {"must be both in the functor and in kHooks",
     "name the hook in kHooks, or remove the member; generators/sample_info.h lists them"},
    {"'Params' ", "the functor needs: struct Params { ... };"},
    {"is not a member of 'wellspring::math'",
     "kernels/random/math.h has the functions that give equal bits on every device"},
    {"'draw'", "write: Scene draw(const SampleKey& key, Truth<kLatents>& truth) const"},
    {"'shade'",
     "write: template <int N> void shade(const Scene&, const PixelRun<N>&, ColourRun<N>&) const"},
    {"'make'", "write: template <class Run> void make(Run& run) const"},
    {"'layout'", "write: SampleLayout layout() const { return SampleLayout::event(2); }"},
    {"'table'", "write: static const ParamTable<Params>& table()"},
    {"'describe'", "write: static SampleInfo describe(const Params& params)"},
    {"kLatents", "write: static constexpr int kLatents = NUMBER_OF_LATENTS;"},
    {"kForm", "write: static constexpr forms::Pixels kForm = {}; or another form"},
    {"discards qualifiers", "member functions of a functor must be const"},
    {"passing 'const", "member functions of a functor must be const"},
};

std::string hint_for(const std::string& messages, const fs::path& header) {
  const std::string functor = own_functor_name(header);
  for (const char* const sign :
       {"' does not name a type", "' with no type", "' was not declared in this scope",
        "' has not been declared", "expected type-specifier before '"})
    if (messages.find("'" + functor + sign) != std::string::npos ||
        messages.find(sign + functor + "'") != std::string::npos)
      return fmt::format("{} must define the functor `struct {}`", header.filename().string(),
                         functor);
  for (const Hint& hint : kHints)
    if (messages.find(hint.sign) != std::string::npos) return std::string(hint.advice);
  return "compare it with a working generator: wellspring new generator NAME";
}

/// The files after the colon of a make rule.
std::vector<fs::path> files_of_rule(const std::string& rule) {
  std::vector<fs::path> files;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) files.emplace_back(std::move(word));
    word.clear();
  };
  const std::size_t colon = rule.find(": ");
  for (std::size_t i = colon == std::string::npos ? rule.size() : colon + 1; i < rule.size(); ++i) {
    if (rule[i] == '\\' && i + 1 < rule.size()) {
      if (rule[++i] != '\n') word += rule[i];
    } else if (rule[i] == '$' && i + 1 < rule.size() && rule[i + 1] == '$') {
      word += rule[++i];
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      end_word();
    } else {
      word += rule[i];
    }
  }
  end_word();
  return files;
}

}  // namespace

HostCompiler find_compiler() {
  const char* const chosen = std::getenv("WELLSPRING_CXX");
  std::vector<std::string> names = {kCompiler, "g++"};
  if (chosen != nullptr && *chosen != '\0') names = {chosen};
  for (const std::string& name : names) {
    const std::optional<fs::path> program = on_path(name);
    if (!program) continue;
    const ChildResult result = run_program({program->string(), "--version"});
    if (result.exit_code == 0) return {*program, result.output.substr(0, result.output.find('\n'))};
  }
  fail(ErrorKind::config,
       {fmt::format("no C++ compiler: {} cannot be run", fmt::join(names, " and ")),
        "a generator in a header is compiled on this machine",
        "install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++), or set "
        "WELLSPRING_CXX to g++ 11 or newer"});
}

std::vector<fs::path> header_folders() {
  const fs::path binary = this_binary(), folder = binary.parent_path();
  for (const fs::path& installed :
       {folder / ".." / "include" / "wellspring", folder / "include" / "wellspring"})
    if (has_headers(installed)) return {installed.lexically_normal()};
  if (has_headers(kSourceFolder) && fs::exists(fs::path(kBuildFolder) / "core" / "version.h"))
    return {kSourceFolder, kBuildFolder};
  fail(ErrorKind::config, {"Wellspring's headers are missing",
                           fmt::format("neither {} nor {} has them",
                                       (folder / "../include/wellspring").string(), kSourceFolder),
                           "install the program again, with its folder include/"});
}

std::vector<std::string> compile_flags() {
  std::istringstream words(kFlags);
  std::vector<std::string> flags(std::istream_iterator<std::string>(words), {});
  // Hidden: a copy of a built-in generator must not be replaced by the code of the program.
  for (const char* const flag : {"-fPIC", "-shared", "-fvisibility=hidden", "-fno-gnu-unique", "-w",
                                 "-fdiagnostics-color=never", "-fmax-errors=20"})
    flags.emplace_back(flag);
  return flags;
}

std::string explain_errors(const std::string& messages, const fs::path& header) {
  constexpr std::size_t kMost = 3;
  const std::vector<Message> errors = errors_in(messages, header);
  if (errors.empty())
    return fmt::format("{}: the compiler failed: {}", header.string(), messages.substr(0, 2000));
  std::string text;
  for (std::size_t i = 0; i < std::min(errors.size(), kMost); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : "\n  ", errors[i].place, errors[i].text);
  const std::string hint = hint_for(text, header);
  if (errors.size() > kMost) text += fmt::format("\n  and {} more errors", errors.size() - kMost);
  return text + "\n  hint: " + hint;
}

std::vector<fs::path> compile_header(const fs::path& header, const HostCompiler& compiler,
                                     const fs::path& folder) {
  const fs::path instance = folder / "generator.cpp", rule = folder / "generator.d";
  write_file(instance, fmt::format("#include \"generators/own/instance.h\"\n"
                                   "using namespace wellspring;\nusing OwnFunctor = {};\n"
                                   "WS_OWN_GENERATOR(OwnFunctor)\n",
                                   own_functor_name(header)));
  std::vector<std::string> words = {compiler.program};
  for (std::string& flag : compile_flags()) words.push_back(std::move(flag));
  for (const fs::path& include : header_folders()) words.push_back("-I" + include.string());
  for (const std::string& word :
       {std::string("-include"), header.string(), instance.string(), std::string("-MMD"),
        std::string("-MF"), rule.string(), std::string("-o"), (folder / "generator.so").string()})
    words.push_back(word);
  const ChildResult result = run_program(words);
  if (result.signal != 0)
    fail(ErrorKind::runtime,
         {fmt::format("{}: the compiler was ended by signal {}", header.string(), result.signal),
          "", "repeat the command; nothing was kept"});
  if (result.exit_code != 0)
    fail(ErrorKind::config, {explain_errors(result.output, header), "", ""});
  std::vector<fs::path> files = files_of_rule(read_text(rule));
  std::erase_if(files, [&](const fs::path& file) { return file == instance; });
  return files;
}

}  // namespace wellspring::own
