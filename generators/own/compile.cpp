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

bool has_headers(const fs::path& folder) {
  std::error_code unreadable;
  return fs::is_regular_file(folder / "generators" / "own" / "instance.h", unreadable);
}

/// One message of the compiler.
struct Message {
  std::string place;  ///< "rings.h:12:3"
  std::string text;
};

/// Messages of nvcc, "rings.h(12): error: text" and two lines that show the place, in the form of
/// g++: "rings.h:12:3: error: text".
std::string in_form_of_gcc(const std::string& messages) {
  std::string text;
  std::vector<std::string> lines;
  std::istringstream all(messages);
  for (std::string line; std::getline(all, line);) lines.push_back(std::move(line));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines[i];
    const std::size_t close = line.find("): error"), open = line.rfind('(', close);
    if (close != std::string::npos && open != std::string::npos) {
      std::string place = line.substr(0, open) + ":" + line.substr(open + 1, close - open - 1);
      const std::string marks = i + 2 < lines.size() ? lines[i + 2] : "";
      const std::size_t caret = marks.find_first_not_of(' ');
      constexpr std::size_t kIndent = 2;  // nvcc indents the lines that it quotes
      if (caret != std::string::npos && caret >= kIndent && marks.substr(caret) == "^")
        place += fmt::format(":{}", caret - kIndent + 1);
      line = place + line.substr(close + 1);
    }
    text += line + "\n";
  }
  return text;
}

/// The user's file, line and column in a line of the compiler, or "". `folder` ends with '/'.
std::string place_in(const std::string& line, const std::string& folder) {
  const std::size_t user = line.find(folder);
  if (user == std::string::npos) return "";
  std::size_t end = user + folder.size();
  for (int colons = 0; end < line.size() && (line[end] != ':' || ++colons < 3); ++end)
    if (line[end] == ' ' && colons > 0) break;
  std::string place = line.substr(user, end - user);
  while (!place.empty() && (place.back() == ',' || place.back() == ':')) place.pop_back();
  return place;
}

/// The first places where `header` or the user's files next to it promote float to double.
std::vector<std::string> promotions_in(const std::string& messages, const fs::path& header) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> places;
  std::istringstream lines(messages);
  for (std::string line; places.size() < kMost && std::getline(lines, line);) {
    if (line.find("[-Wdouble-promotion]") == std::string::npos) continue;
    const std::string place = place_in(line, header.parent_path().string() + "/");
    if (!place.empty() && std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return places;
}

constexpr std::string_view kBareAssertion = "static assertion failed";

/// The first error in each user's line, in order. An error in Wellspring's own headers belongs to
/// the last line of the user that the compiler mentioned before it, or to no line.
std::vector<Message> errors_in(const std::string& messages, const fs::path& header) {
  std::vector<Message> errors;
  std::istringstream lines(messages);
  const std::string folder = header.parent_path().string() + "/";
  std::string before;
  for (std::string line; std::getline(lines, line);) {
    // An assertion without a text: the compiler quotes its condition on the next line.
    const std::size_t quoted = line.find(" | ");
    if (quoted != std::string::npos && !errors.empty() && errors.back().text == kBareAssertion) {
      const std::size_t begin = line.find_first_not_of(' ', quoted + 3);
      errors.back().text += ": " + line.substr(std::min(begin, line.size()));
    }
    if (line.find(": warning: ") != std::string::npos) continue;
    const std::string place = place_in(line, folder);
    const std::string_view kinds[] = {" fatal error: ", " error: "};
    const auto* const kind = std::ranges::find_if(
        kinds, [&](std::string_view word) { return line.find(word) != std::string::npos; });
    if (kind != std::end(kinds)) {
      const std::string text = line.substr(line.find(*kind) + kind->size());
      if (text.starts_with("ld returned")) continue;  // the lines before it say why
      const std::string at = !place.empty() ? place : before.empty() ? header.string() : before;
      if (errors.empty() || errors.back().place != at) errors.push_back({at, text});
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
     "files are searched for next to the header and among Wellspring's headers"},
    {"a functor is copied to the device",
     "members of the functor must be numbers, structs or arrays of them: no std::string, "
     "std::vector or virtual function"},
    {"trivially_copyable",
     "the functor and its Scene may only have numbers, structs and arrays of them"},
    {"must be both in the functor and in kHooks",
     "name the hook in kHooks, or remove the member; generators/sample_info.h lists them"},
    {"'Params' ", "the functor needs: struct Params { ... };"},
    {"is not a member of 'wellspring::math'",
     "kernels/random/math.h has functions that give the same bits on every device"},
    {"'draw'", "write: Scene draw(const SampleKey& key, Truth<kLatents>& truth) const"},
    {"'shade'",
     "write: template <int N> void shade(const Scene&, const PixelRun<N>&, ColourRun<N>&) const"},
    {"'make'", "write: template <class Run> void make(Run& run) const"},
    {"'layout'", "write: SampleLayout layout() const { return SampleLayout::event(2); }"},
    {"'table'", "write: static const ParamTable<Params>& table()"},
    {"'describe'", "write: static SampleInfo describe(const Params& params)"},
    {"kLatents", "write: static constexpr int kLatents = NUMBER_OF_LATENTS;"},
    {"kForm", "write: static constexpr forms::Pixels kForm = {}; or another form"},
    {"calling a __host__ function",
     "write WS_INLINE before functions of your own; a GPU has no functions of the standard "
     "library"},
    {"has not been declared in '::'", "a closing brace is missing in the header"},
    {"error writing to", "free some space, or set TMPDIR to another folder"},
    {"No space left on device", "free some space, or set TMPDIR to another folder"},
    {"unsupported GNU version", "set WELLSPRING_CXX to a g++ that this nvcc supports"},
    {"discards qualifiers", "member functions of a functor must be const"},
    {"passing 'const", "member functions of a functor must be const"},
};

std::string functor_needed(const fs::path& header) {
  return fmt::format("{} must define the functor `struct {}`", header.filename().string(),
                     own_functor_name(header));
}

std::string hint_for(const std::string& messages, const fs::path& header) {
  const std::string functor = own_functor_name(header);
  for (const char* const sign :
       {"' does not name a type", "' with no type", "' was not declared in this scope",
        "' has not been declared", "expected type-specifier before '"})
    if (messages.find("'" + functor + sign) != std::string::npos ||
        messages.find(sign + functor + "'") != std::string::npos)
      return functor_needed(header);
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

std::vector<std::string> words_of(const char* text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

struct Candidates {
  const char* variable;            ///< overrides the names
  std::vector<std::string> names;  ///< programs or paths; "": none
  std::string_view version;        ///< mark of the line that has the version; "": the first line
};

Compiler find_program(Candidates of, const ErrorText& missing) {
  const char* const chosen = std::getenv(of.variable);
  if (chosen != nullptr && *chosen != '\0') of.names = {chosen};
  std::erase(of.names, "");
  for (const std::string& name : of.names) {
    const std::optional<fs::path> program = on_path(name);
    if (!program) continue;
    const ChildResult result = run_program({program->string(), "--version"});
    if (result.exit_code != 0) continue;
    const std::string& text = result.output;
    const std::size_t mark = std::min(text.find(of.version), text.size());
    const std::size_t line = text.rfind('\n', mark) + 1;  // 0 for the first line
    return {*program, text.substr(line, text.find('\n', mark) - line)};
  }
  fail(ErrorKind::config,
       {fmt::format("{}: {} cannot be run", missing.problem, fmt::join(of.names, " and ")),
        missing.why, missing.advice});
}

/// Returns the messages of the compiler.
std::string run_compiler(const std::vector<std::string>& words, const fs::path& header) {
  const ChildResult result = run_program(words);
  if (result.signal != 0)
    fail(ErrorKind::config,
         {fmt::format("{}: the compiler was ended by signal {}", header.string(), result.signal),
          "", "repeat the command, if the machine has enough memory; nothing was kept"});
  if (result.exit_code != 0)
    fail(ErrorKind::config, {explain_errors(result.output, header), "", ""});
  return result.output;
}

void add_includes(std::vector<std::string>& words, const fs::path& header) {
  for (const fs::path& include : header_folders()) words.push_back("-I" + include.string());
  for (const std::string& word : {std::string("-include"), header.string()}) words.push_back(word);
}

std::string functor_alias(const fs::path& header) {
  return fmt::format("using namespace wellspring;\nusing OwnFunctor = {};\n",
                     own_functor_name(header));
}

/// Compiles the kernels of `header` into `folder`/generator.cubin, and writes generator.cu, which is
/// also the source of their handles. Returns the files that they include.
std::vector<fs::path> compile_device_code(const fs::path& header, const Toolchain& toolchain,
                                          const fs::path& folder) {
  const fs::path source = folder / "generator.cu", cubin = folder / "generator.cubin",
                 rule = folder / "device.d";
  write_to_cache(source,
                 fmt::format("#include \"kernels/emission/device_code.h\"\n"
                             "#ifdef __CUDACC__\n#include \"kernels/runtime/launch.cuh\"\n#else\n"
                             "#include \"generators/own/kernel_handles.h\"\n"
                             "WS_OWN_CUBIN(R\"path({})path\");\n#endif\n{}"
                             "WS_CUDA_GENERATOR(OwnFunctor);\n",
                             cubin.string(), functor_alias(header)));
  std::vector<std::string> words = {toolchain.nvcc.program, "-ccbin", toolchain.host.program};
  std::ranges::copy(words_of(kNvccFlags), std::back_inserter(words));
  words.push_back("-arch=" + toolchain.target.arch);
  add_includes(words, header);
  for (const std::string& word :
       {source.string(), std::string("-MMD"), std::string("-MF"), rule.string(),
        std::string("-cubin"), std::string("-o"), cubin.string()})
    words.push_back(word);
  run_compiler(words, header);
  // The compiler's version stands for CUDA's own headers.
  const fs::path toolkit = fs::weakly_canonical(toolchain.nvcc.program).parent_path().parent_path();
  std::vector<fs::path> files = files_of_rule(read_text(rule));
  std::erase_if(files, [&](const fs::path& file) {
    const fs::path below = fs::weakly_canonical(file).lexically_relative(toolkit);
    return !below.empty() && *below.begin() != "..";
  });
  return files;
}

}  // namespace

fs::path this_binary() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_compiler), &info) == 0) return {};
  std::error_code unreadable;
  const fs::path named = info.dli_fname == nullptr ? "" : info.dli_fname;
  // The name of the program may be relative to a folder that the process has left.
  const fs::path file = named.extension() == ".so" ? named : fs::path("/proc/self/exe");
  return fs::canonical(file, unreadable);
}

Compiler find_compiler() {
  return find_program(
      {"WELLSPRING_CXX", {kCompiler, "g++"}, ""},
      {"no C++ compiler", "a generator in a header is compiled on this machine",
       "install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++), or set "
       "WELLSPRING_CXX to g++ 11 or newer"});
}

Compiler find_nvcc() {
  return find_program(
      {"WELLSPRING_NVCC", {kNvcc, "nvcc", "/usr/local/cuda/bin/nvcc"}, "release "},
      {"no CUDA compiler", "a generator in a header is compiled for the GPU on this machine",
       "install one (Debian, Ubuntu: apt install nvidia-cuda-toolkit; newer ones: "
       "developer.nvidia.com/cuda-downloads), or set WELLSPRING_NVCC to the path of nvcc; "
       "device=cpu needs none"});
}

std::string Toolchain::version() const {
  return target.arch.empty() ? host.version : host.version + "; " + nvcc.version;
}

Toolchain find_toolchain(const Target& target) {
  if (target.arch.empty()) return {find_compiler(), target, {}};
#if WELLSPRING_CUDA
  return {find_compiler(), target, find_nvcc()};
#else
  fail(ErrorKind::config,
       {fmt::format("--arch {}: this program was built without CUDA", target.arch), "",
        "compile the header with the program that will use it"});
#endif
}

std::string arch_of(Device device) {
  const int capability = describe(device).compute_capability;
  return fmt::format("sm_{}", capability == 0 ? kStandInCapability : capability);
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

std::vector<std::string> compile_flags(const Target& target) {
  std::vector<std::string> flags = words_of(kFlags);
  // Hidden: a copy of a built-in generator must not be replaced by the code of the program.
  for (const char* const flag :
       {"-fPIC", "-shared", "-fvisibility=hidden", "-fno-gnu-unique", "-Wdouble-promotion",
        "-Wno-error", "-fdiagnostics-color=never", "-fmax-errors=20"})
    flags.emplace_back(flag);
  if (target.checked)
    for (const char* const flag : {"-DWELLSPRING_SANITIZED=1", "-O1"}) flags.emplace_back(flag);
  if (target.arch.empty()) return flags;
  std::ranges::copy(words_of(kDeviceHostFlags), std::back_inserter(flags));
  // Both files of the object include the header, whose functions may lack `inline`.
  flags.emplace_back("-Wl,-z,muldefs");
  return flags;
}

void write_to_cache(const fs::path& file, std::string_view text) {
  try {
    write_file(file, text);
  } catch (const Error& error) {
    fail(ErrorKind::config, {error.what(), "", "set WELLSPRING_CACHE to another folder"});
  }
}

void refuse_cache(const fs::path& file, const std::string& reason) {
  fail(ErrorKind::config, {fmt::format("cannot write {}", file.string()), reason,
                           "free some space, or set WELLSPRING_CACHE to another folder"});
}

void expect_functor(const fs::path& header) {
  const std::string text = read_text(header);
  for (const std::string& sign :
       {own_functor_name(header), std::string("#include"), std::string("##")})
    if (text.find(sign) != std::string::npos) return;
  const bool empty = text.find_first_not_of(" \t\r\n") == std::string::npos;
  fail(ErrorKind::config,
       {header.string() + (empty ? ": the file is empty" : ": it defines no generator"),
        functor_needed(header), "wellspring new generator NAME writes a header that works"});
}

std::vector<std::string> inexact_calls(const fs::path& object) {
  // IEEE 754 requires none of them to be rounded correctly, unlike sqrt, fma and fmod. An object names
  // the functions that it needs in a table of strings that end with 0 (ELF, section .dynstr).
  const std::vector<std::byte> bytes = read_bytes(object);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> calls;
  for (const std::string name :
       {"sin",  "cos", "tan",  "asin",  "acos",   "atan",   "atan2", "sinh",  "cosh",
        "tanh", "exp", "exp2", "expm1", "log",    "log2",   "log10", "log1p", "pow",
        "cbrt", "erf", "erfc", "hypot", "tgamma", "lgamma", "sincos"})
    for (const std::string& function : {name, name + "f"})
      if (text.find('\0' + function + '\0') != std::string_view::npos) calls.push_back(function);
  return calls;
}

std::string explain_errors(const std::string& messages, const fs::path& header) {
  constexpr std::size_t kMost = 3;
  const std::vector<Message> errors = errors_in(in_form_of_gcc(messages), header);
  if (errors.empty())
    return fmt::format("{}: the compiler failed: {}\n  hint: {}", header.string(),
                       messages.substr(0, 2000), hint_for(messages, header));
  std::string text;
  for (std::size_t i = 0; i < std::min(errors.size(), kMost); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : "\n  ", errors[i].place, errors[i].text);
  const std::string hint = hint_for(text, header);
  if (errors.size() > kMost) text += fmt::format("\n  and {} more errors", errors.size() - kMost);
  return text + "\n  hint: " + hint;
}

IncludedFiles compile_header(const fs::path& header, const Toolchain& toolchain,
                             const fs::path& folder) {
  const fs::path rule = folder / "generator.d", object = folder / "generator.so";
  std::vector<fs::path> sources = {folder / "generator.cpp"};
  IncludedFiles files;
  if (!toolchain.target.arch.empty()) {
    sources.insert(sources.begin(), folder / "generator.cu");
    files.device = compile_device_code(header, toolchain, folder);
  }
  write_to_cache(
      folder / "generator.cpp",
      fmt::format("#include \"generators/own/instance.h\"\n{}WS_OWN_GENERATOR(OwnFunctor)\n",
                  functor_alias(header)));
  std::vector<std::string> words = {toolchain.host.program};
  std::ranges::copy(compile_flags(toolchain.target), std::back_inserter(words));
  add_includes(words, header);
  for (const char* const word : {"-x", "c++"}) words.emplace_back(word);
  std::ranges::copy(sources, std::back_inserter(words));
  for (const std::string& word :
       {std::string("-MMD"), std::string("-MF"), rule.string(), std::string("-o"), object.string()})
    words.push_back(word);
  files.promotions = promotions_in(run_compiler(words, header), header);
  files.host = files_of_rule(read_text(rule));  // g++ writes the rule of the last source
  const auto is_written_here = [&](const fs::path& file) { return file.parent_path() == folder; };
  std::erase_if(files.host, is_written_here);
  std::erase_if(files.device, is_written_here);
  return files;
}

}  // namespace wellspring::own
