// The host's team: one member. Barriers do nothing. Atomics are real, because other threads run
// other teams on the same memory; on the team's own scratch they are plain operations. Host only.
#pragma once

#include "core/expect.h"
#include "kernels/runtime/team.h"

#include <atomic>
#include <cstddef>
#include <functional>

namespace wellspring {

// Integer atomics on the host; they return the old value.
template <class I>
I host_atomic_add(I* target, I value) {
  return std::atomic_ref<I>(*target).fetch_add(value, std::memory_order_relaxed);
}
template <class I>
I host_atomic_max(I* target, I value) {
  std::atomic_ref<I> shared(*target);
  I old = shared.load(std::memory_order_relaxed);
  while (value > old && !shared.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
  return old;
}
template <class I>
I host_atomic_or(I* target, I value) {
  return std::atomic_ref<I>(*target).fetch_or(value, std::memory_order_relaxed);
}

class SoloTeam {
 public:
  static constexpr bool kIsAlone = true;

  explicit SoloTeam(ScratchCursor scratch) : scratch_(scratch) {}
  int rank() const { return 0; }
  int size() const { return 1; }
  void sync() const {}
  template <class T>
  T* scratch(std::size_t count) {
    T* block = scratch_.take<T>(count);
    WS_EXPECT(scratch_.used <= scratch_.capacity);
    return block;
  }
  template <class I>
  I atomic_add(I* target, I value) const {
    if (!is_own(target)) return host_atomic_add(target, value);
    const I old = *target;
    *target = old + value;
    return old;
  }
  template <class I>
  I atomic_max(I* target, I value) const {
    if (!is_own(target)) return host_atomic_max(target, value);
    const I old = *target;
    if (value > old) *target = value;
    return old;
  }
  template <class I>
  I atomic_or(I* target, I value) const {
    if (!is_own(target)) return host_atomic_or(target, value);
    const I old = *target;
    *target = old | value;
    return old;
  }

 private:
  /// True if `place` is in this team's scratch, which no other thread touches.
  bool is_own(const void* place) const {
    const auto* const byte = static_cast<const std::byte*>(place);
    return !std::less<>()(byte, scratch_.base) &&
           std::less<>()(byte, scratch_.base + scratch_.capacity);
  }

  ScratchCursor scratch_;
};

}  // namespace wellspring
