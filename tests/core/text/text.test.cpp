#include "core/text/text.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <limits>

namespace wellspring {
namespace {

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("momentum", "momentmu"), 1u);
  EXPECT_EQ(edit_distance("LR", "lr"), 0u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);  // restricted distance; the unrestricted one is 2
  EXPECT_EQ(edit_distance("batch", "bacth"), edit_distance("bacth", "batch"));
}

TEST(NearestName, FindsOnlyTypos) {
  const std::vector<std::string> known = {"lr", "momentum", "weight_decay", "warmup_steps"};
  EXPECT_EQ(nearest_name("lr_", known), "lr");
  EXPECT_EQ(nearest_name("momemtun", known), "momentum");
  EXPECT_EQ(nearest_name("WeightDecay", known), "weight_decay");
  EXPECT_EQ(nearest_name("warmup", known), "warmup_steps");  // is a prefix
  EXPECT_EQ(nearest_name("colour", known), std::nullopt);
  EXPECT_EQ(nearest_name("x", {}), std::nullopt);
  EXPECT_EQ(nearest_name("a", std::vector<std::string>{"b", "c"}), "b");  // ties go to the earlier
  EXPECT_EQ(name_advice("lr_", known),
            "did you mean 'lr'? known: lr, momentum, weight_decay, warmup_steps");
  EXPECT_EQ(name_advice("colour", known), "known: lr, momentum, weight_decay, warmup_steps");
}

TEST(YamlScalar, RoundTrips) {
  const std::vector<std::string> texts = {
      "",     "plain", "a/b.c",   "/tmp/x", "two words", "true", "No",
      "~",    "null",  "1e5",     "-x",     "#x",        "a: b", "a #b",
      "[1]",  "{a}",   "*a",      "&a",     "!t",        "%x",   "@x",
      "\"",   "\\",    "line\n2", "tab\t",  "\x01",      "é✓",   " a ",
      ".inf", ".nan",  "'q'",     "0x1f",   "+1",        "-",    "...",
      "---",  "a,b",   "=",       ".5",     "./x",       "x=1 ", "shard-%06d.tar"};
  for (const std::string& text : texts) {
    const YAML::Node node = YAML::Load("key: " + yaml_scalar(text) + "\n");
    ASSERT_TRUE(node["key"].IsScalar()) << text;
    EXPECT_EQ(node["key"].Scalar(), text);
  }
  EXPECT_EQ(yaml_scalar("a/b.c"), "a/b.c");
  EXPECT_EQ(yaml_scalar("true"), "\"true\"");
}

TEST(Shortest, PrintsTheFewestDigitsOfItsType) {
  EXPECT_EQ(shortest(0.1f), "0.1");
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(static_cast<double>(0.1f)), "0.10000000149011612");
  EXPECT_EQ(shortest(3e-4), "0.0003");
}

// Tests the boundaries from The Unicode Standard 15.0, table 3-7.
TEST(IsUtf8, FollowsTable37OfUnicode) {
  for (const char* text :
       {"", "caf\xc3\xa9", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(is_utf8(std::string(text) + '\0'), true);
  }
  for (const char* text :
       {"caf\xe9", "\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text)) << printable(text);
  }
}

TEST(Printable, EscapesTerminalControls) {
  EXPECT_EQ(printable("plain\ttext,\nin lines; caf\xc3\xa9 \xe2\x82\xac"),
            "plain\ttext,\nin lines; caf\xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(printable("\x1b[31mred\r\x07\x7f"), "\\x1b[31mred\\x0d\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");                                        // CSI as a single character
  EXPECT_EQ(printable("\xe2\x80\xaegpj.exe"), "\\u202egpj.exe");  // right-to-left override
  EXPECT_EQ(printable("caf\xe9!"), "caf\\xe9!");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(HumanBytes, RoundsToBinaryUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(human_bytes(std::uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(HumanCount, RoundsToThreeDigits) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(950), "950");
  EXPECT_EQ(human_count(0.5), "0.5");
  EXPECT_EQ(human_count(999.7), "1.00 k");
  EXPECT_EQ(human_count(12345), "12.3 k");
  EXPECT_EQ(human_count(999499), "999 k");
  EXPECT_EQ(human_count(999999), "1.00 M");
  EXPECT_EQ(human_count(4.56e6), "4.56 M");
  EXPECT_EQ(human_count(-2e9), "-2.00 G");
}

TEST(HumanDuration, ScalesItsUnits) {
  EXPECT_EQ(human_duration(0.0084), "8.4 ms");
  EXPECT_EQ(human_duration(4.21), "4.2 s");
  EXPECT_EQ(human_duration(59.97), "1:00");
  EXPECT_EQ(human_duration(187), "3:07");
  EXPECT_EQ(human_duration(3723), "1:02:03");
  EXPECT_EQ(human_duration(2 * 86400 + 4 * 3600), "2 d 04:00:00");
  EXPECT_EQ(human_duration(-1), "?");
  EXPECT_EQ(human_duration(std::numeric_limits<double>::infinity()), "?");
}

}  // namespace
}  // namespace wellspring
