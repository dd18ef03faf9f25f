// What a generator is to the rest of the program: facts (SampleInfo), a life (plan, load) and what
// it makes (emit). A generator's own code is a functor in one header under generators/images or
// generators/events; this interface is what the registry makes of it. Host only.
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

/// Whether batches have a plane of truth (SampleInfo::plane).
enum class DenseTruth : std::uint8_t { none, plane };

class Generator {
 public:
  virtual ~Generator() = default;
  virtual const SampleInfo& info() const = 0;
  /// The parameters in force, for reports and checkpoints: YAML mapping text, in table order.
  virtual std::string parameters_yaml() const = 0;

  const SampleLayout& layout() const { return info().layout; }
  /// What keys its random numbers under `seed`, so that no two generators of a run share any.
  std::uint64_t key(std::uint64_t seed) const { return named_key(seed, info().name); }
  /// The best accuracy that any classifier of x can reach on average, where it is known.
  std::optional<double> best_accuracy() const { return info().best_result("accuracy"); }

  /// Reserves what emission needs for batches of up to `rows` rows, with a plane or without: drawn
  /// scenes, canvases, fields, tables. A generator lives in one plan; planning again moves it to
  /// another. Errors (config): a table that cannot be made, a plane where there is none.
  virtual void plan(MemoryPlan& memory, std::int64_t rows, DenseTruth dense = DenseTruth::none) = 0;
  /// After commit, before the first emission: uploads tables. Blocks.
  virtual void load(Stream& stream) = 0;
  /// What plan() has to tell the user: a cache that was damaged or cannot be written, a bound that
  /// samples will meet. A line each.
  virtual const std::vector<std::string>& notes() const = 0;

  /// Enqueues, in recordable launches, what fills every slot whose `source` equals `call.source`:
  /// all columns that the batch has, x as `call.augmentation` has it. Bytes are a pure function of
  /// (generator, version, versions of those it uses, parameters, call.seed, slot.sample,
  /// augmentation, slot.ordinal); all random numbers are keyed by key(call.seed). The batch must have the same input as layout() and room for the latents unless
  /// they are not wanted; events and sets take no augmentation. Latents are those of what is seen:
  /// geometry maps them by their roles.
  virtual void emit(Stream& stream, const EmitCall& call) = 0;
};

struct GeneratorEntry;
using Generators = std::vector<GeneratorEntry>;

/// How the registry knows a generator before it has parameters.
struct GeneratorEntry {
  std::string name;
  int version;
  SampleKind kind;
  bool has_plane;  ///< dense truth in some of its modes
  std::string summary;
  std::vector<ParamRow> parameters;
  /// `others`: where the generator finds what it uses.
  std::unique_ptr<Generator> (*maker)(const std::vector<ParamSetting>& settings, int size,
                                      const Generators& others);
  const Generators* others = nullptr;  ///< the registry, once the entry stands in it

  /// `size`: side of the square image in pixels; ignored for events. Errors (config) as
  /// ParamTable::set.
  std::unique_ptr<Generator> make(const std::vector<ParamSetting>& settings, int size) const {
    return maker(settings, size, *others);
  }
};

/// Error (config) unless its samples have a plane of truth: whose do.
void expect_plane(const SampleInfo& info);

/// All generators, by name. The table is built on first use and never changes.
const Generators& generator_registry();
/// Error (config) with the nearest known name when there is none called `name`.
const GeneratorEntry& find_generator(const std::string& name, const ConfigLocation& place = {});
std::unique_ptr<Generator> make_generator(const std::string& name, int size,
                                          const std::vector<ParamSetting>& settings = {},
                                          const ConfigLocation& place = {});

}  // namespace wellspring
