#include "sources/row_scaler.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

/// Appends mean and 1 / std of `count` columns.
void append(std::vector<float>& columns, const ColumnScaling& values, int count,
            const std::string& where, const std::string& key, const char* what) {
  const auto value = [&](const std::vector<double>& list, const char* name, int column) {
    if (list.size() != 1 && list.size() != static_cast<std::size_t>(count))
      fail(ErrorKind::config,
           {fmt::format("{}: {}.{} has {}", where, key, name, counted(list.size(), "value")),
            fmt::format("its samples have {}", counted(count, what)),
            fmt::format("give one value, or one per {}", what)});
    return list[list.size() == 1 ? 0 : static_cast<std::size_t>(column)];
  };
  for (int column = 0; column < count; ++column) {
    columns.push_back(static_cast<float>(value(values.mean, "mean", column)));
    columns.push_back(static_cast<float>(1 / value(values.std, "std", column)));
  }
}

}  // namespace

void RowScaler::set(const Normalisation& values, const SampleLayout& layout,
                    const std::string& where) {
  columns_.clear();
  if (values.is_identity()) return;
  append(columns_, values, layout.features, where, "normalise", "feature");
  append(columns_, values.globals, layout.globals, where, "normalise.globals", "global");
}

void RowScaler::plan(MemoryPlan& memory, const std::string& source) {
  if (on()) device_ = memory.reserve<float>("data", "scaling of " + source, columns_.size());
}

void RowScaler::load(Stream& stream) {
  if (!on()) return;
  stream.copy(device_.data(), columns_.data(), device_.bytes(), CopyDirection::host_to_device,
              "scaling");
  stream.synchronize();
}

void ScalingPass::plan(MemoryPlan& memory, const std::string& source, std::int64_t rows,
                       const SampleLayout& layout, const Normalisation& values) {
  scaler_.set(values, layout, fmt::format("source '{}'", source));
  scaler_.plan(memory, source);
  if (scaler_.on())
    made_ = memory.reserve<float>("data", "events of " + source + " before scaling",
                                  static_cast<std::size_t>(rows * layout.elements()));
}

BatchView ScalingPass::target(BatchView batch) const {
  if (!scaler_.on() || batch.dtype == DType::f32) return batch;
  batch.x = made_.data();
  batch.dtype = DType::f32;
  return batch;
}

void ScalingPass::finish(Stream& stream, const EmitCall& call) const {
  if (!scaler_.on()) return;
  const auto* const made = static_cast<const float*>(target(call.batch).x);
  visit_float(call.batch.dtype, [&]<class T>(T) {
    map(stream, "normalise", call.batch.size * call.batch.layout.elements(),
        ScaleRows<T>{scaler_.table(), call.slots, call.source, made, call.batch});
  });
}

}  // namespace wellspring
