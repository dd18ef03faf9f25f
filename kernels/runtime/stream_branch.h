// A second stream next to a main one, for work that may run at the same time. Called by
// train/network; host only. The events between the two are edges of a captured graph.
#pragma once

#include "kernels/runtime/stream.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace wellspring {

class StreamBranch {
 public:
  enum class Order : std::uint8_t {
    parallel,  ///< on CUDA; on the CPU, there is no second stream
    in_line,   ///< the branch is the main stream
  };
  StreamBranch(const Stream& main, Order order) : begin_(main.device()), end_(main.device()) {
    if (order == Order::parallel && main.device().is_cuda())
      side_.emplace(main.device(), main.threads());
  }

  /// The stream of the branch. Its later work waits for everything enqueued on `main` until now.
  Stream& fork(Stream& main) {
    if (!side_) return main;
    begin_.record(main);
    begin_.wait(*side_);
    forked_ = true;
    return *side_;
  }
  /// Later work of `main` waits for everything enqueued on the branch. A capture of `main` must end
  /// after this.
  void join(Stream& main) {
    if (!std::exchange(forked_, false)) return;
    end_.record(*side_);
    end_.wait(main);
  }

 private:
  std::optional<Stream> side_;
  Event begin_, end_;
  bool forked_ = false;  ///< true if the branch has work that `main` does not wait for
};

}  // namespace wellspring
