// Generators from the user's headers: `generator: ./rings.h`. The header is compiled by the
// system's compiler, checked once, cached, and loaded into this process. Called by the registry and
// commands; host only.
#pragma once

#include "generators/generator.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// True if the name of a generator is a header file.
bool is_own_generator(std::string_view name);

/// `name` with an absolute path. `place`: relative paths in a configuration start at its folder;
/// all others start at the current folder.
std::string own_generator_path(const std::string& name, const ConfigLocation& place);

/// The functor in a header: `my_rings.h` has MyRings. Throws a config error
/// if the file's name is not a C++ name.
std::string own_functor_name(const std::filesystem::path& header);

/// The generator in a header. A header is read once per process. Throws config errors if the header
/// does not compile, fails a check, or is writable by other users. Only a user's configuration or
/// command line starts a compiler; checkpoints and other places need a compiled header.
const GeneratorEntry& own_generator(const std::string& name, const ConfigLocation& place);

/// Calls `tell` with a message before a header is compiled. By default, there is no message. Call
/// this function before any generator is used.
void watch_compilations(std::function<void(const std::string& message)> tell);

/// SHA-256 of a loaded header and of the files that it includes, except Wellspring's own.
const std::string& own_generator_hash(const std::string& name);

/// The text of a loaded header, to be stored with the samples or weights that it made. Nothing
/// compiles it again.
struct OwnSource {
  struct File {
    std::string path;  ///< relative to the header's folder; absolute if it is not below it
    std::string text;
  };
  std::string hash;         ///< own_generator_hash(), which follows from the texts
  std::vector<File> files;  ///< the header first
};
/// Source of a loaded header, as it was compiled.
const OwnSource& own_generator_source(const std::string& name);
/// own_generator_hash() of these texts.
std::string hash_of(const OwnSource& source);

enum class OwnCheck : std::uint8_t { run, trust };
/// Result of compiling in advance.
struct CompiledHeader {
  std::string hash;
  std::filesystem::path object;
  bool from_cache = false;
};
struct CompileOptions {
  OwnCheck check = OwnCheck::run;  ///< trust: records the header as checked
  std::string arch;                ///< also for GPUs of this architecture ("sm_90"); "": CPUs only
  /// Folder that also gets the entries, prepared for a program elsewhere; "": none.
  std::filesystem::path into;
};
/// Compiles and checks a header, or finds it in the cache. Returns the object for `arch`, if given.
CompiledHeader compile_own_generator(const std::string& name, const CompileOptions& options);

/// Checks `samples` samples with these parameters more thoroughly than the first use does, in a
/// variant that counts random numbers (own::CheckPlan). A config error names the failure.
void check_own_generator(const std::string& name, const std::vector<ParamSetting>& settings,
                         std::int64_t samples);

/// A header of the user.
struct OwnHeader {
  std::string hash;  ///< own_generator_hash()
  std::string path;  ///< absolute
};

/// A generator from a header. Planning it on a GPU loads the object with device code.
class OwnGenerator final : public Generator {
 public:
  OwnGenerator(std::unique_ptr<Generator> made, OwnHeader header,
               std::vector<ParamSetting> settings, ImageSize size);
  ~OwnGenerator() override;

  const std::string& hash() const { return header_.hash; }
  const std::string& path() const { return header_.path; }
  const SampleInfo& info() const override { return made_->info(); }
  std::string parameters_yaml() const override { return made_->parameters_yaml(); }
  const std::vector<std::string>& notes() const override { return planned().notes(); }
  void plan(MemoryPlan& memory, std::int64_t rows, DenseLabels dense) override;
  void load(Stream& stream) override { planned().load(stream); }
  void emit(Stream& stream, const EmitCall& call) override { planned().emit(stream, call); }

 private:
  Generator& planned() const { return on_gpu_ ? *on_gpu_ : *made_; }

  std::unique_ptr<Generator> made_;
  OwnHeader header_;
  std::vector<ParamSetting> settings_;
  ImageSize size_;
  std::unique_ptr<Generator> on_gpu_;  ///< if planned on a GPU
};

}  // namespace wellspring
