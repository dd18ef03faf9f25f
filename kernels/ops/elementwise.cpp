#include "kernels/ops/elementwise.h"

#include "kernels/ops/ops.h"
#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void relu(Stream& stream, DType dtype, std::int64_t n, const void* x, void* y) {
  visit_float(dtype, [&]<class T>(T) {
    league(stream, "relu", chunks(n), {kChunkTeam},
           Relu<T>{static_cast<const T*>(x), static_cast<T*>(y), n});
  });
}

void relu_backward(Stream& stream, DType dtype, std::int64_t n, const void* y, const void* dy,
                   void* dx) {
  visit_float(dtype, [&]<class T>(T) {
    league(stream, "relu_backward", chunks(n), {kChunkTeam},
           ReluBackward<T>{static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx),
                           n});
  });
}

void add(Stream& stream, DType dtype, std::int64_t n, const void* x, const void* y, void* z) {
  visit_float(dtype, [&]<class T>(T) {
    league(stream, "add", chunks(n), {kChunkTeam},
           Add<T>{static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(z), n});
  });
}

void convert(Stream& stream, std::int64_t n, DType from, const void* x, DType to, void* y) {
  visit_float(from, [&]<class From>(From) {
    visit_float(to, [&]<class To>(To) {
      league(stream, "convert", chunks(n), {kChunkTeam},
             Convert<From, To>{static_cast<const From*>(x), static_cast<To*>(y), n});
    });
  });
}

}  // namespace wellspring::ops
