// TensorFlow's record files, and the tf.train.Example messages in them. Used by image sets; host
// only. Sources: tensorflow/core/lib/io/record_writer.h (framing), tensorflow/core/example/
// example.proto and feature.proto (messages), "Encoding" of Protocol Buffers' documentation.
#pragma once

#include "core/io/bytes.h"
#include "core/io/files.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace wellspring {

/// Passes the records of a file in order, each with its offset in the file, to `take`; each record
/// overwrites the previous one. Uses memory for the longest record, at most 256 MiB. Errors (data):
/// truncated, wrong checksum, longer record, compressed file. Throws Interrupted after a signal.
void read_tfrecords(const InputFile& file,
                    const std::function<void(Bytes record, std::uint64_t offset)>& take);

/// The values of a feature.
struct ExampleFeature {
  enum class Kind : std::uint8_t { none, bytes, real, whole };
  Kind kind = Kind::none;
  std::uint64_t count = 0;  ///< number of values
  std::size_t begin = 0;    ///< (bytes) offset of the last value in the record, and its size
  std::size_t bytes = 0;
  std::int64_t whole = 0;  ///< (whole) the last value
};

/// Features of an Example by name. If a name occurs twice, the last one counts, as Protocol Buffers
/// prescribe. Throws a data error, which begins with `where`, if the record is not an Example.
std::map<std::string, ExampleFeature> parse_example(Bytes record, const std::string& where);

}  // namespace wellspring
