// What a generator is to the rest of the program. A generator's own code is a functor in one header
// under generators/images or generators/events; this interface is what the registry makes of it.
// Called by sources, the command line and tests; host only.
#pragma once

#include "core/params.h"
#include "kernels/emission/batch.h"
#include "kernels/stream.h"
#include "kernels/view.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Largest side of an image: keeps pixel coordinates exact in f32 and a sample below 4 GiB.
inline constexpr int kLargestImageSide = 1 << 14;

/// One number a sample was drawn with, as exported beside it.
struct LatentInfo {
  std::string name;
  std::string unit;         ///< "" where dimensionless
  float low = 0, high = 1;  ///< the range it lies in, ends included
};

/// How many blocks of random numbers (Philox: four words each) a sample takes at most. Its view
/// takes kViewWords more of each part. Pixels beyond the border that fill up a run count as well.
struct DrawBudget {
  std::int64_t part = 0;   ///< to draw the scene, or event, and to prepare for the pixels of a part
  std::int64_t pixel = 0;  ///< to colour one pixel
  int side = 0;            ///< of the parts, in pixels; 0: one part, or a few bands on a GPU
};

struct GeneratorInfo {
  std::string name;
  SampleKind kind = SampleKind::image;
  std::string summary;               ///< one line
  std::string reference;             ///< the publication or formula it follows
  std::vector<std::string> classes;  ///< label i means classes[i]
  std::vector<LatentInfo> latents;
  std::vector<std::string> features;  ///< names of an event's features; empty for images
  float low = 0, high = 1;            ///< range of the values of x under the identity view
  DrawBudget draws;
};

class Generator {
 public:
  virtual ~Generator() = default;
  virtual const GeneratorInfo& info() const = 0;
  /// What a row holds, with all latents.
  virtual SampleLayout layout() const = 0;
  /// The parameters in force, for reports and checkpoints: YAML mapping text, in table order.
  virtual std::string parameters_yaml() const = 0;
  /// The best accuracy that any classifier of x can reach on average, where it is known in closed
  /// form.
  virtual std::optional<double> best_accuracy() const { return std::nullopt; }

  /// Enqueues one launch that fills every slot whose `source` equals `source`: x (through `view`),
  /// label, latents and weight. Slot b goes to row b. Sample bytes are a pure function of
  /// (generator, parameters, seed, slot.sample, view, slot.ordinal).
  /// `slots`: device array [batch.size]. batch.layout must have the same input as layout(), and
  /// room for the latents unless they are not wanted; events take no view.
  virtual void emit(Stream& stream, const Slot* slots, std::uint32_t source, std::uint64_t seed,
                    const ViewSpec& view, const BatchView& batch) const = 0;
};

/// How the registry knows a generator before it has parameters.
struct GeneratorEntry {
  std::string name;
  SampleKind kind;
  std::string summary;
  std::vector<ParamRow> parameters;
  /// `size`: side of the square image in pixels; ignored for events. Errors (config) as
  /// ParamTable::set.
  std::unique_ptr<Generator> (*make)(const std::vector<ParamSetting>& settings, int size);
};

/// All generators, by name. The table is built on first use and never changes.
const std::vector<GeneratorEntry>& generator_registry();
/// Error (config) with the nearest known name when there is none called `name`.
const GeneratorEntry& find_generator(const std::string& name, const Place& place = {});
std::unique_ptr<Generator> make_generator(const std::string& name, int size,
                                          const std::vector<ParamSetting>& settings = {},
                                          const Place& place = {});

}  // namespace wellspring
