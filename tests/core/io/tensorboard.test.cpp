#include "core/io/tensorboard.h"

#include "core/io/crc32c.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

/// Removes the first record of `rest`, checks both of its checksums and returns its payload.
std::string take_record(std::string& rest) {
  const Bytes bytes = bytes_of(rest);
  if (bytes.size() < 16) {
    ADD_FAILURE() << "there is no record left";
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

TEST(TensorBoardWriter, WritesTheExactBytesOfEvents) {
  const test::TemporaryFolder folder;
  TensorBoardWriter writer(folder / "events", 1.5);
  writer.add_scalar("loss", 300, 2.0, 0.5f);
  // Events must not be buffered, because a reader may open the file at any time.
  std::string rest = test::slurp(folder / "events");
  // Field 1 (wall_time, fixed64) = 1.5; field 3 (file_version, 13 bytes).
  EXPECT_EQ(take_record(rest), std::string("\x09\0\0\0\0\0\0\xF8\x3F\x1A\x0D"
                                           "brain.Event:2",
                                           24));
  // wall_time = 2.0; field 2 (step, varint) = 300 = AC 02; field 5 (summary, 13 bytes) holds
  // field 1 (value, 11 bytes), which holds field 1 (tag) = "loss" and field 2 (simple_value,
  // fixed32) = 0.5.
  EXPECT_EQ(take_record(rest), std::string("\x09\0\0\0\0\0\0\0\x40\x10\xAC\x02\x2A\x0D\x0A\x0B\x0A"
                                           "\x04loss\x15\0\0\0\x3F",
                                           27));
  EXPECT_EQ(rest, "");
  writer.finish();
}

TEST(TensorBoardWriter, NamesFilesAsTensorBoardExpects) {
  const std::string name = TensorBoardWriter::file_name(1700000000.25);
  EXPECT_TRUE(name.starts_with("events.out.tfevents.1700000000.")) << name;
  EXPECT_EQ(name.find('/'), std::string::npos);
}

/// Number of records in a file.
int records(const std::filesystem::path& file) {
  std::string rest = test::slurp(file);
  int count = 0;
  for (; !rest.empty() && !testing::Test::HasFailure(); ++count) take_record(rest);
  return count;
}

TEST(CutBackEvents, RemovesEventsAfterAStep) {
  const test::TemporaryFolder folder;
  const auto file = [&](int k) { return folder / ("events.out.tfevents." + std::to_string(k)); };
  for (const int first : {10, 40}) {
    TensorBoardWriter writer(file(first), 1.5);
    for (int step = first; step < first + 3; ++step) {
      writer.add_scalar("loss", step, 2.0, 0.5f);
      writer.add_scalar("accuracy", step, 2.0, 0.5f);
    }
  }
  test::spill(folder / "other", "no event file");
  const std::string whole = test::slurp(file(10));
  cut_back_events(folder.path(), 50);
  EXPECT_EQ(test::slurp(file(10)), whole) << "there was nothing to remove";
  test::spill(file(10), whole + whole.substr(0, 30));  // a killed process left a partial record
  cut_back_events(folder.path(), 40);
  EXPECT_EQ(test::slurp(file(10)), whole);
  EXPECT_EQ(records(file(40)), 3) << "version record and two scalars of step 40";
  cut_back_events(folder.path(), 11);
  EXPECT_EQ(records(file(10)), 5);
  EXPECT_EQ(test::slurp(file(10)), whole.substr(0, test::slurp(file(10)).size()));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"events.out.tfevents.10", "other"}));
}

}  // namespace
}  // namespace wellspring
