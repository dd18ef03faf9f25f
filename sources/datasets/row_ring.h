// Rows of a data set read ahead of the training step, and their way to the device: threads fill
// rows of page-locked host memory, copies on a stream of their own move them, events keep the two
// and the step apart. Used by data sets that stream; host only.
//
// Entry n of what the source gives to this share of the batches goes to row n % rows, on the host
// as on the device. Of whole batches that is the source's n-th sample (its ordinal), and the device
// needs no word from the host about where a row lies; of a part of them it gets a table of places.
#pragma once

#include "kernels/runtime/stream.h"
#include "sources/datasets/dataset.h"
#include "sources/mixing/assignment.h"
#include "sources/mixing/share_sequence.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace wellspring {

/// The host half: threads that keep rows of memory filled, in the order in which they are needed.
class RowsAhead {
 public:
  /// `staging` [rows, bytes of a row]; `sequence` says which sample an entry is. Threads start with
  /// the first seek().
  RowsAhead(const Dataset& data, const SampleOrder& order, const ShareSequence& sequence,
            int threads, std::uint8_t* staging, std::int64_t rows);
  ~RowsAhead();
  RowsAhead(const RowsAhead&) = delete;
  RowsAhead& operator=(const RowsAhead&) = delete;

  /// Begins anew at `entry`; nothing at or after `end` is read. No row may be in use.
  void seek(std::int64_t entry, std::int64_t end);
  /// More entries may be read: those before `end`.
  void extend(std::int64_t end);
  /// Waits until everything before `entry` is in its row. Throws what a thread failed with if that
  /// was one of them.
  void wait_for(std::int64_t entry);
  bool ready(std::int64_t entry) const;
  /// Rows of entries before `entry` may be overwritten.
  void release(std::int64_t entry);

 private:
  void work();

  const Dataset& data_;
  const SampleOrder order_;
  const ShareSequence& sequence_;
  const int thread_count_;
  std::uint8_t* const staging_;
  const std::int64_t rows_, row_bytes_;

  mutable std::mutex mutex_;
  std::condition_variable work_, progress_;
  std::vector<std::int64_t> held_;  ///< entry that each row holds, -1: none
  std::int64_t next_ = 0;           ///< next entry to read
  std::int64_t done_ = 0;           ///< all before it are read
  std::int64_t released_ = 0;       ///< rows of entries before it are free
  std::int64_t end_ = 0;
  std::int64_t failed_at_ = INT64_MAX;
  std::exception_ptr failure_;
  int busy_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

/// The device half: copies in step order.
class RowRing {
 public:
  struct Memory {
    std::uint8_t* host = nullptr;    ///< [rows, row_bytes], page-locked
    std::uint8_t* device = nullptr;  ///< [rows, row_bytes]
    std::int64_t rows = 0;           ///< at least `ahead` shares of a batch
    // Of a part of every batch, where the source's n-th sample lies: place n % places.
    std::int32_t* host_places = nullptr;    ///< [places], page-locked
    std::int32_t* device_places = nullptr;  ///< [places]
    std::int64_t places = 0;                ///< `ahead` global batches
  };
  /// `data` and `assignment` must outlive the ring.
  RowRing(Device device, const Dataset& data, int threads, Memory memory,
          const SlotAssignment& assignment, std::uint32_t source, int ahead);

  /// Makes `stream` wait until the rows of `step` are on the device, and sends what is ready of
  /// later steps on its way. Steps come in order; any other step begins anew there.
  void before_step(Stream& stream, std::uint64_t step);
  void after_step(Stream& stream, std::uint64_t step);

 private:
  std::int64_t start(std::uint64_t step) const { return sequence_.start(step); }
  Event& copied(std::uint64_t step) { return *copied_[step % copied_.size()]; }
  Event& consumed(std::uint64_t step) { return *consumed_[step % consumed_.size()]; }
  void restart(Stream& stream, std::uint64_t step);
  void release_oldest();
  bool room_for_step() const;
  void list_step(std::uint64_t step);
  void list_further(std::uint64_t current);
  std::uint64_t last_reader(std::uint64_t current, std::uint64_t step);
  void enqueue_copy(std::uint64_t current, std::uint64_t step);
  void copy_places(std::uint64_t step);

  const SlotAssignment& assignment_;
  const std::uint32_t source_;
  const std::uint64_t ahead_;
  const Memory memory_;
  const std::int64_t row_bytes_;
  Stream copies_;
  std::vector<std::unique_ptr<Event>> copied_, consumed_;
  ShareSequence sequence_;
  RowsAhead reading_;

  bool started_ = false;
  std::uint64_t first_step_ = 0;  ///< of this pass
  std::int64_t first_entry_ = 0;  ///< of that step
  std::uint64_t next_step_ = 0;   ///< expected by before_step
  std::uint64_t copied_to_ = 0;   ///< copies of steps before it are enqueued
  std::uint64_t freed_to_ = 0;    ///< staging rows of steps before it are released
};

}  // namespace wellspring
