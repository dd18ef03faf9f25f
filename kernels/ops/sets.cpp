#include "kernels/ops/sets.h"

#include "kernels/ops/copy_rows.h"
#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void item_pool_forward(Stream& stream, const ItemPoolSpec& spec, const std::int32_t* count,
                       const void* x, void* y) {
  const TeamShape team{
      channel_team(spec.items, spec.features),
      static_cast<std::size_t>(channel_slots(spec.items, spec.features)) * sizeof(float)};
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "item_pool_forward", spec.rows, team,
           ItemPoolForward<T>{static_cast<const T*>(x), count, static_cast<T*>(y), spec.items,
                              spec.features, spec.mean});
  });
}

void item_pool_backward(Stream& stream, const ItemPoolSpec& spec, const std::int32_t* count,
                        const void* dy, void* dx) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "item_pool_backward", spec.rows, {channel_team(spec.items, spec.features)},
           ItemPoolBackward<T>{static_cast<const T*>(dy), count, static_cast<T*>(dx), spec.items,
                               spec.features, spec.mean});
  });
}

void concatenate(Stream& stream, const ConcatenateSpec& spec, const void* a, const void* b,
                 void* y) {
  const auto copy = [&](const void* from, int columns, int begin) {
    copy_rows(stream, "concatenate", spec.rows, columns, from, {spec.compute, 0, columns}, y,
              {spec.compute, begin, spec.first + spec.second});
  };
  copy(a, spec.first, 0);
  copy(b, spec.second, spec.first);
}

void concatenate_backward(Stream& stream, const ConcatenateSpec& spec, const void* dy, void* da,
                          void* db) {
  const auto copy = [&](void* to, int columns, int begin) {
    if (to == nullptr) return;
    copy_rows(stream, "concatenate_backward", spec.rows, columns, dy,
              {spec.compute, begin, spec.first + spec.second}, to, {spec.compute, 0, columns});
  };
  copy(da, spec.first, 0);
  copy(db, spec.second, spec.first);
}

}  // namespace wellspring::ops
