// A data set as labelled rows: the interface between file formats (sources/files/format.h) and the
// code that reads rows (ring, resident data, evaluation). Host only.
#pragma once

#include "core/config/image_size.h"
#include "core/io/element_type.h"
#include "generators/sample_info.h"
#include "kernels/batch/batch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// Storage of one row, identical in host and device memory.
struct RowLayout {
  SampleLayout sample;
  ElementType type = ElementType::u8;  ///< u8: image, HWC; f32: event or set (stored_numbers)
  /// True: images differ in size but fit into `sample`; each row ends with a StoredFrame.
  bool own_sizes = false;
  friend bool operator==(const RowLayout&, const RowLayout&) = default;
  std::int64_t bytes() const;
};

/// Reads rows. Each thread needs its own reader, which keeps buffers and decoder state.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// Checks a row as far as possible without the cost of read(). Every row of a streamed set is
  /// checked before the first step. Throws the same errors as read().
  virtual void check(std::int64_t row) = 0;
  /// Writes a row to `out` [layout().bytes()]. Throws data errors that name the row's location.
  virtual void read(std::int64_t row, std::uint8_t* out) = 0;
  /// The two halves of read(), if Dataset::encoded(): the bytes of the row's file, and the row that
  /// they encode. Errors as for read().
  virtual void read_encoded(std::int64_t row, std::vector<std::uint8_t>& bytes);
  virtual void decode(std::int64_t row, std::span<const std::uint8_t> bytes, std::uint8_t* out);
  /// Checks the header of a row's file, except the size of the image. Errors as for read().
  virtual void check_encoded(std::int64_t row, std::span<const std::uint8_t> bytes);
};

/// Labelled rows of one layout, numbered from 0. Everything but the rows' bytes is known after
/// opening and never changes. The set must outlive its readers. All functions are thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  virtual RowLayout layout() const = 0;
  /// Label i means classes()[i].
  virtual const std::vector<std::string>& classes() const = 0;
  virtual std::int32_t label(std::int64_t row) const = 0;
  /// Names of the features (of an event or item) and of a set's globals; empty if unknown.
  virtual const std::vector<ValueInfo>& features() const;
  virtual const std::vector<ValueInfo>& globals() const;
  /// Regression targets in addition to the label (events and sets): the columns of `latents`.
  virtual const std::vector<LatentInfo>& latents() const;
  /// Writes the row's latents to `out` [latents().size()].
  virtual void read_latents(std::int64_t row, float* out) const;
  /// The columns of `target`, and a row's values in them.
  virtual const std::vector<ValueInfo>& targets() const;
  virtual void read_targets(std::int64_t row, float* out) const;
  /// Origin of a row, for messages: "dir/train/cat/1.jpg", "x.npy: row 17".
  virtual std::string location(std::int64_t row) const = 0;
  /// location() with the canonical path: identical for the same row of the same file.
  virtual std::string place(std::int64_t row) const = 0;
  /// Text for the start of a run: "500 images of 10 classes, 32x32, from x.npy", and omitted rows.
  virtual std::string summary() const = 0;
  /// Advice for messages if the size of rows differs from `size`.
  virtual std::string size_advice(ImageSize size) const = 0;
  virtual std::unique_ptr<RowReader> reader() const = 0;
  /// True if rows must be decoded, because the data set consists of image files.
  virtual bool encoded() const { return false; }
  /// True if rows are the 8-bit RGB pixels of their files, neither resized nor converted.
  virtual bool is_verbatim() const { return false; }
  /// Only if encoded(): size of a row's file. Data error: it cannot be opened.
  virtual std::uint64_t encoded_bytes(std::int64_t row) const;
  /// True if an export has already scaled the values, by the `normalise` of its run.
  virtual bool normalised() const { return false; }
  /// Host memory, in bytes, that the set needs for rows that it cannot read in place.
  virtual std::uint64_t held_bytes() const { return 0; }
  /// Reads these rows into `memory` [held_bytes()], which must outlive all readers. Call it before
  /// making readers: otherwise the first one allocates memory. Data error: a row is damaged.
  virtual void hold(std::span<std::byte> /*memory*/) {}
};

/// Runs `work(reader, i)` for i in [begin, end) on `threads` threads. If several rows fail, throws
/// the failure with the lowest i, for any number of threads; throws Interrupted after a signal.
/// `begun`, if given, receives on the calling thread the number of rows done or in progress.
void for_each_row(const Dataset& data, int threads, std::int64_t begin, std::int64_t end,
                  const std::function<void(RowReader&, std::int64_t)>& work,
                  const std::function<void(std::int64_t)>& begun = {});

/// The first `limit_per_class` rows of each class, in order; 0: all rows.
std::vector<std::int64_t> first_of_each_class(std::span<const std::int32_t> labels,
                                              std::int64_t limit_per_class);

/// "10 classes", or "256 classes (245 without samples)", so that the plan reveals a stray label.
std::string summary_of_classes(const Dataset& data);

}  // namespace wellspring
