#include "core/tensorboard.h"

#include "core/crc32c.h"

#include <fmt/format.h>

#include <array>
#include <unistd.h>

namespace wellspring {
namespace {

// Protocol buffers, as far as an event needs them: a field is (number << 3 | wire type), then the
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
  file_.write(record(event));
}

std::string TensorBoardWriter::file_name(double wall_time) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string_view name = host[0] == '\0' ? "localhost" : host.data();
  return fmt::format("events.out.tfevents.{:.0f}.{}.{}", wall_time, name, ::getpid());
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
  file_.write(record(event));
}

}  // namespace wellspring
