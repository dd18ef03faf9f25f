#include "core/tensorboard.h"

#include "core/crc32c.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

/// Takes one record off the front of `rest` and checks both of its checksums.
std::string take_record(std::string& rest) {
  const Bytes bytes = bytes_of(rest);
  if (bytes.size() < 16) {
    ADD_FAILURE() << "no record is left";
    return "";
  }
  const auto size = number_at<std::uint64_t>(bytes, 0);
  EXPECT_EQ(number_at<std::uint32_t>(bytes, 8), masked_crc(crc32c(bytes.first(8))));
  const Bytes payload = bytes.subspan(12, size);
  EXPECT_EQ(number_at<std::uint32_t>(bytes, 12 + size), masked_crc(crc32c(payload)));
  std::string out(text_of(payload));
  rest.erase(0, 16 + size);
  return out;
}

TEST(TensorBoard, EventsAreExactToTheByte) {
  const test::TemporaryFolder folder;
  TensorBoardWriter writer(folder / "events", 1.5);
  writer.add_scalar("loss", 300, 2.0, 0.5f);
  // Nothing is held back: a reader may look at any time.
  std::string rest = test::slurp(folder / "events");
  // Field 1 (wall_time, fixed64) = 1.5; field 3 (file_version, 13 bytes).
  EXPECT_EQ(take_record(rest), std::string("\x09\0\0\0\0\0\0\xF8\x3F\x1A\x0D"
                                           "brain.Event:2",
                                           24));
  // wall_time = 2.0; field 2 (step, varint) = 300 = AC 02; field 5 (summary, 13 bytes) of field 1
  // (value, 11 bytes) of field 1 (tag) = "loss" and field 2 (simple_value, fixed32) = 0.5.
  EXPECT_EQ(take_record(rest), std::string("\x09\0\0\0\0\0\0\0\x40\x10\xAC\x02\x2A\x0D\x0A\x0B\x0A"
                                           "\x04loss\x15\0\0\0\x3F",
                                           27));
  EXPECT_EQ(rest, "");
  writer.finish();
}

TEST(TensorBoard, FileNameIsWhatItLooksFor) {
  const std::string name = TensorBoardWriter::file_name(1700000000.25);
  EXPECT_TRUE(name.starts_with("events.out.tfevents.1700000000.")) << name;
  EXPECT_EQ(name.find('/'), std::string::npos);
}

}  // namespace
}  // namespace wellspring
