#include "generators/images/ifs_class_files.h"

#include "core/text/text.h"
#include "generators/generator.h"
#include "generators/images/ifs_categories.h"
#include "generators/images/ifs_official.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::ifs {
namespace {

constexpr const char* kMaps = "0.5,0,0,0.5,0,0\n0.5,0,0,0.5,0.5,0\n0.5,0,0,0.5,0,0.5\n";

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// A selector is a share of 65536, and the files' probabilities are computed from f64 coefficients,
// so rounding may move a selector by one.
TEST(IfsClassFiles, PublishedFilesGiveThePublishedClasses) {
  const test::TemporaryFolder folder;
  const auto systems = search_official(1, 0.2, 3, known_refusals(1, 0.2), 1);
  for (std::size_t k = 0; k < systems.size(); ++k) {
    std::string text;
    for (int i = 0; i < systems[k].maps; ++i) {
      const OfficialSystem::Line& m = systems[k].line[i];
      text += fmt::format("{:.18e},{:.18e},{:.18e},{:.18e},{:.18e},{:.18e},{:.18e}\n", m.a, m.b,
                          m.c, m.d, m.e, m.f, m.chance);
    }
    write(folder / fmt::format("{:05d}.csv", k), text);
  }
  const ClassFiles files = read_class_files({folder.path().string()});
  EXPECT_EQ(files.names, (std::vector<std::string>{"00000", "00001", "00002"}));
  ASSERT_EQ(files.systems.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    const System want = systems[k].rounded(), &got = files.systems[k];
    ASSERT_EQ(got.maps, want.maps);
    for (int i = 0; i < kMaxMaps; ++i) {
      EXPECT_EQ(std::memcmp(&got.map[i], &want.map[i], sizeof(Map)), 0);
      EXPECT_LE(std::abs(static_cast<int>(got.upto[i]) - static_cast<int>(want.upto[i])), 1);
    }
  }
}

TEST(IfsClassFiles, UseDeterminantsWithoutProbabilities) {
  const test::TemporaryFolder folder;
  write(folder / "three.csv", std::string("# Sierpinski\n\n") + kMaps);
  const System system = read_class_files({(folder / "three.csv").string()}).systems.at(0);
  EXPECT_EQ(system.maps, 3);
  EXPECT_EQ(system.upto[0], 21845u);
  EXPECT_EQ(system.upto[1], 43691u);
  EXPECT_EQ(system.upto[2], kSelectors);
  write(folder / "weights.csv", "0.5,0,0,0.5,0,0,1\n0.5,0,0,0.5,0.5,0, 3\n");
  EXPECT_EQ(read_class_files({(folder / "weights.csv").string()}).systems.at(0).upto[0],
            kSelectors / 4);
}

TEST(IfsClassFiles, ErrorsNameLineAndColumn) {
  const test::TemporaryFolder folder;
  const std::string path = (folder / "bad.csv").string();
  using Case = std::pair<std::string, std::vector<std::string>>;
  const std::vector<Case> cases = {
      {"1,0,0,1,0,0\n1,0,x,1,0,0\n", {":2:5: 'x' is not a number"}},
      {"1,0,0,1,0,0\n1,0,0,1,0,1e39\n", {":2:11: '1e39' is not a number"}},
      {"1,0,,1,0,0\n", {":1:5: '' is not a number"}},
      {"1,0,0,1,0\n", {":1:1: 5 numbers"}},
      {"1,0,0,1,0,0,1,1\n", {":1:15: more than 7 numbers"}},
      {"1,0,0,1,0,0\n1,0,0,1,0,0,1\n", {":2:1: 7 numbers, but earlier rows have 6"}},
      {"1,0,0,1,0,0,-1\n", {":1:1: p is -1"}},
      {"1,0,0,1,0,0,0\n1,0,0,1,0,0,0\n", {"p is 0 in all rows"}},
      {"1,0,0,0,0,0\n1,0,0,0,1,0\n", {"ad - bc is 0 in all rows"}},
      {"1,0,0,1,0,0\n", {"only one map"}},
      {"\n# nothing\n", {"no maps"}},
      {std::string(kMaps) + kMaps + kMaps, {":8:1: more than 7 maps"}},
  };
  for (const auto& [text, parts] : cases) {
    write(path, text);
    test::expect_parts(test::message_of(ErrorKind::data, [&] { read_class_files({path}); }), parts);
  }
  const test::TemporaryFolder empty;
  test::expect_parts(
      test::message_of(ErrorKind::data, [&] { read_class_files({empty.path().string()}); }),
      {"no .csv files"});
  test::expect_parts(test::message_of(ErrorKind::data,
                                      [&] { read_class_files({(folder / "none.csv").string()}); }),
                     {"none.csv"});
}

TEST(IfsClassFiles, HaveAHashThatTheGeneratorKeeps) {
  const test::TemporaryFolder folder;
  write(folder / "a.csv", kMaps);
  write(folder / "b.csv", "0.5,0,0,0.4,0,0,1\n0.5,0,0,0.5,0.5,0.5,3\n");
  const std::string path = folder.path().string();
  const auto generator = make_generator("ifs", 16, {{"class_file", "[" + path + "]"}});
  EXPECT_EQ(generator->info().classes, (std::vector<std::string>{"a", "b"}));
  const std::string hash = read_class_files({path}).hash;
  EXPECT_NE(generator->parameters_yaml().find("class_hash: " + yaml_scalar(hash)),
            std::string::npos);
  const std::vector<ParamSetting> pinned = {{"class_file", "[" + path + "]"}, {"class_hash", hash}};
  EXPECT_EQ(make_generator("ifs", 16, pinned)->parameters_yaml(), generator->parameters_yaml());
  write(folder / "a.csv", "0.5,0,0,0.5,0,0\n0.5,0,0,0.5,0.5,0\n");
  test::expect_parts(
      test::message_of(ErrorKind::config, [&] { make_generator("ifs", 16, pinned); }),
      {"have changed", hash});
}

// Spreadsheets write a byte order mark.
TEST(IfsClassFiles, SkipsAByteOrderMarkAndRefusesUtf16) {
  const test::TemporaryFolder folder;
  write(folder / "plain.csv", kMaps);
  write(folder / "marked.csv", std::string("\xEF\xBB\xBF") + kMaps);
  const ClassFiles files =
      read_class_files({(folder / "plain.csv").string(), (folder / "marked.csv").string()});
  EXPECT_EQ(std::memcmp(&files.systems[0], &files.systems[1], sizeof(System)), 0);
  write(folder / "wide.csv", std::string("\xFF\xFE") + "0\0");
  test::expect_parts(test::message_of(ErrorKind::data,
                                      [&] { read_class_files({(folder / "wide.csv").string()}); }),
                     {"wide.csv", "UTF-16", "UTF-8"});
}

TEST(IfsClassFiles, RefusesTwoClassesOfOneName) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "other");
  write(folder / "a.csv", kMaps);
  write(folder / "other" / "a.csv", kMaps);
  const std::string a = (folder / "a.csv").string(), other = (folder / "other" / "a.csv").string();
  const auto refused = [](const std::vector<std::string>& paths) {
    return test::message_of(ErrorKind::config, [&] { read_class_files(paths); });
  };
  test::expect_parts(refused({a, a}), {a + " twice", "remove one"});
  test::expect_parts(refused({a, other}), {a, other, "both class a", "rename"});
}

TEST(IfsClassFiles, PathsAreRelativeToTheConfiguration) {
  const test::TemporaryFolder folder;
  write(folder / "a.csv", kMaps);
  const std::string yaml = (folder / "config.yaml").string();
  const auto generator = make_generator("ifs", 16, {{"class_file", "[a.csv]", {yaml, 3, 1}}});
  EXPECT_EQ(generator->info().classes, std::vector<std::string>{"a"});
  // The parameters contain an absolute path, so they can be stored in another folder.
  EXPECT_NE(generator->parameters_yaml().find((folder / "a.csv").string()), std::string::npos);
  test::expect_parts(
      test::message_of(ErrorKind::data,
                       [] {
                         make_generator("ifs", 16, {{"class_file", "[a.csv]", {"command line"}}});
                       }),
      {"a.csv"});
}

TEST(IfsClassFiles, RefusesClassesWithoutAPicture) {
  CategorySpec spec;
  const auto refuse = [&](const std::string& text) {
    const test::TemporaryFolder folder;
    write(folder / "spiral.csv", text);
    const ClassFiles files = read_class_files({folder.path().string()});
    return test::message_of(ErrorKind::data,
                            [&] { make_listed_categories(spec, files.systems, files.names, 1); });
  };
  test::expect_parts(refuse("2,0,0,2,1,1\n2,0,0,2,-1,1\n"), {"class spiral", "diverge"});
  test::expect_parts(refuse("0.5,0,0,0.5,0,0\n0.5,0,0,0.5,0.5,0\n"),
                     {"class spiral", "have no area"});
}

}  // namespace
}  // namespace wellspring::ifs
