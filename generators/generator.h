// Interface of a generator: description (SampleInfo), planning, loading and emission. The code of a
// generator is a functor in one header in generators/images or generators/events; the registry
// wraps it. Called by sources, commands and tests; host only.
#pragma once

#include "core/config/params.h"
#include "generators/sample_info.h"
#include "kernels/augment/emit_call.h"
#include "kernels/batch/batch.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Largest side of an image: keeps pixel coordinates exact in f32 and a sample below 4 GiB.
inline constexpr int kLargestImageSide = 1 << 14;

/// Batches with or without dense labels (SampleInfo::plane).
enum class DenseLabels : std::uint8_t { none, plane };

class Generator {
 public:
  virtual ~Generator() = default;
  virtual const SampleInfo& info() const = 0;
  /// The effective parameters, for reports and checkpoints: YAML mapping text, in table order.
  virtual std::string parameters_yaml() const = 0;

  const SampleLayout& layout() const { return info().layout; }
  /// Key of the generator's random numbers under `seed`; no two generators of a run share a key.
  std::uint64_t key(std::uint64_t seed) const { return named_key(seed, info().name); }
  /// The best mean accuracy that any classifier of x can reach, if known.
  std::optional<double> best_accuracy() const { return info().best_result("accuracy"); }

  /// Reserves memory for emission in batches of up to `rows` rows, with or without dense
  /// labels: drawn scenes, canvases, fields, tables. A generator belongs to one plan; planning
  /// again moves it to the new plan. Throws config errors if a table cannot be made or if there are
  /// no dense labels.
  virtual void plan(MemoryPlan& memory, std::int64_t rows,
                    DenseLabels dense = DenseLabels::none) = 0;
  /// Uploads tables; call it after commit and before the first emission. Blocks.
  virtual void load(Stream& stream) = 0;
  /// Notes from plan() to the user, one line each: for example, that a cache is damaged or
  /// read-only or that samples will reach a limit.
  virtual const std::vector<std::string>& notes() const = 0;

  /// Enqueues recordable launches that fill every slot whose `source` equals `call.source`. They
  /// fill all columns of the batch and apply `call.augmentation` to x. The bytes are a pure
  /// function of (generator, version, versions of the generators it uses, parameters, call.seed,
  /// slot.sample, augmentation, slot.ordinal); key(call.seed) keys all random numbers. The batch
  /// must have the same input as layout(), and columns for all latents or for none. Events and sets
  /// cannot be augmented. Geometric augmentations transform latents according to their roles, so
  /// that they describe the augmented image.
  virtual void emit(Stream& stream, const EmitCall& call) = 0;
};

struct GeneratorEntry;
using Generators = std::vector<GeneratorEntry>;

/// A generator in the registry, before it is given parameters.
struct GeneratorEntry {
  std::string name;
  int version;
  SampleKind kind;
  bool has_plane;  ///< some of its modes have dense labels
  std::string summary;
  std::vector<ParamRow> parameters;
  /// `others`: generators that it may use.
  std::unique_ptr<Generator> (*maker)(const std::vector<ParamSetting>& settings, ImageSize size,
                                      const Generators& others);
  const Generators* others = nullptr;  ///< set by the registry

  /// `size`: image size; ignored for events. Throws the config errors of ParamTable::set.
  std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, ImageSize size) const {
    return maker(settings, size, *others);
  }
};

/// Throws a config error, which lists the generators with dense labels, if the samples have none.
void expect_plane(const SampleInfo& info);

/// All generators, by name. The table is built on first use and never changes.
const Generators& generator_registry();
/// Throws a config error, which suggests the nearest known name, if the name is unknown.
const GeneratorEntry& find_generator(const std::string& name, const ConfigLocation& place = {});
std::unique_ptr<Generator> make_generator(const std::string& name, ImageSize size,
                                          const std::vector<ParamSetting>& settings = {},
                                          const ConfigLocation& place = {});

}  // namespace wellspring
