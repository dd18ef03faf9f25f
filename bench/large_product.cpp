#include "bench/large_product.h"

#include <cmath>

namespace wellspring::bench {

LargeProduct::LargeProduct(Device device, DType compute, std::int64_t side)
    : memory_(device), side_(side) {
  memory_.compute = compute;
  ops::DenseSpec spec;
  spec.rows = side_;
  spec.in = spec.out = static_cast<int>(side_);
  spec.bias = false;
  spec.compute = spec.output = compute;
  dense_ = ops::Dense::plan(spec, memory_.stream);
  x_ = memory_.tensor(side_ * side_);
  w_ = memory_.tensor(side_ * side_);
  y_ = memory_.tensor(side_ * side_);
  scratch_ = memory_.bytes(dense_->workspace_bytes());
  memory_.commit();
}

double LargeProduct::operations() const {
  return 2 * std::pow(static_cast<double>(side_), 3);
}

Work LargeProduct::work(double per_run) {
  const auto run = [this] {
    dense_->forward(memory_.stream, x_.data(), w_.data(), nullptr, y_.data(),
                    {scratch_.data(), dense_->workspace_bytes()});
  };
  return {run, per_run, [this] { memory_.stream.synchronize(); }};
}

}  // namespace wellspring::bench
