// Holds the normalisation of a source of events or sets on the device. Used by sources; host only.
#pragma once

#include "kernels/augment/augmentation_config.h"
#include "kernels/augment/emit_call.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/datasets/row_scaling.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

class RowScaler {
 public:
  /// `where`: the source, for messages. Call it before plan(). Throws a config error if the number
  /// of values does not fit the layout.
  void set(const Normalisation& values, const SampleLayout& layout, const std::string& where);
  bool on() const { return !columns_.empty(); }
  void plan(MemoryPlan& memory, const std::string& source);
  /// Uploads the numbers. Blocks.
  void load(Stream& stream);
  ScalingTable table() const { return {on() ? device_.data() : nullptr}; }

 private:
  std::vector<float> columns_;  ///< ScalingTable::columns; empty: off
  Planned<float> device_;
};

/// The pass after a generator's emission. Batches that are not f32 are first made in f32.
class ScalingPass {
 public:
  void plan(MemoryPlan& memory, const std::string& source, std::int64_t rows,
            const SampleLayout& layout, const Normalisation& values);
  void load(Stream& stream) { scaler_.load(stream); }
  /// Batch that the generator writes to.
  BatchView target(BatchView batch) const;
  /// Enqueues the pass, if there is one.
  void finish(Stream& stream, const EmitCall& call) const;

 private:
  RowScaler scaler_;
  Planned<float> made_;  ///< [rows, elements], for batches that are not f32
};

}  // namespace wellspring
