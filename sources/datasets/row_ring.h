// Reads rows of a data set ahead of the training step and copies them to the device: worker threads
// fill page-locked rows, a separate stream copies them, and events order copies and steps. Used by
// streaming data sets; host only.
//
// Entry n of this rank's share goes to row n % rows, on host and device alike. If the share is the
// whole batch, entry n is the source's n-th sample (n is its ordinal), so the device can compute
// the row itself. If the share is a part of every batch, the device reads the row from a table.
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

/// The host part: worker threads keep rows of memory filled in the order in which steps need them.
class RowsAhead {
 public:
  /// `staging`: [rows, row bytes]; `sequence`: entry to sample. seek() starts the threads.
  RowsAhead(const Dataset& data, const SampleOrder& order, const ShareSequence& sequence,
            int threads, std::uint8_t* staging, std::int64_t rows);
  ~RowsAhead();
  RowsAhead(const RowsAhead&) = delete;
  RowsAhead& operator=(const RowsAhead&) = delete;

  /// Restarts at `entry` and reads nothing at or after `end`. No row may be in use.
  void seek(std::int64_t entry, std::int64_t end);
  /// Allows reading entries before `end`.
  void extend(std::int64_t end);
  /// Waits until all entries before `entry` are read; rethrows a worker's failure on one of them.
  void wait_for(std::int64_t entry);
  bool ready(std::int64_t entry) const;
  /// Declares that rows of entries before `entry` may be overwritten.
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
  std::vector<std::int64_t> held_;  ///< entry in each row, -1: empty
  std::int64_t next_ = 0;           ///< next entry to read
  std::int64_t done_ = 0;           ///< all entries before it are read
  std::int64_t released_ = 0;       ///< rows of entries before it are free
  std::int64_t end_ = 0;
  std::int64_t failed_at_ = INT64_MAX;
  std::exception_ptr failure_;
  int busy_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

/// The device part: copies in step order.
class RowRing {
 public:
  struct Memory {
    std::uint8_t* host = nullptr;    ///< [rows, row_bytes], page-locked
    std::uint8_t* device = nullptr;  ///< [rows, row_bytes]
    std::int64_t rows = 0;           ///< at least `ahead` shares of a batch
    // Used if the share is a part of every batch: row of the source's n-th sample, at n % places.
    std::int32_t* host_places = nullptr;    ///< [places], page-locked
    std::int32_t* device_places = nullptr;  ///< [places]
    std::int64_t places = 0;                ///< `ahead` global batches
  };
  /// `data` and `assignment` must outlive the ring.
  RowRing(Device device, const Dataset& data, int threads, Memory memory,
          const SlotAssignment& assignment, std::uint32_t source, int ahead);

  /// Makes `stream` wait until the rows of `count` steps, starting at `step`, are on the device,
  /// and starts the copies of later steps that are ready. `count`: at most `ahead`. Steps must come
  /// in order; any other step restarts the ring there.
  void before_step(Stream& stream, std::uint64_t step, std::uint64_t count);
  void after_step(Stream& stream, std::uint64_t step, std::uint64_t count);

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
  std::uint64_t first_step_ = 0;  ///< first step since the last restart
  std::int64_t first_entry_ = 0;  ///< first entry of first_step_
  std::uint64_t next_step_ = 0;   ///< not launched yet
  std::uint64_t copied_to_ = 0;   ///< copies of steps before it are enqueued
  std::uint64_t freed_to_ = 0;    ///< staging rows of steps before it are free
};

}  // namespace wellspring
