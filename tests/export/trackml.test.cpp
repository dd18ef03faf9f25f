#include "export/layouts/trackml.h"

#include "core/io/files.h"
#include "generators/generator.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <signal.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace wellspring {
namespace {

/// Rows of a table, as maps from column name to value.
std::vector<std::map<std::string, double>> read_table(const std::filesystem::path& path) {
  std::istringstream text(read_text(path));
  const auto cells = [](const std::string& line) {
    std::vector<std::string> list;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, ',');) list.push_back(cell);
    return list;
  };
  std::string line;
  std::getline(text, line);
  const std::vector<std::string> names = cells(line);
  std::vector<std::map<std::string, double>> rows;
  while (std::getline(text, line)) {
    const std::vector<std::string> values = cells(line);
    EXPECT_EQ(values.size(), names.size()) << line;
    rows.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) rows.back()[names[i]] = std::stod(values[i]);
  }
  return rows;
}

TEST(TrackMl, WritesEveryHitOnceWithItsTruth) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "events.trackml";
  GeneratorReader feed(make_generator("tracks", 1, {{"columns", "truth", {}}}), {5, 40, 6});
  const ExportReport report = export_samples(feed, path);
  EXPECT_EQ(report.overflow.items, 0u);
  for (int event = 40; event < 46; ++event) {
    const std::string name = "event0000000" + std::to_string(event);
    const auto hits = read_table(path / (name + "-hits.csv"));
    const auto truth = read_table(path / (name + "-truth.csv"));
    const auto particles = read_table(path / (name + "-particles.csv"));
    ASSERT_EQ(hits.size(), truth.size());
    std::map<double, double> hits_of;
    double weight = 0;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      EXPECT_EQ(hits[i].at("hit_id"), static_cast<double>(i + 1));
      EXPECT_EQ(truth[i].at("hit_id"), static_cast<double>(i + 1));
      // Errors are at most 5.78 times 3.12 mm. A wrong hit would often be further away.
      for (const char* axis : {"x", "y", "z"})
        EXPECT_NEAR(hits[i].at(axis), truth[i].at("t" + std::string(axis)), 18.1) << axis;
      EXPECT_GE(hits[i].at("volume_id"), 7);
      if (i > 0) {
        EXPECT_GE(hits[i].at("volume_id"), hits[i - 1].at("volume_id"));
      }
      hits_of[truth[i].at("particle_id")] += 1;
      weight += truth[i].at("weight");
    }
    hits_of.erase(0);
    EXPECT_EQ(particles.size(), hits_of.size());
    EXPECT_NEAR(weight, hits_of.empty() ? 0 : 1, 1e-5);
    for (const auto& particle : particles) {
      EXPECT_EQ(particle.at("nhits"), hits_of[particle.at("particle_id")]);
      EXPECT_EQ(std::abs(particle.at("q")), 1);
    }
  }
  test::expect_parts(read_text(path / "metadata.json"), {"\"tracks\""});
}

TEST(TrackMl, RefusesSamplesWithoutTruthOrInOtherUnits) {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::vector<ParamSetting>& settings) {
    GeneratorReader feed(make_generator("tracks", 1, settings), {5, 0, 1});
    return test::message_of(ErrorKind::config,
                            [&] { export_samples(feed, folder.path() / "events.trackml"); });
  };
  test::expect_parts(refused({}), {"particle_id", "columns=truth"});
  test::expect_parts(refused({{"columns", "truth", {}}, {"unit", "10", {}}}), {"10 mm", "unit=1"});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "events.trackml"));
}

TEST(TrackMl, ReplacesOnlyItsOwnTables) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "events.trackml";
  const auto write = [&](std::uint64_t first) {
    GeneratorReader feed(make_generator("tracks", 1, {{"columns", "truth", {}}}), {5, first, 1});
    export_samples(feed, path);
  };
  write(0);
  write(1);
  EXPECT_FALSE(std::filesystem::exists(path / "event000000000-hits.csv"));
  EXPECT_TRUE(std::filesystem::exists(path / "event000000001-hits.csv"));
  test::spill(path / "notes.txt", "mine");
  test::expect_parts(test::message_of(ErrorKind::config, [&] { write(2); }),
                     {"events.trackml", "notes.txt", "another name"});
  EXPECT_EQ(test::slurp(path / "notes.txt"), "mine");
  // These tables have no metadata from this program.
  std::filesystem::remove(path / "notes.txt");
  std::filesystem::remove(path / "metadata.json");
  test::expect_parts(test::message_of(ErrorKind::config, [&] { write(2); }),
                     {"events.trackml", "no metadata.json", "another name"});
  EXPECT_TRUE(std::filesystem::exists(path / "event000000001-hits.csv"));
}

TEST(TrackMl, RemovesTheLeftoversOfAKilledExport) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::function<void(std::uint64_t)>& progress) {
    GeneratorReader feed(make_generator("tracks", 1, {{"columns", "truth", {}}}), {5, 0, 2},
                         {.batch = 1, .threads = 1});
    return export_samples(feed, folder.path() / "events.trackml", {"", progress});
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) write([](std::uint64_t) { ::kill(::getpid(), SIGKILL); });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(folder.names().size(), 1u);
  EXPECT_EQ(write({}).abandoned, 1);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"events.trackml"});
  EXPECT_EQ(write({}).abandoned, 0);
}

}  // namespace
}  // namespace wellspring
