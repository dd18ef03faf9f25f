// Pulses in IceCube's layout. Exports of nu_telescope round-trip up to sorting and rounding to ns.
// Files from other programs are read; inconsistent files are refused.
#include "core/io/hdf5.h"
#include "core/io/npy.h"
#include "export/export.h"
#include "sources/files/format.h"
#include "sources/files/stored_sets.h"
#include "tests/sources/files/emitted_source.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;
using EmittedPulses = test::EmittedSource;
using Settings = std::vector<ParamSetting>;

constexpr std::int64_t kEvents = EmittedPulses::kRows;

/// Two sensors, two events (one with three pulses, one with none), and a pulse outside any event.
struct Table {
  std::vector<std::int64_t> time = {5, 7, 9, 100}, sensor = {1, 0, 1, 0};
  std::vector<float> charge = {1, .5f, 2, 1};
  std::vector<std::uint8_t> auxiliary = {0, 1, 0, 0};
  std::vector<std::int64_t> first = {0, 4}, last = {2, 3};
  std::vector<float> geometry = {10, 20, 30, -1, -2, -3};
  std::string without;  ///< name of an array to leave out
};

class PulseFiles : public test::DatasetFiles {
 protected:
  /// Exports samples 100 to 111 under seed 7.
  fs::path exported(const std::string& name, Settings settings) const {
    settings.push_back({"output", "truth"});
    GeneratorReader feed(make_generator("nu_telescope", 1, settings), {7, 100, kEvents},
                         {Device::cpu(), 5, 1});
    export_samples(feed, path(name), {});
    return path(name);
  }
  using DatasetFiles::open;
  std::unique_ptr<Dataset> open(const Table& table, Settings settings = {}) const {
    test::write_hdf5(path("pulses.h5"), [&](Hdf5Writer& file) {
      const auto column = [&](const std::string& name, ElementType type, const auto& values) {
        if (name == table.without) return;
        add(file, name, type, {static_cast<std::int64_t>(values.size())}, values);
      };
      column("time", ElementType::i64, table.time);
      column("sensor_id", ElementType::i64, table.sensor);
      column("charge", ElementType::f32, table.charge);
      column("auxiliary", ElementType::u8, table.auxiliary);
      column("first_pulse_index", ElementType::i64, table.first);
      column("last_pulse_index", ElementType::i64, table.last);
      column("zenith", ElementType::f32, std::vector<float>(table.first.size(), 1));
      if (table.without == "sensor_geometry") return;
      add(file, "sensor_geometry", ElementType::f32, {2, 3}, table.geometry);
    });
    return open("pulses.h5", std::move(settings));
  }
  std::string refused(const Table& table, Settings settings = {}) const {
    return message_of(ErrorKind::data, [&] {
      const auto data = open(table, std::move(settings));
      for_each_row(*data, 1, 0, data->size(),
                   [](RowReader& reader, std::int64_t i) { reader.check(i); });
    });
  }
};

/// Compares with the generated pulses, sorted by time in whole nanoseconds as in files.
void expect_pulses(const EmittedPulses& read, const EmittedPulses& made, const EmittedPulses& in_ns,
                   float per_time) {
  ASSERT_EQ(read.source->layout(), made.source->layout());
  const auto items = static_cast<std::size_t>(made.source->layout().items);
  std::vector<float> wanted(made.batch->x().size());
  for (std::size_t row = 0; row < static_cast<std::size_t>(kEvents); ++row) {
    const auto count = static_cast<std::size_t>(made.batch->count()[row]);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto time = [&](std::size_t i) { return in_ns.batch->x()[6 * (row * items + i) + 3]; };
    std::ranges::stable_sort(order, {}, time);
    for (std::size_t i = 0; i < count; ++i) {
      float* const item = &wanted[6 * (row * items + i)];
      std::copy_n(&made.batch->x()[6 * (row * items + order[i])], 6, item);
      item[3] = static_cast<float>(std::llround(time(order[i]))) * per_time;
    }
  }
  std::ranges::copy(wanted, made.batch->x().begin());
  EXPECT_TRUE(*read.batch == *made.batch);
}

TEST_F(PulseFiles, MatchTheGeneratorByteForByte) {
  const Settings plain = {{"strings", "12"}, {"items", "200"}};
  const fs::path file = exported("pulses.h5", plain);
  const EmittedPulses in_ns(test::generator_source("nu_telescope", plain), 100);
  EXPECT_GT(std::ranges::max(in_ns.batch->count()), 20);
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    const EmittedPulses made(test::generator_source("nu_telescope", plain), 100);
    expect_pulses(EmittedPulses(test::file_source(file, {}, storage)), made, in_ns, 1);
  }
  Settings scaled = plain;
  scaled.push_back({"unit", "70"});
  scaled.push_back({"time_unit", "30"});
  const EmittedPulses made(test::generator_source("nu_telescope", scaled), 100);
  expect_pulses(
      EmittedPulses(test::file_source(file, {{"length_unit", "70"}, {"time_unit", "30"}})), made,
      in_ns, 1 / 30.f);
  const auto data = open("pulses.h5", {{"time_unit", "30"}});
  EXPECT_EQ(data->features().at(0).unit, "m");
  EXPECT_EQ(data->features().at(3).unit, "30 ns");
  EXPECT_EQ(data->classes(), (std::vector<std::string>{"cascade", "track"}));
}

TEST_F(PulseFiles, GiveItemsPerEvent) {
  const auto data = open(Table{}, {{"length_unit", "10"}});
  EXPECT_EQ(data->layout().sample, SampleLayout::set(3, 6));
  ASSERT_EQ(data->size(), 2);
  ASSERT_EQ(data->latents().size(), 1u);
  EXPECT_EQ(data->latents()[0].name, "zenith");
  expect_parts(data->summary(), {"(icecube)"});
  std::vector<float> row(19);
  std::int32_t count = 0;
  data->reader()->read(0, reinterpret_cast<std::uint8_t*>(row.data()));
  const std::vector<float> wanted = {-.1f, -.2f, -.3f, 5,    1,    0,    1, 2, 3,
                                     7,    .5f,  1,    -.1f, -.2f, -.3f, 9, 2, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_FLOAT_EQ(row[i], wanted[i]) << i;
  std::memcpy(&count, &row[18], sizeof count);
  EXPECT_EQ(count, 3);
  data->reader()->read(1, reinterpret_cast<std::uint8_t*>(row.data()));
  std::memcpy(&count, &row[18], sizeof count);
  EXPECT_EQ(count, 0);
}

TEST_F(PulseFiles, RefuseMissingAndInconsistentArrays) {
  for (const char* name :
       {"time", "sensor_id", "charge", "auxiliary", "last_pulse_index", "sensor_geometry"}) {
    Table table;
    table.without = name;
    expect_parts(refused(table), {fmt::format("'{}' is not in the file", name),
                                  "the layout icecube needs time, sensor_id", "layout:"});
  }
  const auto message = [&](const std::function<void(Table&)>& change) {
    Table table;
    change(table);
    return refused(table);
  };
  expect_parts(message([](Table& t) { t.charge.pop_back(); }),
               {"'charge' is an array of F32 [3]", "pulse of 'time': [4]"});
  expect_parts(message([](Table& t) { t.last.pop_back(); }),
               {"'last_pulse_index' is an array of I64 [1]", "one index per event"});
  const auto events = [&](std::vector<std::int64_t> first, std::vector<std::int64_t> last) {
    return message([&](Table& t) {
      t.first = std::move(first);
      t.last = std::move(last);
    });
  };
  expect_parts(events({0, 2}, {2, 3}), {"event 1 are 2 and 3", "the previous one ends with 2"});
  expect_parts(events({0, 3}, {2, 4}), {"event 1 are 3 and 4", "within 4 pulses"});
  expect_parts(events({0, 3}, {2, 1}), {"event 1 are 3 and 1"});
  expect_parts(events({-1, 3}, {2, 3}), {"event 0 are -1 and 2"});
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  expect_parts(events({0, kMost}, {2, kMost}), {"event 1 are"});
  expect_parts(message([](Table& t) { t.sensor[2] = 2; }),
               {"'sensor_id' of pulse 2 of event 0 is 2", "has 2 sensors"});
  expect_parts(message([](Table& t) { t.sensor[0] = -1; }), {"of pulse 0 of event 0 is -1"});
  expect_parts(message([](Table& t) { t.auxiliary[1] = 3; }),
               {"'auxiliary' of pulse 1 of event 0 is 3", "it must be 1 (auxiliary) or 0"});
  expect_parts(message([](Table& t) { t.charge[1] = NAN; }),
               {"row 0: item 1, feature 4 (charge) is nan"});
  expect_parts(message([](Table& t) { t.geometry[4] = INFINITY; }),
               {"'sensor_geometry' of sensor 1 has inf"});
  EXPECT_NO_THROW(open([] {
    Table table;
    table.sensor[3] = 99;  // allowed, because pulse 3 belongs to no event
    return table;
  }()));
}

}  // namespace
}  // namespace wellspring::test
