#include "generators/own/own_generator.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/sha256.h"
#include "generators/own/check.h"
#include "generators/own/instance.h"
#include "generators/own/kernel_library.h"
#include "generators/own/object_cache.h"
#include "kernels/random/philox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <dlfcn.h>
#include <future>
#include <map>
#include <mutex>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// True for the user's configurations and command lines, false for checkpoints, run folders and
/// names without a location.
bool is_written_by_user(const ConfigLocation& place) {
  return place.origin == ConfigOrigin::user && !place.file.empty() &&
         fs::path(place.file).filename() != "config.resolved.yaml";
}

/// If this library is part of a Python module, makes its symbols visible to the object.
void publish_symbols() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&publish_symbols), &info) != 0 &&
      std::string_view(info.dli_fname).ends_with(".so"))
    ::dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

own::CheckedGenerator load_checked(const own::CompiledObject& object, const fs::path& header) {
  publish_symbols();
  // Never closed: samples may be made until the process ends.
  void* const library = ::dlopen(object.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string reason = ::dlerror();
    const bool lacks_kernel = reason.find("_kernel") != std::string::npos;
    fail(ErrorKind::config,
         {fmt::format("{}: cannot be loaded", header.string()), reason,
          lacks_kernel ? "only the header's own functor has kernels; use device=cpu, or add the "
                         "header to generators/CMakeLists.txt (docs/contributing.md)"
                       : "an undefined symbol needs a definition in the header"});
  }
  auto* const fill = reinterpret_cast<own::Fill*>(::dlsym(library, own::kFillSymbol));
  own::CheckedGenerator loaded;
  GeneratorEntry& entry = loaded.entry;
  own::ObjectContext context{own::interface_of_headers(), {object.hash, header.string()}};
  context.drawn = &loaded.drawn;
#if WELLSPRING_CUDA && !WELLSPRING_CUDA_STAND_IN
  context.find_kernel = &own::find_kernel;
#endif
  if (fill == nullptr || !fill(entry, context))
    fail(ErrorKind::config, {fmt::format("{}: cannot be loaded", header.string()),
                             "Wellspring's headers and the program have different versions",
                             "build or install the program again"});
  if (entry.name != header.stem().string())
    fail(ErrorKind::config,
         {fmt::format("{}: describe() calls the generator '{}'", header.string(), entry.name),
          "the name is part of the key of all random numbers",
          fmt::format("write info.name = \"{}\", or rename the file", header.stem().string())});
  entry.others = &generator_registry();
  return loaded;
}

GeneratorEntry load_object(const own::CompiledObject& object, const fs::path& header) {
  return load_checked(object, header).entry;
}

/// A header that is used in this process.
struct Loaded {
  GeneratorEntry entry;
  OwnSource source;
  own::MayCompile may = own::MayCompile::no;     ///< yes: the user named it
  std::map<std::string, GeneratorEntry> on_gpu;  ///< by architecture
};

/// Headers by path. Entries are never moved.
struct LoadedHeaders {
  std::function<void(const std::string&)> tell;  ///< see watch_compilations
  std::mutex mutex;
  std::map<std::string, Loaded> entries;
};

LoadedHeaders& loaded_headers() {
  static LoadedHeaders headers;
  return headers;
}

/// Finds the object, or announces the compilation and compiles it.
std::optional<own::CompiledObject> get_object(own::ObjectCache& cache, const fs::path& header,
                                              const std::string& arch, own::MayCompile may) {
  const auto& tell = loaded_headers().tell;
  const auto announce = [&] {
    if (tell)
      tell(fmt::format("compiling {}{}, once per version of the header", header.string(),
                       arch.empty() ? "" : " for " + arch));
  };
  std::optional<own::CompiledObject> object = cache.get(header, {.arch = arch}, may, announce);
  if (!tell || !object || object->from_cache) return object;
  if (const auto calls = own::inexact_calls(object->file); !calls.empty())
    tell(fmt::format(
        "{} calls {} of the C library, whose last bits differ between machines; samples "
        "are the same everywhere with the functions of kernels/random/math.h",
        header.string(), fmt::join(calls, ", ")));
  if (!object->promotions.empty())
    tell(fmt::format("{}: float becomes double, which is slow on a GPU; write 0.5f, not 0.5",
                     fmt::join(object->promotions, ", ")));
  return object;
}

[[noreturn]] void refuse_change(const fs::path& header) {
  fail(ErrorKind::config, {header.string() + ": changed while it was in use", "", "start again"});
}

OwnSource source_of(const own::CompiledObject& object, const fs::path& header) {
  OwnSource source{object.hash, {}};
  for (const fs::path& file : object.sources) {
    const fs::path below = file.lexically_relative(header.parent_path());
    const bool outside = below.empty() || *below.begin() == "..";
    source.files.push_back({(outside ? file : below).string(), read_text(file)});
  }
  if (hash_of(source) != source.hash) refuse_change(header);
  return source;
}

/// Throws a config error unless `failure` is "". `option`: an option of wellspring compile, or "".
void refuse_failure(const std::string& failure, const fs::path& header, const std::string& option) {
  if (failure.empty()) return;
  fail(ErrorKind::config,
       {fmt::format("{}: the generator fails its check: {}", header.string(), failure),
        "with default parameters and seed 7",
        fmt::format("correct it; to use it nevertheless: wellspring compile --trust {}{}",
                    header.string(), option)});
}

void expect_lawful(const own::CompiledObject& object, const fs::path& header) {
  refuse_failure(own::failure_of([&] { return load_checked(object, header); }, {}), header, "");
}

/// Compiles or finds the header for CPUs, and checks it unless that was done before. The check
/// needs a second object, which counts random numbers; both are compiled at the same time.
std::optional<own::CompiledObject> prepare(own::ObjectCache& cache, const fs::path& header,
                                           own::MayCompile may, OwnCheck check) {
  std::optional<own::CompiledObject> object = get_object(cache, header, "", own::MayCompile::no);
  if (object ? object->checked : may == own::MayCompile::no) return object;
  const bool counts = check == OwnCheck::run && !WS_COUNTS_DRAWS;  // otherwise `object` does
  own::ObjectCache second_cache;
  std::future<std::optional<own::CompiledObject>> second;
  if (counts)
    second = std::async(std::launch::async,
                        [&] { return second_cache.get(header, {.checked = true}, may); });
  if (!object) object = get_object(cache, header, "", may);
  const auto counting = counts ? second.get() : object;
  if (!counting) return std::nullopt;
  if (counting->hash != object->hash) refuse_change(header);
  if (check == OwnCheck::run) expect_lawful(*object, header);
  if (counts) expect_lawful(*counting, header);
  cache.mark_checked(*object);
  return object;
}

[[noreturn]] void refuse_to_compile(const std::string& where, const std::string& arguments) {
  fail(ErrorKind::config,
       {where + ": not compiled", "only a configuration or a command starts the compiler",
        "run wellspring compile " + arguments});
}

const Loaded& loaded(const std::string& name, const ConfigLocation& place) {
  const std::string path = own_generator_path(name, place);
  const auto may = is_written_by_user(place) ? own::MayCompile::yes : own::MayCompile::no;
  LoadedHeaders& headers = loaded_headers();
  const std::lock_guard lock(headers.mutex);
  if (const auto found = headers.entries.find(path); found != headers.entries.end()) {
    found->second.may = std::max(found->second.may, may);
    return found->second;
  }
  require_file(path);
  own::ObjectCache cache;
  const auto object = prepare(cache, path, may, OwnCheck::run);
  if (!object) refuse_to_compile(place.prefix() + path, path);
  Loaded known{load_object(*object, path), source_of(*object, path), may, {}};
  return headers.entries.emplace(path, std::move(known)).first->second;
}

/// The generator of a loaded header with device code for a GPU. The first use compares its samples
/// with the host's samples.
const GeneratorEntry& loaded_on_gpu(const OwnHeader& header, Device device) {
  const std::string arch = own::arch_of(device);
  LoadedHeaders& headers = loaded_headers();
  const std::lock_guard lock(headers.mutex);
  Loaded& known = headers.entries.at(header.path);
  if (const auto found = known.on_gpu.find(arch); found != known.on_gpu.end()) return found->second;
  own::ObjectCache cache;
  const auto object = get_object(cache, header.path, arch, known.may);
  if (!object)
    refuse_to_compile(fmt::format("{} for {}", header.path, arch),
                      fmt::format("{} --arch {}", header.path, arch));
  if (object->hash != header.hash) refuse_change(header.path);
  const GeneratorEntry entry = load_object(*object, header.path);
  if (!object->checked) {
    refuse_failure(own::failure_on_gpu(known.entry, entry, device), header.path, " --arch " + arch);
    cache.mark_checked(*object);
  }
  return known.on_gpu.emplace(arch, entry).first->second;
}

}  // namespace

bool is_own_generator(std::string_view name) {
  return name.size() > 2 && name.ends_with(".h");
}

std::string own_generator_path(const std::string& name, const ConfigLocation& place) {
  return absolute_path(name, place);
}

std::string own_functor_name(const fs::path& header) {
  const std::string stem = header.stem().string();
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::string name;
  bool begins = true, valid = !stem.empty() && std::isalpha(static_cast<unsigned char>(stem[0]));
  for (const char c : stem) {
    valid = valid && (c == '_' || letter(c));
    if (c != '_')
      name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  if (valid) return name;
  fail(ErrorKind::config, {fmt::format("{}: '{}' cannot name a generator", header.string(), stem),
                           "my_rings.h has the generator my_rings and the functor MyRings",
                           "use ASCII letters, digits and underscores"});
}

const GeneratorEntry& own_generator(const std::string& name, const ConfigLocation& place) {
  return loaded(name, place).entry;
}

void watch_compilations(std::function<void(const std::string& message)> tell) {
  loaded_headers().tell = std::move(tell);
}

const std::string& own_generator_hash(const std::string& name) {
  return loaded(name, {}).source.hash;
}

const OwnSource& own_generator_source(const std::string& name) {
  return loaded(name, {}).source;
}

std::string hash_of(const OwnSource& source) {
  std::vector<std::string> hashes;
  for (const OwnSource::File& file : source.files)
    hashes.push_back(Sha256().update(bytes_of(file.text)).hex());
  return own::hash_of_sources(hashes);
}

CompiledHeader compile_own_generator(const std::string& name, const CompileOptions& options) {
  const std::string path = own_generator_path(name, {});
  require_file(path);
  own::ObjectCache cache;
  auto object = prepare(cache, path, own::MayCompile::yes, options.check);
  if (!options.into.empty()) copy_entry(*object, options.into);
  if (!options.arch.empty()) {
    object = get_object(cache, path, options.arch, own::MayCompile::yes);
    load_object(*object, path);  // reports undefined symbols
    if (options.check == OwnCheck::trust) cache.mark_checked(*object);
  }
  fs::path file = object->file;
  if (!options.into.empty()) file = copy_entry(*object, options.into).file;
  return {object->hash, file, object->from_cache};
}

void check_own_generator(const std::string& name, const std::vector<ParamSetting>& settings,
                         std::int64_t samples) {
  const std::string path = own_generator_path(name, {});
  require_file(path);
  own::ObjectCache cache;
  const auto object = cache.get(path, {.checked = true}, own::MayCompile::yes);
  const std::string failure =
      own::failure_of([&] { return load_checked(*object, path); }, {settings, samples});
  if (!failure.empty())
    fail(ErrorKind::config, {fmt::format("{}: {}", path, failure), "with seed 7", "correct it"});
}

OwnGenerator::OwnGenerator(std::unique_ptr<Generator> made, OwnHeader header,
                           std::vector<ParamSetting> settings, ImageSize size)
    : made_(std::move(made)),
      header_(std::move(header)),
      settings_(std::move(settings)),
      size_(size) {}
OwnGenerator::~OwnGenerator() = default;

void OwnGenerator::plan(MemoryPlan& memory, std::int64_t rows, DenseLabels dense) {
  on_gpu_.reset();
  if (memory.device().is_cuda())
    on_gpu_ = loaded_on_gpu(header_, memory.device()).make(settings_, size_);
  planned().plan(memory, rows, dense);
}

}  // namespace wellspring
