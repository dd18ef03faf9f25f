#include "generators/own/own_generator.h"

#include "core/error.h"
#include "core/io/files.h"
#include "generators/own/check.h"
#include "generators/own/instance.h"
#include "generators/own/object_cache.h"

#include <fmt/format.h>

#include <cctype>
#include <dlfcn.h>
#include <map>
#include <mutex>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// True for configurations and command lines of the user, false for checkpoints and run folders.
bool is_written_by_user(const ConfigLocation& place) {
  const fs::path file = place.file;
  if (file.filename() == "config.resolved.yaml") return false;
  return file.extension() == ".yaml" || file.extension() == ".yml" || file == "command line" ||
         file == "Generator";
}

/// Makes this library's symbols visible to the object if it is part of a Python module.
void publish_symbols() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&publish_symbols), &info) != 0 &&
      std::string_view(info.dli_fname).ends_with(".so"))
    ::dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

GeneratorEntry load_object(const own::CompiledObject& object, const fs::path& header) {
  publish_symbols();
  // Never closed: samples may be made until the process ends.
  void* const library = ::dlopen(object.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    fail(ErrorKind::config, {fmt::format("{}: cannot be loaded", header.string()), ::dlerror(),
                             "an undefined symbol needs a definition in the header"});
  auto* const fill = reinterpret_cast<own::Fill*>(::dlsym(library, own::kFillSymbol));
  GeneratorEntry entry;
  if (fill == nullptr || !fill(entry, own::interface_of_headers(), object.hash))
    fail(ErrorKind::config, {fmt::format("{}: cannot be loaded", header.string()),
                             "Wellspring's headers are of another version than the program",
                             "build or install the program again"});
  if (entry.name != header.stem().string())
    fail(ErrorKind::config,
         {fmt::format("{}: describe() calls the generator '{}'", header.string(), entry.name),
          "the name is part of the key of all random numbers",
          fmt::format("write info.name = \"{}\", or rename the file", header.stem().string())});
  entry.others = &generator_registry();
  return entry;
}

/// Compiles or finds the header, and checks it unless that was done before.
std::optional<own::CompiledObject> prepare(own::ObjectCache& cache, const fs::path& header,
                                           own::MayCompile may, OwnCheck check) {
  std::optional<own::CompiledObject> object = cache.get(header, may);
  if (!object || object->checked) return object;
  if (check == OwnCheck::run) {
    const std::string failure = own::failure_of([&] { return load_object(*object, header); });
    if (!failure.empty())
      fail(ErrorKind::config,
           {fmt::format("{}: the generator fails its check: {}", header.string(), failure),
            "with default parameters and seed 7",
            fmt::format("mend it; to use it nevertheless: wellspring compile --trust {}",
                        header.string())});
  }
  cache.mark_checked(*object);
  return object;
}

/// A header that is used in this process.
struct Loaded {
  GeneratorEntry entry;
  std::string hash;
};

/// Headers by path. Entries stay where they are.
struct LoadedHeaders {
  std::mutex mutex;
  std::map<std::string, Loaded> entries;
};

LoadedHeaders& loaded_headers() {
  static LoadedHeaders headers;
  return headers;
}

const Loaded& loaded(const std::string& name, const ConfigLocation& place) {
  const std::string path = own_generator_path(name, place);
  LoadedHeaders& headers = loaded_headers();
  const std::lock_guard lock(headers.mutex);
  if (const auto found = headers.entries.find(path); found != headers.entries.end())
    return found->second;
  require_file(path);
  own::ObjectCache cache;
  const auto may = is_written_by_user(place) ? own::MayCompile::yes : own::MayCompile::no;
  const auto object = prepare(cache, path, may, OwnCheck::run);
  if (!object)
    fail(ErrorKind::config, {fmt::format("{}{}: not compiled", place.prefix(), path),
                             "only a configuration or a command starts the compiler",
                             "run wellspring compile " + path});
  return headers.entries.emplace(path, Loaded{load_object(*object, path), object->hash})
      .first->second;
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

const std::string& own_generator_hash(const std::string& name) {
  return loaded(name, {}).hash;
}

CompiledHeader compile_own_generator(const std::string& name, OwnCheck check) {
  const std::string path = own_generator_path(name, {});
  require_file(path);
  own::ObjectCache cache;
  const auto object = prepare(cache, path, own::MayCompile::yes, check);
  return {object->hash, object->file, object->from_cache};
}

OwnGenerator::OwnGenerator(std::unique_ptr<Generator> made, std::string hash)
    : made_(std::move(made)), hash_(std::move(hash)) {}
OwnGenerator::~OwnGenerator() = default;

void OwnGenerator::plan(MemoryPlan& memory, std::int64_t rows, DenseLabels dense) {
  if (memory.device().is_cuda())
    fail(ErrorKind::device,
         {fmt::format("{} is compiled from a header, which runs only on CPUs so far", info().name),
          "its device code needs a build of Wellspring",
          "use device=cpu, or add it to generators/CMakeLists.txt (docs/contributing.md)"});
  made_->plan(memory, rows, dense);
}

}  // namespace wellspring
