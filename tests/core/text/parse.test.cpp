#include "core/text/parse.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace wellspring::test {
namespace {

using Parts = std::vector<std::string_view>;

TEST(ParseNumber, TakesWholeTextsOnly) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<double>("2.5e3"), 2500);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775807"),
            std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "9223372036854775808"})
    EXPECT_FALSE(parse_number<std::int64_t>(text)) << "'" << text << "'";
  EXPECT_FALSE(parse_number<std::uint64_t>("-1"));
  EXPECT_FALSE(parse_number<int>("2.5"));
  EXPECT_FALSE(parse_number<double>("1e999"));
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("", ','), Parts{""});
  EXPECT_EQ(split("a", ','), Parts{"a"});
  EXPECT_EQ(split("a,,b,", ','), (Parts{"a", "", "b", ""}));
}

}  // namespace
}  // namespace wellspring::test
