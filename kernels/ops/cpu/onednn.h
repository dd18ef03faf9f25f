// Parts that all CPU operations on oneDNN share: engine, stream, threads, and primitives that run
// without allocation. Builds with the 2.6 API (Debian 12) and 3.x. Called by kernels/ops/cpu; host
// only.
#pragma once

#include "core/error.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <dnnl.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::ops::cpu {

/// Engine and stream of oneDNN; one pair per Stream (Stream::library).
struct OneDnn {
  explicit OneDnn(const Stream&) : engine(dnnl::engine::kind::cpu, 0), stream(engine) {}
  dnnl::engine engine;
  dnnl::stream stream;
};

/// For its lifetime, sets the OpenMP thread count of the calling thread. oneDNN reads the count
/// when it plans a primitive (to divide the work) and again when it runs the primitive, so both
/// need a scope.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int previous_, dynamic_;
};

/// Layout of one operation's workspace. Each pass has its own layout; all passes share the bytes.
class WorkspaceLayout {
 public:
  /// Offset of the next block of `bytes`.
  std::size_t take(std::size_t bytes) {
    const std::size_t offset = used_;
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  std::size_t bytes() const { return used_; }

 private:
  static constexpr std::size_t kAlignment = 64;  // size of a cache line and of the widest vector
  std::size_t used_ = 0;
};

/// A primitive with its arguments. Memory objects are created once; run() sets their pointers and
/// allocates nothing.
class PlannedPrimitive {
 public:
  PlannedPrimitive() = default;
  PlannedPrimitive(std::shared_ptr<OneDnn> library, dnnl::primitive primitive)
      : library_(std::move(library)), primitive_(std::move(primitive)) {}

  /// Adds an argument (DNNL_ARG_*); run() takes pointers in the same order.
  void add_argument(int which, const dnnl::memory::desc& desc);
  /// oneDNN does not write to its inputs.
  void run(std::initializer_list<const void*> pointers);

 private:
  std::shared_ptr<OneDnn> library_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// c = a b with sums in f32.
class MatrixProduct {
 public:
  MatrixProduct() = default;
  MatrixProduct(std::shared_ptr<OneDnn> library, const dnnl::memory::desc& a,
                const dnnl::memory::desc& b, const dnnl::memory::desc& c);
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// True if oneDNN allocates in every call: its general products do, and ignore the scratch.
  bool allocates() const { return allocates_; }
  void run(const void* a, const void* b, void* c, void* scratch) {
    primitive_.run({a, b, c, scratch});
  }

 private:
  PlannedPrimitive primitive_;
  std::size_t scratch_bytes_ = 0;
  bool allocates_ = false;
};

/// Copies a tensor to another layout, or returns the original pointer if the layouts are equal.
class Relayout {
 public:
  Relayout() = default;
  Relayout(std::shared_ptr<OneDnn> library, const dnnl::memory::desc& from,
           const dnnl::memory::desc& to, WorkspaceLayout& layout);
  /// True if the layouts differ.
  bool needed() const { return needed_; }
  /// The reordered tensor: in the workspace, or `original` if the layouts are equal.
  const void* source(const void* original, Workspace workspace);
  /// Memory for a tensor that write_back() copies to `original`.
  void* target(void* original, Workspace workspace) const;
  void write_back(void* original, Workspace workspace);

 private:
  bool needed_ = false;
  std::size_t offset_ = 0;
  std::size_t scratch_offset_ = 0;
  PlannedPrimitive reorder_;
};

inline void* at(Workspace workspace, std::size_t offset) {
  return static_cast<std::byte*>(workspace.data) + offset;
}

/// Scratchpads are in our workspace. There are no post-ops, because oneDNN's ReLU turns NaN into 0.
dnnl::primitive_attr attributes();

/// f32 or bf16.
inline dnnl::memory::data_type type_of(DType type) {
  return type == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Empty if there is no bias, as oneDNN requires.
dnnl::memory::desc bias_vector(bool bias, dnnl::memory::dim channels);

/// Calls f() and turns oneDNN's exceptions into a device error that names `what`.
template <class F>
auto with_onednn_errors(const std::string& what, F&& f) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    fail(ErrorKind::device, {what + ": oneDNN refused it", error.what()});
  }
}

}  // namespace wellspring::ops::cpu
