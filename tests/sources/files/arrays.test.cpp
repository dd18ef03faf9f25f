// Arrays stored by other programs (shapes, types and orders of images and labels; compressed
// archives and their memory), and this program's exports.
#include "export/export.h"
#include "sources/files/format.h"
#include "sources/source_spec.h"
#include "sources/survey.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/error_testing.h"
#include "tests/support/npz_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <optional>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

class ArrayFiles : public test::DatasetFiles {
 protected:
  template <class T>
  void write(const std::string& name, const ArraySpec& spec, const std::vector<T>& values) const {
    write_npy(path(name), spec, bytes_of(values));
  }
  static std::vector<std::uint8_t> row_of(const Dataset& data, std::int64_t row) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(data.layout().bytes()));
    const auto reader = data.reader();
    reader->check(row);
    reader->read(row, bytes.data());
    return bytes;
  }
};

/// Two RGB images of 2 x 4 pixels, with interleaved channels and as planes.
std::vector<std::uint8_t> interleaved() {
  std::vector<std::uint8_t> pixels(48);
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{10});
  return pixels;
}
std::vector<std::uint8_t> planes() {
  const std::vector<std::uint8_t> pixels = interleaved();
  std::vector<std::uint8_t> planes;
  for (std::size_t image = 0; image < 2; ++image)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t p = 0; p < 8; ++p) planes.push_back(pixels[24 * image + 3 * p + c]);
  return planes;
}
template <class T>
std::vector<T> scaled(const std::vector<std::uint8_t>& pixels, double factor, double offset) {
  std::vector<T> values;
  for (const std::uint8_t pixel : pixels) values.push_back(static_cast<T>(factor * pixel + offset));
  return values;
}

TEST_F(ArrayFiles, ReadImagesOfAllKinds) {
  write("last.npy", {ElementType::u8, {2, 2, 4, 3}}, interleaved());
  write("first.npy", {ElementType::u8, {2, 3, 2, 4}}, planes());
  write("whole.npy", {ElementType::i64, {2, 2, 4, 3}}, scaled<std::int64_t>(interleaved(), 1, 0));
  write("unit.npy", {ElementType::f32, {2, 3, 2, 4}}, scaled<float>(planes(), 1 / 255., 0));
  write("signed.npy", {ElementType::f64, {2, 2, 4, 3}},
        scaled<double>(interleaved(), 2 / 255., -1));
  write("bytes.npy", {ElementType::f32, {2, 3, 2, 4}}, scaled<float>(planes(), 1, 0));
  using Settings = std::vector<ParamSetting>;
  for (const auto& [name, settings] :
       std::vector<std::pair<std::string, Settings>>{{"last.npy", {}},
                                                     {"first.npy", {}},
                                                     {"first.npy", {{"channels", "first"}}},
                                                     {"whole.npy", {}},
                                                     {"unit.npy", {}},
                                                     {"signed.npy", {{"range", "-1..1"}}},
                                                     {"bytes.npy", {{"range", "0..255"}}}}) {
    const auto data = open(name, settings);
    EXPECT_EQ(data->layout().sample, SampleLayout::image(2, 4, 3)) << name;
    const std::vector<std::uint8_t> pixels = interleaved();
    for (std::int64_t row = 0; row < 2; ++row)
      EXPECT_TRUE(std::ranges::equal(
          row_of(*data, row), std::span(pixels).subspan(24 * static_cast<std::size_t>(row), 24)))
          << name;
  }
}

TEST_F(ArrayFiles, RefuseAmbiguousImages) {
  write("both.npy", {ElementType::u8, {2, 3, 4, 3}}, std::vector<std::uint8_t>(72));
  expect_parts(refused("both.npy"), {"U8 [2, 3, 4, 3]", "first or last", "channels: first"});
  EXPECT_EQ(open("both.npy", {{"channels", "first"}})->layout().sample,
            SampleLayout::image(4, 3, 3));
  EXPECT_EQ(open("both.npy", {{"channels", "last"}})->layout().sample,
            SampleLayout::image(3, 4, 3));
  write("three.npy", {ElementType::f32, {2, 3, 4}}, std::vector<float>(24));
  expect_parts(refused("three.npy"), {"may be grey images, sequences", "range: 0..1"});
  EXPECT_EQ(open("three.npy", {{"range", "0..1"}})->layout().sample, SampleLayout::image(3, 4, 1));
  write("events.npy", {ElementType::f32, {2, 3}}, std::vector<float>(6));
  expect_parts(refused("events.npy", {{"range", "0..1"}}), {"apply only to images"});
  EXPECT_EQ(open("events.npy")->layout().sample, SampleLayout::event(3));
}

// Pixels out of range must not silently become black or white.
TEST_F(ArrayFiles, RefusePixelsOutOfRange) {
  std::vector<float> values(2 * 3 * 2 * 2, 0.5f);
  const auto refusal = [&](float value, std::vector<ParamSetting> settings) {
    values[20] = value;
    write("x.npy", {ElementType::f32, {2, 3, 2, 2}}, values);
    const auto data = open("x.npy", std::move(settings));
    row_of(*data, 0);
    return message_of(ErrorKind::data, [&] { row_of(*data, 1); });
  };
  expect_parts(refusal(17, {}), {"x.npy: row 1: a pixel has the value 17", "set range:"});
  expect_parts(refusal(-0.5f, {}),
               {"value -0.5", "0 (black) to 1 (white)", "range: -1..1", "x * std + mean"});
  expect_parts(refusal(std::numeric_limits<float>::quiet_NaN(), {{"range", "-1..1"}}), {"nan"});
}

TEST_F(ArrayFiles, ReadLabelsOfAllKinds) {
  write("x.npy", {ElementType::f64, {3, 2}}, std::vector<double>{0, 1, 2, 3, 4, 5});
  const auto labels = [&](const ArraySpec& spec, const auto& values) {
    write("y.npy", spec, values);
    const auto data = open("x.npy", {{"labels", "y.npy"}});
    EXPECT_EQ(data->classes().size(), 3u);
    return std::vector<std::int32_t>{data->label(0), data->label(1), data->label(2)};
  };
  const std::vector<std::int32_t> expected = {1, 0, 2};
  EXPECT_EQ(labels({ElementType::i64, {3, 1}}, std::vector<std::int64_t>{1, 0, 2}), expected);
  EXPECT_EQ(labels({ElementType::u8, {3}}, std::vector<std::uint8_t>{1, 0, 2}), expected);
  EXPECT_EQ(labels({ElementType::f64, {3}}, std::vector<double>{1, 0, 2}), expected);
  const std::vector<float> one_hot = {0, 1, 0, 1, 0, 0, 0, 0, 1};
  EXPECT_EQ(labels({ElementType::f32, {3, 3}}, one_hot), expected);
  std::vector<float> two = one_hot;
  two[0] = 1;
  write("y.npy", {ElementType::f32, {3, 3}}, two);
  expect_parts(refused("x.npy", {{"labels", "y.npy"}}), {"y.npy of row 0 is not one-hot"});
  // Images without labels, and images with regression targets.
  EXPECT_EQ(open("x.npy")->classes(), std::vector<std::string>{"0"});
  const auto data = open("x.npy", {{"latents", "[y.npy]"}});
  ASSERT_EQ(data->latents().size(), 3u);
  EXPECT_EQ(data->latents()[1].name, "y1");
  expect_parts(refused("x.npy", {{"labels", "z.npy"}}), {"z.npy: no such file"});
}

TEST_F(ArrayFiles, RefuseLabelsThatAreNoIndices) {
  write("x.npy", {ElementType::f64, {3, 2}}, std::vector<double>{0, 1, 2, 3, 4, 5});
  const auto labels = [&](const std::vector<double>& values) {
    write("y.npy", {ElementType::f64, {3}}, values);
    return refused("x.npy", {{"labels", "y.npy"}});
  };
  expect_parts(labels({0, 1, 1.5}),
               {"y.npy of row 2 is 1.5", "labels must be integers", "latents:"});
  EXPECT_NE(labels({0, std::numeric_limits<double>::quiet_NaN(), 1}), "");
  EXPECT_NE(labels({0, 1, 1e300}), "");
  // Strings, in each kind of file.
  const char* const advice = "np.unique(y, return_inverse=True)";
  test::spill(path("y.npy"), test::npy_strings("cat"));
  expect_parts(refused("x.npy", {{"labels", "y.npy"}}), {"y.npy", "'<U1': strings", advice});
  test::write_compressed_npz(path("a.npz"),
                             {{"x", npy_file({ElementType::f32, {3, 1}}, std::vector<float>(3))},
                              {"kind", test::npy_strings("cat")}});
  expect_parts(refused("a.npz", {{"labels", "kind"}}), {"a.npz: 'kind'", "strings", advice});
  write_hdf5(path("a.h5"), [](Hdf5Writer& file) {
    add(file, "x", ElementType::f32, {3, 1}, std::vector<float>(3));
    file.add_text("kind", "cat");
  });
  expect_parts(refused("a.h5", {{"labels", "kind"}}), {"a.h5: 'kind' contains strings", advice});
}

TEST_F(ArrayFiles, RefuseLabelsOfAnotherNameUnlessTheyAreNamed) {
  const std::vector<float> x(8);
  const auto save = [&](const std::string& rows, const std::string& name, const ArraySpec& spec,
                        auto values) {
    NpzWriter archive(path("a.npz"));
    archive.add(rows, {ElementType::f32, {4, 2}}, bytes_of(x));
    archive.add(name, spec, bytes_of(values));
    archive.commit();
  };
  const std::vector<std::int64_t> y = {1, 0, 1, 0};
  for (const char* name : {"y", "labels", "Y"}) {
    save("x", name, {ElementType::i64, {4}}, y);
    expect_parts(refused("a.npz"), {fmt::format("a.npz: '{}'", name), "no array 'label'",
                                    fmt::format("labels: {}", name), "latents: ["});
  }
  EXPECT_EQ(open("a.npz", {{"labels", "Y"}})->label(0), 1);
  EXPECT_EQ(open("a.npz", {{"labels", ""}})->label(0), 0);
  EXPECT_EQ(open("a.npz", {{"label", "1"}})->label(1), 1);
  EXPECT_EQ(open("a.npz", {{"latents", "[Y]"}})->latents().size(), 1u);
  EXPECT_EQ(survey_data(path("a.npz"), {}).find("labels")->value, "Y");
  // Regression targets, arrays of another part or length, and known arrays.
  save("x", "y", {ElementType::f32, {4, 2}}, x);
  expect_parts(refused("a.npz"), {"'y'", "latents: [y]"});
  save("x_train", "y_train", {ElementType::i64, {4}}, y);
  expect_parts(refused("a.npz", {{"array", "x_train"}}), {"'y_train'", "labels: y_train"});
  save("x_train", "y_test", {ElementType::i64, {4}}, y);
  EXPECT_EQ(open("a.npz", {{"array", "x_train"}})->size(), 4);
  save("x", "y", {ElementType::i64, {2}}, std::vector<std::int64_t>{0, 1});
  EXPECT_EQ(open("a.npz")->size(), 4);
  save("x", "target", {ElementType::f32, {4, 2}}, x);
  EXPECT_EQ(open("a.npz")->targets().size(), 2u);
}

TEST_F(ArrayFiles, IgnoreMetadataOfOtherPrograms) {
  const std::string x = npy_file({ElementType::f32, {4, 2}}, std::vector<float>(8));
  std::string object = npy_file({ElementType::i64, {}}, std::vector<std::int64_t>{0});
  object.replace(object.find("'<i8'"), 5, "'|O' ");  // a pickled dictionary
  for (const std::string& metadata :
       {npy_file({ElementType::f64, {3}}, std::vector<double>(3)), npy_strings("ab"), object}) {
    write_compressed_npz(path("a.npz"), {{"x", x}, {"metadata", metadata}});
    EXPECT_EQ(open("a.npz")->size(), 4);
  }
  write_compressed_npz(path("a.npz"), {{"x", x}, {"metadata", npy_text("no JSON")}});
  expect_parts(refused("a.npz"), {"'metadata' is not JSON"});
}

/// Plans the source on the CPU and returns the total size of its host blocks.
std::size_t held_bytes(const fs::path& path, Storage storage, std::optional<RowForm> cache = {}) {
  SourceSpec spec;
  spec.name = "real";
  spec.kind = SourceKind::files;
  spec.path = path.string();
  spec.storage = storage;
  if (cache) spec.cache.push_back({.form = *cache});
  const auto source = make_source(spec, {});
  MemoryPlan memory(Device::cpu());
  source->plan(memory, Share::whole(4));
  memory.commit();
  Stream stream(Device::cpu(), 1);
  source->load(stream);
  std::vector<float> row(3);
  source->rows()->reader()->read(7, reinterpret_cast<std::uint8_t*>(row.data()));
  EXPECT_EQ(row, (std::vector<float>{21, 22, 23}));
  std::size_t held = 0;
  for (const Reservation& block : memory.reservations())
    if (block.name == "arrays of real" && block.space == MemorySpace::host) held += block.bytes;
  return held;
}

TEST_F(ArrayFiles, PlanMemoryForArraysHeldInMemory) {
  std::vector<float> x(60), turned(60);
  std::iota(x.begin(), x.end(), 0.f);
  for (std::size_t i = 0; i < 60; ++i) turned[i % 3 * 20 + i / 3] = x[i];
  const std::string file = npy_file({ElementType::f32, {20, 3}}, x);
  test::write_compressed_npz(path("packed.npz"), {{"x", file}});
  test::spill(path("fortran.npy"),
              test::in_fortran_order(npy_file({ElementType::f32, {20, 3}}, turned)));
  NpzWriter archive(path("stored.npz"));
  archive.add("x", {ElementType::f32, {20, 3}}, bytes_of(x));
  archive.commit();
  test::spill(path("plain.npy"), file);
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    EXPECT_EQ(held_bytes(path("packed.npz"), storage), 240u);
    EXPECT_EQ(held_bytes(path("fortran.npy"), storage), 240u);
    EXPECT_EQ(held_bytes(path("stored.npz"), storage), 0u);
    EXPECT_EQ(held_bytes(path("plain.npy"), storage), 0u);
  }
  // The state and the checksum (4 bytes each) of every row, and the rows, aligned to 64 bytes.
  constexpr std::size_t kCached = 192 + 256;
  EXPECT_EQ(held_bytes(path("plain.npy"), Storage::streamed, RowForm::decoded), kCached);
  EXPECT_EQ(held_bytes(path("packed.npz"), Storage::streamed, RowForm::decoded), kCached + 240u);
  expect_parts(
      message_of(ErrorKind::config,
                 [&] { held_bytes(path("plain.npy"), Storage::streamed, RowForm::encoded); }),
      {"source 'real': cache[0]: encoded", "not encoded", "write decoded"});
}

// Pixels are compared after rounding to 8 bits.
TEST_F(ArrayFiles, ReadExportedImages) {
  const auto exported = [&](const std::string& name, const ImageForm& form) {
    GeneratorReader feed(make_generator("shapes", 8, {{"classes", "3"}}), {7, 100, 12});
    export_samples(feed, path(name), {"", {}, form});
    return open(name);
  };
  for (const auto& [name, form] : std::vector<std::pair<std::string, ImageForm>>{
           {"shapes.npz", {}},
           {"shapes.h5", {}},
           {"bytes.npz", {ElementType::u8, false}},
           {"planes.h5", {ElementType::u8, true}},
           {"float_planes.npz", {ElementType::f32, true}}}) {
    const auto data = exported(name, form);
    EXPECT_EQ(data->layout().sample, SampleLayout::image(8, 8, 3));
    GeneratorReader again(make_generator("shapes", 8, {{"classes", "3"}}), {7, 100, 12});
    EXPECT_EQ(data->classes(), again.origins().front().info.classes);
    again.make([&](const HostSamples& made) {
      for (std::size_t row = 0; row < 12; ++row) {
        const std::vector<std::uint8_t> pixels = row_of(*data, static_cast<std::int64_t>(row));
        for (std::size_t i = 0; i < pixels.size(); ++i)
          ASSERT_NEAR(pixels[i], 255 * made.x()[row * pixels.size() + i], 0.5001);
        EXPECT_EQ(data->label(static_cast<std::int64_t>(row)), made.label()[row]);
      }
    });
  }
}

}  // namespace
}  // namespace wellspring::test
