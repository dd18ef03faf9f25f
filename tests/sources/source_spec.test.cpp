#include "sources/source_spec.h"

#include "sources/procedural.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

namespace wellspring::test {
namespace {

TEST(SourceTable, ReadsEveryKeyOfAnEntry) {
  SourceSpec spec;
  const auto& table = source_table(SourceKind::files);
  const ConfigLocation place{"run.yaml", 4, 7};
  for (const auto& [key, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{"name", "real"},
                                                                  {"kind", "files"},
                                                                  {"weight", "0.25"},
                                                                  {"path", "data"},
                                                                  {"format", "tar"},
                                                                  {"limit_per_class", "500"},
                                                                  {"storage", "streamed"},
                                                                  {"budget", "1.5"},
                                                                  {"ahead", "8"},
                                                                  {"shuffle", "false"}}) {
    table.set(spec, key, value, place);
  }
  EXPECT_EQ(spec.kind, SourceKind::files);
  EXPECT_EQ(spec.limit_per_class, 500);
  EXPECT_EQ(spec.format, "tar");
  EXPECT_EQ(spec.storage, Storage::streamed);
  EXPECT_DOUBLE_EQ(spec.budget, 1.5);
  EXPECT_FALSE(spec.shuffle);
  const std::string unknown =
      message_of(ErrorKind::config, [&] { table.set(spec, "formt", "tar", place); });
  expect_parts(unknown, {"run.yaml:4:7", "format"});
  message_of(ErrorKind::config, [&] { table.set(spec, "ahead", "1", place); });
  message_of(ErrorKind::config,
             [&] { source_table(SourceKind::generator).set(spec, "path", "x", place); });
}

TEST(MakeSource, MakesAGeneratorWithItsOwnSeed) {
  SourceSpec spec;
  spec.name = "a";
  spec.generator = "noise";
  SourceContext context;
  context.size = 16;
  context.seed = 9;
  const auto source = make_source(spec, context);
  EXPECT_EQ(source->layout().shape(), (SampleShape{16, 16, 3}));
  EXPECT_EQ(source->size(), 0u);
  EXPECT_EQ(source->order().seed, source_seed(spec, 9));
  EXPECT_EQ(source->order().sample(7), 7u);
  EXPECT_EQ(source->first_evaluation_sample(), std::uint64_t{1} << 48);
  EXPECT_FALSE(source->summary().empty());
  spec.seed = 4;
  EXPECT_EQ(make_source(spec, context)->order().seed, 4u);
  spec.repeats = 3;
  EXPECT_EQ(make_source(spec, context)->order().sample(7), 2u);
  spec.generator = "nois";
  expect_parts(message_of(ErrorKind::config, [&] { make_source(spec, context); }), {"noise"});
}

TEST(MakeSource, RefusesAMissingPath) {
  SourceSpec spec;
  spec.name = "a";
  spec.kind = SourceKind::files;
  spec.path = "/nowhere/at/all";
  expect_parts(message_of(ErrorKind::data, [&] { make_source(spec, {}); }), {"/nowhere"});
}

}  // namespace
}  // namespace wellspring::test
