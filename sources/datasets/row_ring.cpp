#include "sources/datasets/row_ring.h"

#include "core/measure/trace.h"
#include "kernels/runtime/memory_nodes.h"

#include <algorithm>
#include <stdexcept>

namespace wellspring {

RowsAhead::RowsAhead(const Dataset& data, const SampleOrder& order, const ShareSequence& sequence,
                     int threads, std::uint8_t* staging, std::int64_t rows)
    : data_(data),
      order_(order),
      sequence_(sequence),
      thread_count_(threads),
      staging_(staging),
      rows_(rows),
      row_bytes_(data.layout().bytes()),
      held_(static_cast<std::size_t>(rows), -1) {}

RowsAhead::~RowsAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  threads_.clear();  // joins the threads while the members that they use still exist
}

void RowsAhead::seek(std::int64_t entry, std::int64_t end) {
  std::unique_lock lock(mutex_);
  end_ = entry;  // the threads get no more work
  next_ = entry;
  progress_.wait(lock, [&] { return busy_ == 0; });
  next_ = done_ = released_ = entry;
  end_ = end;
  failed_at_ = INT64_MAX;
  failure_ = nullptr;
  std::fill(held_.begin(), held_.end(), -1);
  while (threads_.size() < static_cast<std::size_t>(thread_count_)) {
    threads_.emplace_back([this, thread = static_cast<int>(threads_.size())] {
      bind_to_memory_node(thread);
      work();
    });
  }
  work_.notify_all();
}

void RowsAhead::extend(std::int64_t end) {
  {
    const std::lock_guard lock(mutex_);
    end_ = std::max(end_, end);
  }
  work_.notify_all();
}

void RowsAhead::wait_for(std::int64_t entry) {
  std::unique_lock lock(mutex_);
  if (entry > end_) {
    end_ = entry;
    work_.notify_all();
  }
  // Waits for all entries before a failure, so that the first failure in order is reported.
  progress_.wait(lock, [&] { return done_ >= entry || done_ >= failed_at_; });
  if (done_ < entry) std::rethrow_exception(failure_);
}

bool RowsAhead::ready(std::int64_t entry) const {
  const std::lock_guard lock(mutex_);
  return done_ >= entry;
}

void RowsAhead::release(std::int64_t entry) {
  {
    const std::lock_guard lock(mutex_);
    released_ = std::max(released_, entry);
  }
  work_.notify_all();
}

void RowsAhead::work() {
  std::unique_ptr<RowReader> reader;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] {
      return stop_ || (next_ < end_ && next_ < released_ + rows_ && next_ < failed_at_);
    });
    if (stop_) return;
    const std::int64_t entry = next_++;
    ++busy_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      const TraceSpan span(stages::kItem);
      if (!reader) reader = data_.reader();
      const std::uint64_t sample = order_.sample(sequence_.ordinal(entry));
      reader->read(static_cast<std::int64_t>(sample), staging_ + entry % rows_ * row_bytes_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --busy_;
    if (failure) {
      // Entries before it are still read, so that the first failure in order is reported.
      if (entry < failed_at_) {
        failed_at_ = entry;
        failure_ = failure;
      }
    } else {
      held_[static_cast<std::size_t>(entry % rows_)] = entry;
      while (done_ < next_ && held_[static_cast<std::size_t>(done_ % rows_)] == done_) ++done_;
    }
    progress_.notify_all();
  }
}

/// How far ahead a ring lists steps if it reads a part of every batch.
constexpr std::uint64_t kListedBatches = 2;  // times `ahead`

RowRing::RowRing(Device device, const Dataset& data, int threads, Memory memory,
                 const SlotAssignment& assignment, std::uint32_t source, int ahead)
    : assignment_(assignment),
      source_(source),
      ahead_(static_cast<std::uint64_t>(ahead)),
      memory_(memory),
      row_bytes_(data.layout().bytes()),
      copies_(device, 1),
      sequence_(assignment, source, memory.rows, (1 + kListedBatches) * ahead_ + 2),
      reading_(data, assignment.order[source], sequence_, threads, memory.host, memory.rows) {
  for (int i = 0; i < ahead; ++i) {
    copied_.push_back(std::make_unique<Event>(device));
    consumed_.push_back(std::make_unique<Event>(device));
  }
}

void RowRing::restart(Stream& stream, std::uint64_t step) {
  copies_.synchronize();
  stream.synchronize();
  reading_.seek(0, 0);  // nothing is read while the sequence changes
  sequence_.restart(step);
  first_entry_ = start(step);
  reading_.seek(first_entry_, sequence_.whole() ? std::max(first_entry_, start(assignment_.steps))
                                                : first_entry_);
  started_ = true;
  first_step_ = next_step_ = copied_to_ = freed_to_ = step;
}

// The staging rows of a step are free after its copy.
void RowRing::release_oldest() {
  copied(freed_to_).synchronize();
  reading_.release(start(++freed_to_));
}

/// True if the entries of one more step fit without replacing entries still needed.
bool RowRing::room_for_step() const {
  return start(sequence_.end_step()) + assignment_.share.rows <= start(freed_to_) + memory_.rows;
}

/// Tells the worker threads which data `step`, the next step to copy, will read.
void RowRing::list_step(std::uint64_t step) {
  while (sequence_.end_step() <= step) {
    while (freed_to_ < copied_to_ && !room_for_step()) release_oldest();
    sequence_.append_step();
    reading_.extend(start(sequence_.end_step()));
  }
}

/// Lists later steps as long as there is room.
void RowRing::list_further(std::uint64_t current) {
  const std::uint64_t end = std::min(current + kListedBatches * ahead_, assignment_.steps);
  while (sequence_.end_step() < end && room_for_step()) {
    sequence_.append_step();
    reading_.extend(start(sequence_.end_step()));
  }
}

/// The last step before `current` whose device rows the copy of `step` will overwrite; `current` if
/// there is no such step. All steps from before the last restart are done.
std::uint64_t RowRing::last_reader(std::uint64_t current, std::uint64_t step) {
  if (!sequence_.whole()) {  // a step uses at most its share of rows and places
    return step >= first_step_ + ahead_ ? step - ahead_ : current;
  }
  // These device rows held the entries that come `rows` before the new ones.
  const std::int64_t overwritten = start(step + 1) - memory_.rows;
  if (start(step) == start(step + 1) || first_entry_ >= overwritten) return current;
  std::uint64_t reader = current;
  while (reader > first_step_ && reader + ahead_ > current && start(reader) >= overwritten) {
    --reader;
  }
  return reader;
}

void RowRing::enqueue_copy(std::uint64_t current, std::uint64_t step) {
  const TraceSpan span(stages::kTransfer, static_cast<std::int64_t>(step));
  // The event of step - ahead is about to be recorded again.
  while (freed_to_ + ahead_ <= step) release_oldest();
  const std::uint64_t reader = last_reader(current, step);
  if (reader < current) consumed(reader).wait(copies_);
  const std::int64_t end = start(step + 1);
  for (std::int64_t row = start(step); row < end;) {
    const std::int64_t first = row % memory_.rows;
    const std::int64_t count = std::min(end - row, memory_.rows - first);
    copies_.copy(memory_.device + first * row_bytes_, memory_.host + first * row_bytes_,
                 static_cast<std::size_t>(count * row_bytes_), CopyDirection::host_to_device,
                 "rows of a data set");
    row += count;
  }
  if (!sequence_.whole()) copy_places(step);
  copied(step).record(copies_);
  copied_to_ = step + 1;
}

// The places of other ranks' samples are copied as well, but never read.
void RowRing::copy_places(std::uint64_t step) {
  for (std::int64_t n = start(step); n < start(step + 1); ++n) {
    const auto place = static_cast<std::int64_t>(sequence_.ordinal(n)) % memory_.places;
    memory_.host_places[place] = static_cast<std::int32_t>(n % memory_.rows);
  }
  const std::int64_t end = assignment_.given(step + 1, source_);
  for (std::int64_t place = assignment_.given(step, source_); place < end;) {
    const std::int64_t first = place % memory_.places;
    const std::int64_t count = std::min(end - place, memory_.places - first);
    copies_.copy(memory_.device_places + first, memory_.host_places + first,
                 static_cast<std::size_t>(count) * sizeof(std::int32_t),
                 CopyDirection::host_to_device, "places of rows");
    place += count;
  }
}

void RowRing::before_step(Stream& stream, std::uint64_t step, std::uint64_t count) {
  if (count > ahead_) throw std::logic_error("a launch has more steps than the ring");
  const bool again = started_ && count == 1 && step + 1 == next_step_;  // its rows are still there
  if (!again && (!started_ || step != next_step_)) restart(stream, step);
  while (copied_to_ < step + count) {
    list_step(copied_to_);
    // The threads can read this step's rows only after the rows they overwrite are released.
    while (freed_to_ < copied_to_ && start(copied_to_ + 1) > start(freed_to_) + memory_.rows) {
      release_oldest();
    }
    reading_.wait_for(start(copied_to_ + 1));
    enqueue_copy(step, copied_to_);
  }
  // Copy further steps whose rows are already read. The ring holds `ahead` whole shares, so all
  // these copies overwrite only rows of steps launched before this one.
  while (copied_to_ < step + ahead_ && copied_to_ < assignment_.steps &&
         copied_to_ < sequence_.end_step() &&
         (freed_to_ + ahead_ > copied_to_ || copied(freed_to_).done()) &&
         reading_.ready(start(copied_to_ + 1))) {
    enqueue_copy(step, copied_to_);
  }
  while (freed_to_ < copied_to_ && copied(freed_to_).done()) release_oldest();
  list_further(step);
  copied(step + count - 1).wait(stream);  // copies keep the order of steps
}

void RowRing::after_step(Stream& stream, std::uint64_t step, std::uint64_t count) {
  for (next_step_ = step; next_step_ < step + count; ++next_step_)
    consumed(next_step_).record(stream);
}

}  // namespace wellspring
