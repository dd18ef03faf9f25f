#include "export/layouts/event_records.h"

#include "core/io/files.h"
#include "export/export.h"
#include "generators/generator.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

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
