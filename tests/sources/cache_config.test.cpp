#include "sources/cache_config.h"

#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring::test {
namespace {

std::vector<CacheTier> read(const std::string& cache) {
  return read_cache(ConfigDocument::parse("cache: " + cache, "run.yaml").root());
}

TEST(CacheConfig, ReadsWordsAndTiers) {
  EXPECT_TRUE(read("none").empty());
  ASSERT_EQ(read("encoded").size(), 1u);
  EXPECT_EQ(read("encoded")[0].form, RowForm::encoded);
  EXPECT_EQ(read("decoded")[0].medium, CacheMedium::ram);
  const auto tiers = read(
      "[{tier: shm, rows: decoded, fraction: 0.3, limit: 2}, {tier: disk, path: /x, rows: "
      "encoded}]");
  ASSERT_EQ(tiers.size(), 2u);
  EXPECT_EQ(tiers[0].medium, CacheMedium::shm);
  EXPECT_EQ(tiers[0].limit, 2);
  EXPECT_EQ(tiers[1].form, RowForm::encoded);
  EXPECT_EQ(tiers[1].path, "/x");
  EXPECT_DOUBLE_EQ(tiers[1].fraction, 0.7) << "what the first tier leaves";
}

TEST(CacheConfig, IsReadBackAsWrittenAndIsNotPartOfARunsIdentity) {
  for (const char* const text :
       {"none", "decoded",
        "[{tier: ram, fraction: 0.25}, {tier: disk, path: /x, fraction: 0.5}]"}) {
    ConfigWriter writer;
    write_cache(writer, read(text));
    EXPECT_TRUE(config_identity(writer.entries()).empty());
    const std::string yaml = config_yaml(config_settings(writer.entries()));
    ConfigWriter again;
    write_cache(again, read_cache(ConfigDocument::parse(yaml, "again.yaml").root()));
    EXPECT_EQ(config_yaml(config_settings(again.entries())), yaml);
  }
}

TEST(CacheConfig, RefusesWhatCannotBe) {
  const auto refused = [](const std::string& cache) {
    return message_of(ErrorKind::config, [&] { read(cache); });
  };
  expect_parts(refused("gpu"), {"gpu", "encoded", "decoded"});
  expect_parts(refused("[{rows: decoded}]"), {"cache[0]", "tier"});
  expect_parts(refused("[{tier: ram}, {tier: shm, fraction: 0.5}]"),
               {"cache[1]", "fraction: 0.5", "leave 0 of the rows"});
  expect_parts(refused("[{tier: ram}, {tier: shm}]"), {"cache[1]", "one tier at most"});
  expect_parts(refused("[{tier: disk}]"), {"tier: disk without path"});
  expect_parts(refused("[{tier: shm, path: /x}]"), {"not on disk", "remove path"});
  expect_parts(refused("[{tier: shm, fraction: 0}]"), {"fraction"});
}

}  // namespace
}  // namespace wellspring::test
