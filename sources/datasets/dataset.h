// A data set as rows: what stands between a file format and all that reads data sets (the ring,
// resident data, evaluation). A format implements it; see sources/files/format.h. Host only.
#pragma once

#include "core/io/element_type.h"
#include "generators/sample_info.h"
#include "kernels/batch/batch.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// How one row is kept in memory, on the host as on the device.
struct RowLayout {
  SampleLayout sample;
  ElementType type = ElementType::u8;  ///< u8: pixels of an image, HWC; f32: an event or a set, as
                                       ///< stored_numbers (sources/datasets/stored_rows.h) has them
  friend bool operator==(const RowLayout&, const RowLayout&) = default;
  std::int64_t bytes() const;
};

/// Reads rows; one a thread, since it keeps buffers and the state of decoders.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// Finds what is wrong with a row, as far as that can be told without the work of read(): what
  /// every row of a streamed set goes through before the first step. Errors as read().
  virtual void check(std::int64_t row) = 0;
  /// Writes a row to `out` [layout().bytes()]. Errors (data), with the row's location.
  virtual void read(std::int64_t row, std::uint8_t* out) = 0;
};

/// Labelled rows of one layout, numbered from 0. All but the bytes of the rows is known once it is
/// open, and never changes. Readers refer to it; all functions may be called from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  virtual RowLayout layout() const = 0;
  /// Label i means classes()[i].
  virtual const std::vector<std::string>& classes() const = 0;
  virtual std::int32_t label(std::int64_t row) const = 0;
  /// The features of an event or an item, and what a set has as a whole, by name; empty where
  /// nobody says.
  virtual const std::vector<ValueInfo>& features() const;
  virtual const std::vector<ValueInfo>& globals() const;
  /// What is known of each row beside its label, for regressions: its column of latents. Of events
  /// and sets.
  virtual const std::vector<LatentInfo>& latents() const;
  /// Writes them to `out` [latents().size()].
  virtual void read_latents(std::int64_t row, float* out) const;
  /// The columns of `target` by name, and the same of a row.
  virtual const std::vector<ValueInfo>& targets() const;
  virtual void read_targets(std::int64_t row, float* out) const;
  /// Where a row comes from, for messages: "dir/train/cat/1.jpg", "x.npy: row 17".
  virtual std::string location(std::int64_t row) const = 0;
  /// The same with the file's own path, however it was written: equal for the same row of the same
  /// file.
  virtual std::string place(std::int64_t row) const = 0;
  /// For the head of a run: "5000 images of 10 classes, 32x32, from data/x.npy", and what was left
  /// out of it.
  virtual std::string summary() const = 0;
  /// What can be done about rows of another size than `size` x `size`, for messages.
  virtual std::string size_advice(int size) const = 0;
  virtual std::unique_ptr<RowReader> reader() const = 0;
};

/// Runs `work(reader, i)` for i in [begin, end) on `threads` threads. Of several failures the one
/// with the lowest i is thrown, whatever the number of threads; Interrupted once a signal has come.
/// `begun`, where given, is told on the calling thread how many rows are done or at hand.
void for_each_row(const Dataset& data, int threads, std::int64_t begin, std::int64_t end,
                  const std::function<void(RowReader&, std::int64_t)>& work,
                  const std::function<void(std::int64_t)>& begun = {});

/// The rows that `limit_per_class` leaves: the first ones of each class, in order; all where the
/// limit is 0.
std::vector<std::int64_t> first_of_each_class(std::span<const std::int32_t> labels,
                                              std::int64_t limit_per_class);

}  // namespace wellspring
