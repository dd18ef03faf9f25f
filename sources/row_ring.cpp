#include "sources/row_ring.h"

#include <algorithm>

namespace wellspring {

RowsAhead::RowsAhead(const Dataset& data, const SampleOrder& order, int threads,
                     std::uint8_t* staging, std::int64_t rows)
    : data_(data),
      order_(order),
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
  threads_.clear();  // joins while the members they use are alive
}

void RowsAhead::seek(std::int64_t ordinal, std::int64_t end) {
  std::unique_lock lock(mutex_);
  end_ = ordinal;  // gives out no more work
  next_ = ordinal;
  progress_.wait(lock, [&] { return busy_ == 0; });
  next_ = done_ = released_ = ordinal;
  end_ = end;
  failed_at_ = INT64_MAX;
  failure_ = nullptr;
  std::fill(held_.begin(), held_.end(), -1);
  while (threads_.size() < static_cast<std::size_t>(thread_count_)) {
    threads_.emplace_back([this] { work(); });
  }
  work_.notify_all();
}

void RowsAhead::wait_for(std::int64_t ordinal) {
  std::unique_lock lock(mutex_);
  if (ordinal > end_) {
    end_ = ordinal;
    work_.notify_all();
  }
  // All before a failure are waited for, so that the first in order is reported, not in time.
  progress_.wait(lock, [&] { return done_ >= ordinal || done_ >= failed_at_; });
  if (done_ < ordinal) std::rethrow_exception(failure_);
}

bool RowsAhead::ready(std::int64_t ordinal) const {
  const std::lock_guard lock(mutex_);
  return done_ >= ordinal;
}

void RowsAhead::release(std::int64_t ordinal) {
  {
    const std::lock_guard lock(mutex_);
    released_ = std::max(released_, ordinal);
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
    const std::int64_t ordinal = next_++;
    ++busy_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!reader) reader = data_.reader();
      const std::uint64_t sample = order_.sample(static_cast<std::uint64_t>(ordinal));
      reader->read(static_cast<std::int64_t>(sample), staging_ + ordinal % rows_ * row_bytes_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --busy_;
    if (failure) {
      // Samples before it are still read, so the one that fails first in order is reported.
      if (ordinal < failed_at_) {
        failed_at_ = ordinal;
        failure_ = failure;
      }
    } else {
      held_[static_cast<std::size_t>(ordinal % rows_)] = ordinal;
      while (done_ < next_ && held_[static_cast<std::size_t>(done_ % rows_)] == done_) ++done_;
    }
    progress_.notify_all();
  }
}

RowRing::RowRing(Device device, const Dataset& data, int threads, Memory memory,
                 const SlotAssignment& assignment, std::uint32_t source, int ahead)
    : assignment_(assignment),
      source_(source),
      ahead_(static_cast<std::uint64_t>(ahead)),
      memory_(memory),
      row_bytes_(data.layout().bytes()),
      copies_(device, 1),
      reading_(data, assignment.order[source], threads, memory.host, memory.rows) {
  for (int i = 0; i < ahead; ++i) {
    copied_.push_back(std::make_unique<Event>(device));
    consumed_.push_back(std::make_unique<Event>(device));
  }
}

void RowRing::restart(Stream& stream, std::uint64_t step) {
  copies_.synchronize();
  stream.synchronize();
  reading_.seek(given(step), std::max(given(step), given(assignment_.steps)));
  started_ = true;
  first_step_ = next_step_ = copied_to_ = freed_to_ = step;
}

// The staging rows of a step are free once its copy is done.
void RowRing::release_oldest() {
  copied(freed_to_).synchronize();
  reading_.release(given(++freed_to_));
}

void RowRing::enqueue_copy(std::uint64_t current, std::uint64_t step) {
  // The event of step - ahead is about to be recorded anew.
  while (freed_to_ + ahead_ <= step) release_oldest();
  const std::int64_t begin = given(step), end = given(step + 1);
  // The device rows held the samples `rows` earlier; wait for the last step that read any of them.
  // Steps before the first one of this pass are done, and later steps come after earlier ones.
  const std::int64_t overwritten = end - memory_.rows;
  std::uint64_t reader = current;
  while (reader > first_step_ && reader + ahead_ > current && given(reader) >= overwritten) {
    --reader;
  }
  if (begin < end && reader < current && given(first_step_) < overwritten) {
    consumed(reader).wait(copies_);
  }
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t first = row % memory_.rows;
    const std::int64_t count = std::min(end - row, memory_.rows - first);
    copies_.copy(memory_.device + first * row_bytes_, memory_.host + first * row_bytes_,
                 static_cast<std::size_t>(count * row_bytes_), CopyDirection::host_to_device,
                 "rows of a data set");
    row += count;
  }
  copied(step).record(copies_);
  copied_to_ = step + 1;
}

void RowRing::before_step(Stream& stream, std::uint64_t step) {
  const bool again = started_ && step + 1 == next_step_;  // a step that is checked runs twice
  if (!again && (!started_ || step != next_step_)) restart(stream, step);
  while (copied_to_ <= step) {
    // The threads can only get there once the rows they need are released.
    while (freed_to_ < copied_to_ && given(copied_to_ + 1) > given(freed_to_) + memory_.rows) {
      release_oldest();
    }
    reading_.wait_for(given(copied_to_ + 1));
    enqueue_copy(step, copied_to_);
  }
  // Further steps as far as they are read. The ring holds `ahead` whole batches, so the rows
  // they overwrite belong to steps that were launched before this one.
  while (copied_to_ < step + ahead_ && copied_to_ < assignment_.steps &&
         (freed_to_ + ahead_ > copied_to_ || copied(freed_to_).done()) &&
         reading_.ready(given(copied_to_ + 1))) {
    enqueue_copy(step, copied_to_);
  }
  while (freed_to_ < copied_to_ && copied(freed_to_).done()) release_oldest();
  copied(step).wait(stream);
  next_step_ = step + 1;
}

void RowRing::after_step(Stream& stream, std::uint64_t step) {
  consumed(step).record(stream);
}

}  // namespace wellspring
