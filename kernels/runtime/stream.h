// Streams, events and copies: an ordered queue of work on a device. Called by all code that
// enqueues work; host only.
//
// On CUDA a Stream is a non-blocking cudaStream_t. On the CPU it runs work immediately, in order,
// on the calling thread (with OpenMP inside). While a StepGraph records, the stream stores the work
// as a closure instead.
#pragma once

#include "kernels/runtime/active_threads.h"
#include "kernels/runtime/device.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>

namespace wellspring {

/// Kind of work of a node in a step; the census counts nodes by kind.
enum class NodeKind : std::uint8_t {
  kernel,
  memset,
  copy_on_device,
  host_to_device,
  device_to_host,
  host
};

enum class CopyDirection : std::uint8_t { on_device, host_to_device, device_to_host };

/// Receives the work of a recording CPU stream.
class WorkRecorder {
 public:
  virtual ~WorkRecorder() = default;
  virtual void add(NodeKind kind, std::string_view name, std::function<void()> work) = 0;
};

class Stream {
 public:
  /// `threads`: CPU threads per launch; 0: chosen from the environment and the machine. Throws the
  /// errors of compute_threads (kernels/runtime/threads.h).
  explicit Stream(Device device, int threads = 0);
  /// A stream of another library: `native` is its cudaStream_t (null: CUDA's default stream), or
  /// null on the CPU. The result does not destroy `native`, which must outlive it.
  static std::unique_ptr<Stream> borrow(Device device, void* native, int threads = 0);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device device() const { return device_; }
  int threads() const { return active_->most(); }
  /// Number of threads that are active now. Each parallel loop reads it when it runs, even in
  /// recorded work.
  const std::shared_ptr<ActiveThreads>& active_threads() const { return active_; }
  /// The cudaStream_t, as void*; nullptr on the CPU and for the default stream of CUDA.
  void* native() const { return native_; }

  /// CPU only: runs `work` now, or passes it to the recorder.
  void run(NodeKind kind, std::string_view name, std::function<void()> work);
  /// CPU only: while a recorder is set, run() records instead of running.
  void set_recorder(WorkRecorder* recorder) { recorder_ = recorder; }
  bool recording() const { return recorder_ != nullptr; }

  /// Copies `bytes`; asynchronous only if host memory is pinned.
  void copy(void* destination, const void* source, std::size_t bytes, CopyDirection direction,
            std::string_view name);
  void fill_zero(void* destination, std::size_t bytes, std::string_view name);
  /// Waits until all enqueued work is done; reports errors of earlier asynchronous work.
  void synchronize();

  /// An object that a library keeps per stream, such as its handle. The first call makes T(stream),
  /// later calls share it, and the stream releases it before its own destruction.
  template <class T>
  std::shared_ptr<T> library() const {
    std::shared_ptr<void>& slot = libraries_[std::type_index(typeid(T))];
    if (!slot) slot = std::make_shared<T>(*this);
    return std::static_pointer_cast<T>(slot);
  }

 private:
  enum class Native : std::uint8_t { own, borrowed };
  Stream(Device device, int threads, Native kind);

  Device device_;
  std::shared_ptr<ActiveThreads> active_;
  void* native_ = nullptr;
  Native kind_ = Native::own;
  WorkRecorder* recorder_ = nullptr;
  mutable std::map<std::type_index, std::shared_ptr<void>> libraries_;
};

/// For its lifetime, a CPU stream passes its work to a recorder.
class Recording {
 public:
  Recording(Stream& stream, WorkRecorder& recorder) : stream_(stream) {
    stream_.set_recorder(&recorder);
  }
  ~Recording() { stream_.set_recorder(nullptr); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Stream& stream_;
};

/// A point in a stream's order. On the CPU, work runs immediately, so events are always complete.
class Event {
 public:
  explicit Event(Device device, bool timing = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  void wait(Stream& stream) const;  ///< later work of `stream` waits for this point
  void synchronize() const;         ///< the calling thread waits
  bool done() const;
  /// Milliseconds from `begin` to this event; both need timing = true and must be complete.
  double milliseconds_since(const Event& begin) const;

 private:
  Device device_;
  void* native_ = nullptr;
  double host_seconds_ = 0;  ///< CPU: time of recording
};

}  // namespace wellspring
