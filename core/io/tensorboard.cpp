#include "core/io/tensorboard.h"

#include "core/io/crc32c.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <unistd.h>

namespace wellspring {
namespace {

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

// The subset of protocol buffers that events need: a field is (number << 3 | wire type), then the
// value. Field numbers: tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto.
enum class Wire : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
constexpr std::uint32_t kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3,
                        kEventSummary = 5, kSummaryValue = 1, kValueTag = 1, kValueSimple = 2;

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

void append_key(std::string& out, std::uint32_t field, Wire wire) {
  append_varint(out, (field << 3) | static_cast<std::uint32_t>(wire));
}

void append_text(std::string& out, std::uint32_t field, std::string_view text) {
  append_key(out, field, Wire::bytes);
  append_varint(out, text.size());
  out += text;
}

std::string event_at(double wall_time) {
  std::string event;
  append_key(event, kEventWallTime, Wire::fixed64);
  append_number(event, wall_time);
  return event;
}

/// Takes a number from the beginning of `rest`; empty if truncated.
std::optional<std::uint64_t> take_varint(Bytes& rest) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < rest.size() && i < 10; ++i) {
    const auto byte = static_cast<std::uint64_t>(rest[i]);
    value |= (byte & 0x7F) << (7 * i);
    if (byte >= 0x80) continue;
    rest = rest.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

struct EventFacts {
  std::uint64_t step = 0;
  bool scalar = false;
};

/// Empty if the bytes are not an event.
std::optional<EventFacts> facts_of(Bytes event) {
  EventFacts facts;
  while (!event.empty()) {
    const std::optional<std::uint64_t> key = take_varint(event);
    if (!key) return std::nullopt;
    std::uint64_t size = 0;
    switch (static_cast<Wire>(*key & 7)) {
      case Wire::varint: {
        const std::optional<std::uint64_t> value = take_varint(event);
        if (!value) return std::nullopt;
        if (*key >> 3 == kEventStep) facts.step = *value;
        break;
      }
      case Wire::fixed64:
        size = 8;
        break;
      case Wire::fixed32:
        size = 4;
        break;
      case Wire::bytes: {
        const std::optional<std::uint64_t> length = take_varint(event);
        if (!length) return std::nullopt;
        size = *length;
        if (*key >> 3 == kEventSummary) facts.scalar = true;
        break;
      }
      default:
        return std::nullopt;
    }
    if (size > event.size()) return std::nullopt;
    event = event.subspan(size);
  }
  return facts;
}

/// TensorFlow's record: length, checksum of the length, payload, checksum of the payload.
std::string record(std::string_view payload) {
  std::string out;
  append_number<std::uint64_t>(out, payload.size());
  append_number<std::uint32_t>(out, masked_crc(crc32c(bytes_of(out))));
  out += payload;
  append_number<std::uint32_t>(out, masked_crc(crc32c(bytes_of(payload))));
  return out;
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& file, double wall_time)
    : file_(file, OutputFile::Mode::replace) {
  std::string event = event_at(wall_time);
  append_text(event, kEventFileVersion, "brain.Event:2");
  file_.write_patiently(bytes_of(record(event)));
}

std::string TensorBoardWriter::file_name(double wall_time) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string_view name = host[0] == '\0' ? "localhost" : host.data();
  return fmt::format("{}{:.0f}.{}.{}", kFilePrefix, wall_time, name, ::getpid());
}

void TensorBoardWriter::add_scalar(std::string_view tag, std::int64_t step, double wall_time,
                                   float value) {
  std::string entry;
  append_text(entry, kValueTag, tag);
  append_key(entry, kValueSimple, Wire::fixed32);
  append_number(entry, value);
  std::string summary;
  append_text(summary, kSummaryValue, entry);
  std::string event = event_at(wall_time);
  append_key(event, kEventStep, Wire::varint);
  append_varint(event, static_cast<std::uint64_t>(step));
  append_text(event, kEventSummary, summary);
  file_.write_patiently(bytes_of(record(event)));
}

namespace {

/// Length, checksum of the length, checksum of the payload.
constexpr std::size_t kRecordHead = 12, kRecordTail = 4;

/// Payload of the first record in `file`; empty if truncated or damaged.
std::optional<Bytes> first_payload(Bytes file) {
  if (file.size() < kRecordHead + kRecordTail) return std::nullopt;
  const auto size = number_at<std::uint64_t>(file, 0);
  if (size > file.size() - kRecordHead - kRecordTail) return std::nullopt;
  const Bytes payload = file.subspan(kRecordHead, size);
  if (number_at<std::uint32_t>(file, kRecordHead + size) != masked_crc(crc32c(payload)))
    return std::nullopt;
  return payload;
}

void cut_back_file(const std::filesystem::path& path, std::uint64_t step) {
  const std::vector<std::byte> bytes = read_bytes(path);
  std::string kept;
  bool scalars = false;
  for (Bytes rest = bytes; const std::optional<Bytes> payload = first_payload(rest);) {
    const std::optional<EventFacts> facts = facts_of(*payload);
    if (!facts) break;
    const std::size_t size = kRecordHead + payload->size() + kRecordTail;
    if (facts->step <= step) {
      kept += text_of(rest.first(size));
      scalars = scalars || facts->scalar;
    }
    rest = rest.subspan(size);
  }
  if (!scalars) {
    std::filesystem::remove(path);
  } else if (kept.size() != bytes.size()) {
    write_file(path, kept);
  }
}

}  // namespace

void cut_back_events(const std::filesystem::path& folder, std::uint64_t step) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename().string().starts_with(kFilePrefix))
      files.push_back(entry.path());
  }
  for (const std::filesystem::path& file : files) cut_back_file(file, step);
}

}  // namespace wellspring
