#include "export/csv_file.h"

#include "core/io/files.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

TEST(CsvFile, WritesRowsOnceAllColumnsHaveThem) {
  const TemporaryFolder folder;
  const auto path = folder / "a.csv";
  const auto file = create_csv_file(path);
  const auto id = file->open("id", {ElementType::i64, {3}}, {});
  const auto name = file->open("name", {ElementType::u8, {3, 6}}, {});
  const auto xy = file->open("v", {ElementType::f32, {3, 2}}, {{"x", "y,z"}, {}});
  const std::vector<std::int64_t> ids = {1, -2, 3};
  file->append(id, bytes_of(ids));
  const std::string names = std::string("a,b\0\0\0", 6) + std::string("\"q\"\0\0\0", 6);
  file->append(name, bytes_of(names));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> first = {0.1f, nan};
  file->append(xy, bytes_of(first));
  const std::vector<float> rest = {1, 2, 3e-8f, 4};
  file->append(xy, bytes_of(rest));
  EXPECT_THROW(file->finish({}), std::logic_error) << "the last name is missing";
  EXPECT_FALSE(std::filesystem::exists(path));
  file->append(name, bytes_of(std::string("longer")));
  file->finish({});
  EXPECT_EQ(read_text(path),
            "id,name,v_x,\"v_y,z\"\r\n"
            "1,\"a,b\",0.1,\r\n"
            "-2,\"\"\"q\"\"\",1,2\r\n"
            "3,longer,3e-08,4\r\n");
}

TEST(CsvFile, LeavesNothingUnfinished) {
  const TemporaryFolder folder;
  {
    const auto file = create_csv_file(folder / "a.csv");
    const auto id = file->open("id", {ElementType::i32, {1}}, {});
    const std::vector<std::int32_t> ids = {7};
    file->append(id, bytes_of(ids));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace wellspring::test
