// Format `hdf5`: reads exports (bit for bit) and community files, and locates bad content.
#include "core/io/hdf5.h"

#include "core/io/npy.h"
#include "export/export.h"
#include "sources/files/format.h"
#include "sources/source_spec.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRows = 20, kVoxels = 6;

/// The array `showers` in MeV, with distinct multiples of 1/8.
std::vector<float> showers() {
  std::vector<float> x(kRows * kVoxels);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 8;
  return x;
}

class Hdf5Format : public test::DatasetFiles {
 protected:
  /// Writes a file in CaloChallenge's layout after `change` has altered the numbers.
  void write_calo(const std::string& name,
                  const std::function<void(std::vector<double>&, std::vector<float>&)>& change = {},
                  const std::string& unit = "") const {
    std::vector<double> energies;
    for (int i = 0; i < kRows; ++i) energies.push_back(1000 + 1000 * i);
    std::vector<float> x = showers();
    if (change) change(energies, x);
    write(name, [&](Hdf5Writer& file) {
      add(file, "incident_energies", ElementType::f64, {kRows, 1}, energies);
      const auto array = add(file, "showers", ElementType::f32, {kRows, kVoxels}, x);
      if (!unit.empty()) file.set(array, "units", unit);
    });
  }
};

/// Rows, latents and labels of samples 8 to 11, as emitted by a source.
struct Emitted {
  std::vector<float> x, latents;
  std::vector<std::int32_t> label;
};

Emitted emitted(const fs::path& path, Storage storage, std::vector<ParamSetting> settings = {}) {
  SourceSpec spec;
  spec.name = "full";
  spec.kind = SourceKind::files;
  spec.path = path.string();
  spec.params = std::move(settings);
  spec.storage = storage;
  const auto source = make_source(spec, {});
  MemoryPlan memory(Device::cpu());
  source->plan(memory, Share::whole(4));
  memory.commit();
  Stream stream(Device::cpu(), 1);
  source->load(stream);
  SampleLayout layout = source->layout();
  layout.latents += 1;  // room for a latent of another source
  const HostBatch batch(4, layout);
  std::vector<Slot> slots(4);
  for (std::uint32_t row = 0; row < 4; ++row) slots[row] = {8 + row, 8 + row, 1, row};
  source->emit_range(stream, slots.data(), 1, 8, 4, batch.view());
  return {{batch.x().begin(), batch.x().end()},
          {batch.latents().begin(), batch.latents().end()},
          {batch.label().begin(), batch.label().end()}};
}

TEST_F(Hdf5Format, ReadsShowersOfCaloChallenge) {
  write_calo("full.hdf5", {}, "MeV");
  const auto data = open("full.hdf5");
  EXPECT_EQ(data->size(), kRows);
  EXPECT_EQ(data->layout().sample, SampleLayout::event(kVoxels));
  ASSERT_EQ(data->latents().size(), 1u);
  EXPECT_EQ(data->latents()[0].name, "energy");
  EXPECT_EQ(data->latents()[0].unit, "MeV");
  EXPECT_EQ(data->latents()[0].low, 1000.f);
  EXPECT_EQ(data->latents()[0].high, 20000.f);
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    const Emitted rows = emitted(path("full.hdf5"), storage);
    const std::vector<float> all = showers();
    EXPECT_TRUE(std::ranges::equal(rows.x, std::span(all).subspan(8 * kVoxels, 4 * kVoxels)));
    EXPECT_EQ(rows.latents, (std::vector<float>{9000, 0, 10000, 0, 11000, 0, 12000, 0}));
    EXPECT_EQ(rows.label, (std::vector<std::int32_t>{0, 0, 0, 0}));
  }
}

TEST_F(Hdf5Format, ConvertsUnitLabelAndRange) {
  write_calo("full.hdf5");
  const std::vector<ParamSetting> settings = {
      {"unit", "GeV"}, {"label", "2"}, {"energy_low", "1"}, {"energy_high", "50"}};
  const auto data = open("full.hdf5", settings);
  EXPECT_EQ(data->classes(), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(data->latents()[0].unit, "GeV");
  EXPECT_EQ(data->latents()[0].low, 1.f);
  EXPECT_EQ(data->latents()[0].high, 50.f);
  const Emitted rows = emitted(path("full.hdf5"), Storage::streamed, settings);
  EXPECT_EQ(rows.x[5], showers()[8 * kVoxels + 5] / 1000);
  EXPECT_EQ(rows.latents[0], 9.f);
  EXPECT_EQ(rows.label, (std::vector<std::int32_t>{2, 2, 2, 2}));
  expect_parts(refused("full.hdf5", {{"energy_high", "15"}}),
               {"'incident_energies' of row 15 is 16000 MeV", "energy_low and energy_high"});
}

TEST_F(Hdf5Format, RoundTripsExports) {
  const std::vector<ParamSetting> small = {{"layers", "2"}, {"particles", "[electron, photon]"}};
  for (const std::string layout : {"columns", "calochallenge"}) {
    const std::string name = layout + ".h5";
    GeneratorReader feed(make_generator("calo_gflash", 1, small), {7, 100, 12},
                         {Device::cpu(), 5, 1});
    export_samples(feed, path(name), {layout, {}});
    GeneratorReader again(make_generator("calo_gflash", 1, small), {7, 100, 12});
    const SampleInfo& info = again.origins().front().info;
    const auto data = open(name);
    EXPECT_EQ(data->classes(), (std::vector<std::string>{"electron", "photon"}));
    const LatentInfo& energy = data->latents()[0];
    EXPECT_EQ(energy.name, info.latents[0].name);
    EXPECT_EQ(energy.unit, info.latents[0].unit);
    const auto width = data->latents().size();
    ASSERT_EQ(width, layout == "columns" ? info.latents.size() : 1u);
    if (layout == "columns") {
      EXPECT_EQ(energy.low, info.latents[0].low);
      EXPECT_EQ(energy.high, info.latents[0].high);
    }
    const auto reader = data->reader();
    const auto features = static_cast<std::size_t>(data->layout().sample.features);
    again.make([&](const HostSamples& made) {
      std::vector<float> x(features), latents(width);
      for (std::size_t row = 0; row < 12; ++row) {
        reader->read(static_cast<std::int64_t>(row), reinterpret_cast<std::uint8_t*>(x.data()));
        EXPECT_TRUE(std::ranges::equal(x, made.x().subspan(row * features, features)));
        data->read_latents(static_cast<std::int64_t>(row), latents.data());
        const auto expected = made.latents().subspan(row * info.latents.size(), width);
        EXPECT_TRUE(std::ranges::equal(latents, expected)) << layout << " " << row;
        EXPECT_EQ(data->label(static_cast<std::int64_t>(row)), made.label()[row]);
      }
    });
  }
}

TEST_F(Hdf5Format, ReadsImages) {
  std::vector<std::uint8_t> pixels(2 * 4 * 5 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(2 * i);
  write("images.h5", [&](Hdf5Writer& file) {
    add(file, "pictures", ElementType::u8, {2, 4, 5, 3}, pixels);
    add(file, "kind", ElementType::i64, {2}, std::vector<std::int64_t>{1, 0});
    add(file, "floats", ElementType::f32, {2, 4, 5, 3}, std::vector<float>(120, 0.5f));
  });
  const std::vector<ParamSetting> names = {{"array", "pictures"}, {"labels", "kind"}};
  const auto data = open("images.h5", names);
  EXPECT_EQ(data->layout().sample, SampleLayout::image(4, 5, 3));
  EXPECT_EQ(data->label(0), 1);
  std::vector<std::uint8_t> row(60);
  data->reader()->read(1, row.data());
  EXPECT_TRUE(std::ranges::equal(row, std::span(pixels).subspan(60)));
  open("images.h5", {{"array", "floats"}})->reader()->read(1, row.data());
  EXPECT_EQ(row, std::vector<std::uint8_t>(60, 128));
  expect_parts(refused("images.h5"), {"no array 'x', no", "'floats', 'kind', 'pictures'"});
  expect_parts(refused("images.h5", {{"array", "picture"}}), {"did you mean 'pictures'?"});
  expect_parts(refused("images.h5", {{"array", "pictures"}, {"labels", "knd"}}),
               {"'knd' is not in the file", "did you mean 'kind'?"});
}

TEST_F(Hdf5Format, RefusesBadNumbersByRowAndValue) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto read_all = [&](const std::string& name) {
    const auto data = open(name);
    for_each_row(*data, 2, 0, data->size(),
                 [](RowReader& reader, std::int64_t i) { reader.check(i); });
  };
  write_calo("nan.h5", [&](auto&, auto& x) { x[3 * kVoxels + 4] = nan; });
  expect_parts(message_of(ErrorKind::data, [&] { read_all("nan.h5"); }),
               {"nan.h5: row 3: feature 4 is nan"});
  write_calo("negative.h5", [&](auto&, auto& x) { x[5 * kVoxels + 1] = -2.5f; });
  expect_parts(message_of(ErrorKind::data, [&] { read_all("negative.h5"); }),
               {"negative.h5: row 5: voxel 1 has -2.5 MeV"});
  write_calo("zero.h5", [&](auto& energies, auto&) { energies[7] = 0; });
  expect_parts(refused("zero.h5"), {"'incident_energies' of row 7 is 0 MeV"});
  write_calo("endless.h5", [&](auto& energies, auto&) { energies[2] = INFINITY; });
  expect_parts(refused("endless.h5"), {"'incident_energies' of row 2 is inf MeV"});
  // Resident and streamed sources must both report it before the first step.
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    expect_parts(message_of(ErrorKind::data, [&] { emitted(path("nan.h5"), storage); }),
                 {"nan.h5: row 3"});
  }
}

TEST_F(Hdf5Format, RefusesBadShapesUnitsLabelsAndWeights) {
  write_calo("units.h5", {}, "GeV");
  expect_parts(refused("units.h5"),
               {"'showers' is in 'GeV'", "this layout stores energies in MeV"});
  const auto truth = [&](const std::string& name, ElementType type, const auto& values) {
    write("truth.h5", [&](Hdf5Writer& file) {
      add(file, "x", ElementType::f32, {kRows, kVoxels}, showers());
      add(file, name, type, {static_cast<std::int64_t>(values.size())}, values);
    });
    return refused("truth.h5");
  };
  expect_parts(truth("label", ElementType::i32, std::vector<std::int32_t>(19, 0)),
               {"'label' is an array of I32 [19]", "'x' has 20 rows", "the shape must be [20]"});
  expect_parts(truth("label", ElementType::f32, std::vector<float>(20, 0.5f)),
               {"'label' of row 0 is 0.5", "must be integers"});
  std::vector<std::int32_t> labels(20, 0);
  labels[4] = -1;
  expect_parts(truth("label", ElementType::i32, labels), {"'label': row 4 has label -1"});
  std::vector<float> weights(20, 1);
  weights[6] = 0.5f;
  expect_parts(truth("weight", ElementType::f32, weights), {"'weight' of row 6 is 0.5"});

  write("flat.h5", [&](Hdf5Writer& file) {
    add(file, "incident_energies", ElementType::f64, {kRows}, std::vector<double>(kRows, 10));
    add(file, "showers", ElementType::f32, {kRows, kVoxels}, showers());
  });
  expect_parts(refused("flat.h5"), {"'incident_energies' is an array of F64 [20]", "[20, 1]"});
  write("grid.h5", [&](Hdf5Writer& file) {
    add(file, "incident_energies", ElementType::f64, {kRows, 1}, std::vector<double>(kRows, 10));
    add(file, "showers", ElementType::f32, {kRows, 2, 3}, showers());
  });
  expect_parts(refused("grid.h5"), {"'showers' is an array of F32 [20, 2, 3]", "[rows, voxels]"});
  write("empty.h5", [&](Hdf5Writer& file) { file.open("x", {ElementType::f32, {0, 3}}); });
  expect_parts(refused("empty.h5"), {"'x' is an array of F32 [0, 3]", "no rows"});
  write("named.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {kRows, kVoxels}, showers());
    file.add_text("metadata", "{\"sources\": ");
  });
  expect_parts(refused("named.h5"), {"named.h5: 'metadata' is not JSON"});
  // An array of that name is not an export's metadata.
  write("array.h5", [&](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {kRows, kVoxels}, showers());
    add(file, "metadata", ElementType::f32, {3}, std::vector<float>(3));
  });
  EXPECT_EQ(open("array.h5")->size(), kRows);
  test::spill(path("text.h5"), "x, y\n1, 2\n");
  expect_parts(refused("text.h5"), {"text.h5: not an HDF5 file", "HDF5 signature"});
  test::spill(path("photo.h5"), "\xff\xd8\xff\xe0");
  expect_parts(refused("photo.h5"), {"photo.h5: not an HDF5 file", "it is a JPEG image"});
}

}  // namespace
}  // namespace wellspring::test
