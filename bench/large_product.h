// A square matrix product, large enough to be bound by arithmetic. Called by the benchmarks of
// operations and by the rates of the machine; host only.
#pragma once

#include "bench/measure.h"
#include "kernels/ops/ops.h"
#include "kernels/random/random_memory.h"

#include <cstdint>
#include <memory>

namespace wellspring::bench {

class LargeProduct {
 public:
  /// Rows and columns: on a GPU, 8192 fill its multiprocessors many times over.
  static std::int64_t usual_side(Device device) { return device.is_cuda() ? 8192 : 1024; }
  /// By the library that dense layers use. `compute`: of x, w and y; sums are f32.
  LargeProduct(Device device, DType compute) : LargeProduct(device, compute, usual_side(device)) {}
  LargeProduct(Device device, DType compute, std::int64_t side);

  /// Floating-point operations per product.
  double operations() const;
  /// `per_run`: units of work per product. Valid while this object lives.
  Work work(double per_run);

 private:
  RandomMemory memory_;
  std::int64_t side_;
  std::unique_ptr<ops::Dense> dense_;
  Planned<std::byte> x_, w_, y_, scratch_;
};

}  // namespace wellspring::bench
