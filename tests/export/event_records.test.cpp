#include "export/layouts/event_records.h"

#include "core/io/files.h"
#include "export/export.h"
#include "generators/generator.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

using Settings = std::vector<ParamSetting>;

std::string exported(const std::filesystem::path& path, const std::string& generator,
                     const Settings& settings, std::int64_t batch = 64) {
  GeneratorReader feed(make_generator(generator, 1, settings), {3, 10, 23},
                       {Device::cpu(), batch, 1});
  export_samples(feed, path);
  return read_text(path);
}

TEST(EventRecords, DoNotDependOnTheBatch) {
  const TemporaryFolder folder;
  const Settings settings = {{"preset", "top_pair_decays"}, {"columns", "record"}};
  for (const std::string ending : {"lhe", "hepmc", "HepMC3"}) {
    const auto path = folder.path() / ("a." + ending);
    const std::string whole = exported(path, "rambo", settings);
    EXPECT_EQ(exported(path, "rambo", settings, 7), whole);
    const std::string event = ending == "lhe" ? "<event>" : "\nE ";
    std::size_t events = 0;
    for (std::size_t at = 0; (at = whole.find(event, at)) != std::string::npos; ++at) ++events;
    EXPECT_EQ(events, 23u);
  }
}

/// The numbers of the lines that begin with `key`.
std::vector<std::vector<double>> lines_of(const std::string& text, const std::string& key) {
  std::vector<std::vector<double>> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    all.emplace_back();
    for (double value = 0; words >> value;) all.back().push_back(value);
  }
  return all;
}

// Events have the ids of their samples, here starting at 10.
TEST(EventRecords, NumberHepmcEventsByTheirSamples) {
  const TemporaryFolder folder;
  const auto events = lines_of(
      exported(folder.path() / "a.hepmc", "lund_shower", {{"columns", "record"}}, 7), "E ");
  ASSERT_EQ(events.size(), 23u);
  for (std::size_t i = 0; i < 23; ++i) EXPECT_EQ(events[i][0], 10 + static_cast<double>(i));
}

// The weight of an event is its cross section times the number of equally likely classes.
TEST(EventRecords, StateCrossSectionsThatAreKnown) {
  const TemporaryFolder folder;
  const Settings settings = {{"energies", "[91.2, 200]"}, {"columns", "record"}};
  const auto sections = make_generator("ee_mumu", 1, settings)->info().cross_sections;
  ASSERT_EQ(sections.size(), 2u);
  const std::string lhe = exported(folder.path() / "a.lhe", "ee_mumu", settings);
  std::istringstream text(lhe.substr(lhe.find("<init>") + 7));
  std::string beams;
  std::getline(text, beams);
  for (const double section : sections) {
    double value = 0, error = 1, most = 0, process = 0;
    text >> value >> error >> most >> process;
    EXPECT_NEAR(value / section, 1, 1e-8);
    EXPECT_EQ(error, 0);
    EXPECT_NEAR(most / section, 2, 1e-8);
  }
  std::size_t events = 0;
  for (std::size_t at = 0; (at = lhe.find("<event>\n", at)) != std::string::npos; ++events) {
    std::istringstream event(lhe.substr(at += 8, 60));
    double particles = 0, process = 0, weight = 0;
    event >> particles >> process >> weight;
    EXPECT_NEAR(weight / sections.at(static_cast<std::size_t>(process) - 1), 2, 1e-8);
  }
  EXPECT_EQ(events, 23u);
  const auto stated =
      lines_of(exported(folder.path() / "a.hepmc", "ee_mumu", settings), "A 0 GenCrossSection ");
  ASSERT_EQ(stated.size(), 23u);
  EXPECT_NEAR(stated[0][0] / (sections[0] + sections[1]), 1, 1e-8);
  const std::string rambo =
      exported(folder.path() / "b.hepmc", "rambo", {{"preset", "top_pair"}, {"columns", "record"}});
  EXPECT_EQ(rambo.find("GenCrossSection"), std::string::npos);
}

TEST(EventRecords, RefuseOtherSamplesAndMissingNumbers) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& generator, const Settings& settings) {
    return message_of(ErrorKind::config,
                      [&] { exported(folder.path() / "a.lhe", generator, settings); });
  };
  expect_parts(refused("shapes", {}), {"'shapes' as events", "PDG numbers", "columns=record"});
  expect_parts(refused("ee_mumu", {}), {"'ee_mumu' as events"});
  expect_parts(refused("rambo", {{"columns", "record"}}), {"ids has 0", "each of the 4 bodies"});
  expect_parts(
      refused("rambo",
              {{"preset", "top_pair_decays"}, {"columns", "record"}, {"decay_ids", "[5 + 24]"}}),
      {"does not name the products of decay 2", "one text per decay"});
  expect_parts(refused("rambo", {{"preset", "top_pair_decays"},
                                 {"columns", "record"},
                                 {"decay_ids", "[5 + W, 2 + -1]"}}),
               {"'5 + W'", "not a PDG number"});
  expect_parts(
      refused("rambo", {{"preset", "top_pair"}, {"columns", "record"}, {"beam_ids", "[1, 2, 3]"}}),
      {"beam_ids has 3 values", "one or two"});
}

}  // namespace
}  // namespace wellspring::test
