#include "sources/files/tfrecord.h"

#include "core/error.h"
#include "core/io/crc32c.h"
#include "core/io/file_kind.h"
#include "core/signals.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>

namespace wellspring {
namespace {

constexpr std::uint64_t kLongestRecord = std::uint64_t{1} << 28;

[[noreturn]] void refuse_record(const std::string& problem, const std::string& why) {
  fail(ErrorKind::data, {problem, why, "create the file again or copy it again"});
}

/// Reads the fields of a message.
class Message {
 public:
  enum Type : std::uint8_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };
  struct Field {
    std::uint64_t number = 0;
    Type type = varint;
    std::uint64_t value = 0;  ///< (varint)
    Bytes bytes = {};         ///< (other types)
  };

  Message(Bytes bytes, const std::string& where) : rest_(bytes), where_(where) {}

  bool ended() const { return rest_.empty(); }

  Field next() {
    const std::uint64_t tag = number();
    Field field{tag >> 3, static_cast<Type>(tag & 7)};
    switch (field.type) {
      case varint:
        field.value = number();
        break;
      case fixed64:
        field.bytes = take(8);
        break;
      case delimited:
        field.bytes = take(number());
        break;
      case fixed32:
        field.bytes = take(4);
        break;
      default:
        refuse_record(where_ + ": not a tf.train.Example", "it has a field of unknown type");
    }
    return field;
  }

  std::uint64_t number() {
    constexpr int kMostBits = 70;  // in 10 bytes
    std::uint64_t value = 0;
    for (int shift = 0; shift < kMostBits; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(take(1)[0]);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    refuse_record(where_ + ": not a tf.train.Example", "a number has more than 10 bytes");
  }

 private:
  Bytes take(std::uint64_t size) {
    if (size > rest_.size())
      refuse_record(where_ + ": not a tf.train.Example", "a field ends too late");
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  Bytes rest_;
  const std::string& where_;
};

constexpr std::uint64_t kFeatures = 1, kEntry = 1, kKey = 1, kFeature = 2, kValues = 1;
constexpr std::uint64_t kBytesList = 1, kFloatList = 2, kInt64List = 3;

/// A list of values, in `bytes` of a record that begins at `record`.
ExampleFeature read_list(std::uint64_t list, Bytes bytes, const std::byte* record,
                         const std::string& where) {
  ExampleFeature feature;
  feature.kind = list == kBytesList   ? ExampleFeature::Kind::bytes
                 : list == kFloatList ? ExampleFeature::Kind::real
                                      : ExampleFeature::Kind::whole;
  for (Message message(bytes, where); !message.ended();) {
    const Message::Field field = message.next();
    if (field.number != kValues) continue;
    if (list == kBytesList && field.type == Message::delimited) {
      ++feature.count;
      feature.begin = static_cast<std::size_t>(field.bytes.data() - record);
      feature.bytes = field.bytes.size();
    } else if (list == kFloatList) {
      feature.count += field.bytes.size() / sizeof(float);
    } else if (list == kInt64List && field.type == Message::varint) {
      ++feature.count;
      feature.whole = static_cast<std::int64_t>(field.value);
    } else if (list == kInt64List && field.type == Message::delimited) {  // packed
      for (Message values(field.bytes, where); !values.ended(); ++feature.count)
        feature.whole = static_cast<std::int64_t>(values.number());
    } else {
      refuse_record(where + ": not a tf.train.Example", "a list has values of another type");
    }
  }
  return feature;
}

/// Calls `take` with the content of each field `number`, which must be a message or a text.
template <class Take>
void each_field(Bytes bytes, std::uint64_t number, const std::string& where, const Take& take) {
  for (Message message(bytes, where); !message.ended();) {
    const Message::Field field = message.next();
    if (field.number == number && field.type == Message::delimited) take(field.bytes);
  }
}

}  // namespace

std::map<std::string, ExampleFeature> parse_example(Bytes record, const std::string& where) {
  std::map<std::string, ExampleFeature> features;
  const auto add = [&](Bytes entry) {
    std::string name;
    ExampleFeature feature;
    each_field(entry, kKey, where, [&](Bytes text) { name = text_of(text); });
    each_field(entry, kFeature, where, [&](Bytes value) {
      for (Message message(value, where); !message.ended();) {
        const Message::Field list = message.next();
        if (list.type == Message::delimited && list.number >= kBytesList &&
            list.number <= kInt64List)
          feature = read_list(list.number, list.bytes, record.data(), where);
      }
    });
    features[name] = feature;
  };
  each_field(record, kFeatures, where, [&](Bytes all) { each_field(all, kEntry, where, add); });
  return features;
}

void read_tfrecords(const InputFile& file,
                    const std::function<void(Bytes record, std::uint64_t offset)>& take) {
  constexpr std::uint64_t kHead = 12, kFoot = 4;  // length and its checksum; checksum of the data
  const std::string name = file.path().string();
  if (file_kind(file) == FileKind::gzip)
    fail(ErrorKind::data,
         {name + ": a compressed file", "records are read in place", "decompress it: gzip -d"});
  std::vector<std::byte> record;
  std::uint64_t number = 0;
  for (std::uint64_t at = 0; at < file.size(); ++number) {
    const auto damaged = [&](const std::string& why) {
      refuse_record(fmt::format("{}: not a TFRecord file, or damaged, at record {}", name, number),
                    why);
    };
    stop_if_interrupted();
    std::array<std::byte, kHead> head;
    if (file.size() - at < kHead + kFoot) damaged("it ends within a record");
    file.read(at, head);
    const auto length = number_at<std::uint64_t>(head, 0);
    if (masked_crc(crc32c(Bytes(head).first(8))) != number_at<std::uint32_t>(head, 8))
      damaged("the checksum of the length is wrong");
    if (length > file.size() - at - kHead - kFoot) damaged("it ends within a record");
    if (length > kLongestRecord)
      damaged(fmt::format("the record has {} bytes, more than {}", length, kLongestRecord));
    record.resize(length + kFoot);
    file.read(at + kHead, record);
    const Bytes data = Bytes(record).first(length);
    if (masked_crc(crc32c(data)) != number_at<std::uint32_t>(record, length))
      damaged("the checksum of the data is wrong");
    take(data, at + kHead);
    at += kHead + length + kFoot;
  }
}

}  // namespace wellspring
