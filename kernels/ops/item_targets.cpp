#include "kernels/ops/item_targets.h"

#include "core/expect.h"
#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void hide_features(Stream& stream, const BatchView& batch, std::uint64_t hidden, void* visible) {
  visit_float(batch.dtype, [&]<class T>(T) {
    map(stream, "hide_features", batch.size * batch.layout.elements(),
        HideFeatures<T>{static_cast<const T*>(batch.x), static_cast<T*>(visible),
                        batch.layout.features, hidden});
  });
}

void item_regression_loss(Stream& stream, const HeadSlice& head, const LossInput& in,
                          const ItemTargets& truth, const LossResult& out) {
  WS_EXPECT(head.outputs == truth.items * truth.targets);
  visit_float(head.gradient, [&]<class T>(T) {
    using Loss = ItemRegressionLoss<T>;
    constexpr int kThreads = 128;
    const auto scratch =
        static_cast<std::size_t>(reduce_lanes(truth.items)) * sizeof(typename Loss::Sums);
    league(stream, "item_regression_loss", head.launched(), {kThreads, scratch},
           Loss{{head, in.outputs, in.slots, in.weights, out.loss, out.scores,
                 static_cast<T*>(out.gradient)},
                truth});
  });
}

}  // namespace wellspring::ops
