// Parts that all cuDNN graphs share: handle, target and execution plan. Included only by cudnn.cpp,
// because this header includes cudnn-frontend; host only.
#pragma once

#include "core/error.h"
#include "core/expect.h"
#include "kernels/ops/cuda/cudnn.h"
#include "kernels/runtime/cuda_check.h"

#include <cudnn.h>
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wellspring::ops::cuda {

namespace fe = cudnn_frontend;

inline void check(cudnnStatus_t status, std::string_view call, Device device) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail(ErrorKind::device,
       {fmt::format("cuDNN on {}: {} failed", device.to_string(), call),
        fmt::format("{}, cuDNN {}", cudnnGetErrorString(status), cudnnGetVersion()),
        "`wellspring doctor` shows the versions of the driver, CUDA and cuDNN"});
}

/// A stream's handle. It is made once and destroyed with its last user.
class CudnnHandle {
 public:
  explicit CudnnHandle(const Stream& stream) : device_(stream.device()) {
    const wellspring::cuda::DeviceScope scope(device_.index);
    check(cudnnCreate(&handle_), "cudnnCreate", device_);
    const cudnnStatus_t status =
        cudnnSetStream(handle_, static_cast<cudaStream_t>(stream.native()));
    if (status != CUDNN_STATUS_SUCCESS) {
      cudnnDestroy(handle_);
      check(status, "cudnnSetStream", device_);
    }
  }
  ~CudnnHandle() { cudnnDestroy(handle_); }
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  cudnnHandle_t get() const { return handle_; }
  Device device() const { return device_; }

 private:
  Device device_;
  cudnnHandle_t handle_ = nullptr;
};

inline fe::DataType_t cudnn_type(DType dtype) {
  return dtype == DType::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::FLOAT;
}

struct CudnnTarget::State {
  std::shared_ptr<CudnnHandle> handle;                     // a live stream, or
  std::shared_ptr<const fe::DeviceProperties> properties;  // a chip that is only described
  int sm_version = 0;                                      // with properties: 90 means 9.0
  std::string name;
};

/// An operation graph and its execution plan. An owner describes the operations in `graph`, plans
/// it, and then runs it with the device pointers of `pointers`.
struct CudnnGraph {
  std::string name;  ///< the operation, for errors
  CudnnTarget target;
  fe::graph::Graph graph;
  std::unordered_map<std::int64_t, void*> pointers;  ///< arguments of a run, indexed by uid
  std::size_t workspace_bytes = 0;
  std::string engine;

  CudnnGraph(std::string what, const CudnnTarget& t, DType io) : name(std::move(what)), target(t) {
    const CudnnTarget::State& state = target.state();
    graph.set_io_data_type(cudnn_type(io))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (state.properties) {
      graph.set_device_properties(state.properties).set_sm_version(state.sm_version);
    }
  }

  /// Chooses cuDNN's first plan without any of the `unwanted` notes; builds it on a live target.
  void plan(std::size_t workspace_limit, const std::vector<fe::NumericalNote_t>& unwanted) {
    const CudnnTarget::State& state = target.state();
    const cudnnHandle_t handle = state.handle ? state.handle->get() : nullptr;
    in_scope([&] {
      require(graph.validate());
      require(graph.build_operation_graph(handle));
      require(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
      graph.deselect_workspace_greater_than(static_cast<std::int64_t>(workspace_limit));
      graph.deselect_numeric_notes(unwanted);
      require(graph.check_support());
      if (!state.handle) return;
      require(graph.build_plans());
      adopt();
    });
  }

  void choose(std::size_t index) {
    WS_EXPECT(target.state().handle);
    in_scope([&] {
      require(graph.build_plan_at_index(static_cast<std::int64_t>(index)));
      adopt();
    });
  }

  void require(fe::error_t status) const {  // by value, because its accessors are not const
    if (status.is_good()) return;
    fail(ErrorKind::device,
         {fmt::format("cuDNN cannot run {} on {}", name, target.state().name), status.get_message(),
          "change the shape of the layer or its compute type, or run on the CPU"});
  }

  /// An argument of the next run. cuDNN's interface has no const, but inputs are not written.
  void set(std::int64_t uid, const void* pointer) { pointers[uid] = const_cast<void*>(pointer); }

  void run(Workspace workspace) {
    const CudnnTarget::State& state = target.state();
    WS_EXPECT(state.handle);
    WS_EXPECT(workspace.bytes >= workspace_bytes);
    const wellspring::cuda::DeviceScope scope(state.handle->device().index);
    auto status = graph.execute(state.handle->get(), pointers, workspace.data);
    if (status.is_good()) return;
    fail(ErrorKind::device, {fmt::format("cuDNN failed to launch {} on {}", name, state.name),
                             fmt::format("{} (plan {})", status.get_message(), engine)});
  }

 private:
  /// Calls a function while the live target's device is current.
  template <class Call>
  void in_scope(const Call& call) const {
    const CudnnTarget::State& state = target.state();
    if (!state.handle) return call();
    const wellspring::cuda::DeviceScope scope(state.handle->device().index);
    call();
  }

  /// Records properties of the plan built last, which is the plan that runs.
  void adopt() {
    std::int64_t bytes = 0;
    require(graph.get_workspace_size(bytes));
    workspace_bytes = static_cast<std::size_t>(bytes);
    require(graph.get_plan_name(engine));
  }
};

}  // namespace wellspring::ops::cuda
