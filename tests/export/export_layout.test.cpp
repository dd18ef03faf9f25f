// HDF5 exports: the columns of npz, and the community layouts.
#include "export/export_layout.h"

#include "core/error.h"
#include "core/io/hdf5.h"
#include "core/io/npy.h"
#include "export/export.h"
#include "tests/sources/files/hdf5_testing.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

using Settings = std::vector<ParamSetting>;

void export_to(const fs::path& path, const std::string& generator, const Settings& settings,
               const std::string& layout = "", std::uint64_t count = 23) {
  GeneratorReader feed(make_generator(generator, 8, settings), {3, 10, count},
                       {Device::cpu(), 7, 1});
  export_samples(feed, path, {layout, {}});
}

std::vector<double> npz_values(const fs::path& path, const std::string& name) {
  const NpyArray array = read_npz(path, name);
  const auto widened = [](const auto& numbers) {
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  if (array.spec.type == ElementType::i32) return widened(array.as<std::int32_t>());
  if (array.spec.type == ElementType::i64) return widened(array.as<std::int64_t>());
  return widened(array.as<float>());
}

TEST(ExportLayout, WritesTheSameColumnsAsNpz) {
  const test::TemporaryFolder folder;
  const Settings calo = {{"layers", "2"}};
  for (const auto& [generator, settings] : {std::pair<std::string, Settings>{"shapes", {}},
                                            {"ee_mumu", {}},
                                            {"ginkgo", {}},
                                            {"calo_gflash", calo}}) {
    export_to(folder / "a.npz", generator, settings);
    export_to(folder / "a.hdf5", generator, settings, "columns");
    const Hdf5File file(folder / "a.hdf5");
    std::vector<std::string> members;
    for (const std::string& member : npz_members(folder / "a.npz"))
      members.push_back(member.substr(0, member.size() - 4));
    std::ranges::sort(members);
    EXPECT_EQ(file.names(), members) << generator;
    for (const std::string& name : members) {
      if (name == "metadata") continue;
      EXPECT_EQ(file.array(name).shape(), read_npz(folder / "a.npz", name).spec.shape) << name;
      EXPECT_EQ(hdf5_values(folder / "a.hdf5", name), npz_values(folder / "a.npz", name)) << name;
    }
    const auto about = nlohmann::json::parse(file.text("metadata"));
    EXPECT_EQ(about.at("generator"), generator);
    EXPECT_EQ(about.at("seed"), 3);
    EXPECT_EQ(about.at("layout"), "columns");
  }
}

TEST(ExportLayout, CompressesHdf5Arrays) {
  const test::TemporaryFolder folder;
  const Settings ds2 = {{"preset", "ds2"}, {"mode", "mean"}, {"energies", "[1]"}};
  for (const auto& [generator, settings] :
       {std::pair<std::string, Settings>{"calo_gflash", ds2}, {"rambo", {}}, {"shapes", {}}}) {
    export_to(folder / "plain.h5", generator, settings);
    for (const auto& [batch, compression] :
         {std::pair{5, "gzip:6"}, {64, "gzip:6"}, {7, "zstd"}, {7, "lz4"}}) {
      GeneratorReader feed(make_generator(generator, 8, settings), {3, 10, 23},
                           {Device::cpu(), batch, 1});
      export_samples(feed, folder / "packed.h5",
                     {.compression = compression_from_text(compression)});
      const Hdf5File plain(folder / "plain.h5");
      EXPECT_EQ(Hdf5File(folder / "packed.h5").names(), plain.names());
      for (const std::string& name : plain.names()) {
        if (name == "metadata") continue;
        EXPECT_EQ(hdf5_values(folder / "packed.h5", name), hdf5_values(folder / "plain.h5", name))
            << name;
      }
    }
    if (generator == "calo_gflash") {  // many voxels are 0
      EXPECT_LT(fs::file_size(folder / "packed.h5"), fs::file_size(folder / "plain.h5"));
    }
  }
  GeneratorReader feed(make_generator("rambo", 8, {}), {3, 10, 5}, {Device::cpu(), 7, 1});
  const auto npz = [&] {
    export_samples(feed, folder / "a.npz", {.compression = {Codec::gzip, 6}});
  };
  test::expect_parts(test::message_of(ErrorKind::config, npz), {"--compress", "a.npz", ".h5"});
}

TEST(ExportLayout, WritesCaloChallengeShowersInMev) {
  const test::TemporaryFolder folder;
  for (const std::string unit : {"MeV", "GeV"}) {
    const Settings settings = {{"layers", "2"}, {"unit", unit}};
    export_to(folder / "a.h5", "calo_gflash", settings);
    export_to(folder / "a.npz", "calo_gflash", settings);
    const double mev = unit == "MeV" ? 1 : 1000;
    const std::vector<double> x = npz_values(folder / "a.npz", "x"),
                              latents = npz_values(folder / "a.npz", "latents"),
                              showers = hdf5_values(folder / "a.h5", "showers"),
                              energies = hdf5_values(folder / "a.h5", "incident_energies");
    const Hdf5File file(folder / "a.h5");
    EXPECT_EQ(file.array("incident_energies").shape(), (std::vector<std::int64_t>{23, 1}));
    EXPECT_EQ(file.array("showers").shape(), read_npz(folder / "a.npz", "x").spec.shape);
    EXPECT_EQ(file.array("showers").text_attribute("units"), "MeV");
    ASSERT_EQ(showers.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(showers[i], double{static_cast<float>(x[i] * mev)}) << i;
    for (std::size_t i = 0; i < energies.size(); ++i)
      ASSERT_EQ(energies[i], latents[i * latents.size() / 23] * mev);
    EXPECT_EQ(hdf5_values(folder / "a.h5", "latents"), latents) << "truth must be exported, too";
    EXPECT_FALSE(file.has("x"));
  }
}

struct FourVector {
  double e = 0, x = 0, y = 0, z = 0;
  void add(double energy, double px, double py, double pz) {
    e += energy;
    x += px;
    y += py;
    z += pz;
  }
  double mass() const { return std::sqrt(std::max(0.0, e * e - x * x - y * y - z * z)); }
};

// Invariant masses of the final particles of jets with pt = 500 GeV (W without radiation), and of
// decays at rest. A component has one rounding error of 2^-24 of its size and about eight more from
// the generator, so angles are known to 8 * 2^-24 and a mass to E / m times that. With E in f32,
// the factor is E^2 / m^2.
TEST(ExportLayout, WritesKinematicsInDoublePrecision) {
  struct Case {
    std::string generator;
    Settings settings;
    double mass, energy;
  };
  for (const auto& [generator, settings, mass, energy] :
       {Case{"lund_shower",
             {{"classes", "[W]"}, {"alpha_s", "0"}, {"eta_max", "0.5"}, {"columns", "record"}},
             80.377,
             600},
        {"lund_shower",
         {{"classes", "[W]"}, {"alpha_s", "0"}, {"eta_max", "0.5"}, {"columns", "kinematics"}},
         80.377,
         600},
        {"rambo", {{"preset", "top_pair_decays"}, {"columns", "record"}}, 500, 500},
        {"ee_mumu", {{"energies", "[91.2]"}, {"columns", "record"}}, 91.2, 91.2}}) {
    SCOPED_TRACE(generator + " " + settings.back().value);
    const test::TemporaryFolder folder;
    export_to(folder / "a.npz", generator, settings, "kinematics");
    const NpyArray stored = read_npz(folder / "a.npz", "kinematics"),
                   items = read_npz(folder / "a.npz", "x");
    EXPECT_EQ(stored.spec.type, ElementType::f64);
    ASSERT_EQ(stored.spec.shape.size(), 3u);
    const auto most = static_cast<std::size_t>(stored.spec.shape[1]);
    const auto columns = static_cast<std::size_t>(items.spec.shape[1]);
    const std::vector<double> offsets = npz_values(folder / "a.npz", "offsets");
    const auto values = stored.as<double>();
    const auto x = items.as<float>();
    const bool record = columns == 9;
    double worst = 0, worst_from_e = 0;
    for (std::size_t row = 0; row < 23; ++row) {
      FourVector sum, from_e;
      const auto first = static_cast<std::size_t>(offsets[row]);
      const std::size_t count = static_cast<std::size_t>(offsets[row + 1]) - first;
      for (std::size_t i = 0; i < most; ++i) {
        const double* const v = values.data() + (row * most + i) * 4;
        if (i >= count) {
          EXPECT_TRUE(v[0] == 0 && v[1] == 0 && v[2] == 0 && v[3] == 0);
          continue;
        }
        const float* const item = x.data() + (first + i) * columns;
        if (record && item[6] != 1) continue;  // not a final particle
        sum.add(std::sqrt(std::pow(v[0] * std::cosh(v[1]), 2) + v[3] * v[3]), v[0] * std::cos(v[2]),
                v[0] * std::sin(v[2]), v[0] * std::sinh(v[1]));
        if (record) from_e.add(item[0], item[1], item[2], item[3]);
      }
      worst = std::max(worst, std::abs(sum.mass() - mass) / mass);
      worst_from_e = std::max(worst_from_e, std::abs(from_e.mass() - mass) / mass);
    }
    EXPECT_LT(worst, 8 * 0x1p-24 * energy / mass);
    if (generator == "lund_shower" && record) {
      EXPECT_LT(worst, worst_from_e);
    }
  }
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::string& generator) {
    return test::message_of(ErrorKind::config,
                            [&] { export_to(folder / "b.npz", generator, {}, "kinematics"); });
  };
  for (const char* const generator : {"rambo", "shapes", "ee_mumu"})
    test::expect_parts(refused(generator), {"'kinematics'", "columns=record"});
}

// Compares the features with the momenta of the npz export. Each number is rounded to f32 once,
// with a relative error of 2^-24; differences of angles below pi, and of eta below 16, are within
// 2^-21. For jets of 400 GeV with a mass of 80 GeV, E^2 - p^2 in f32 has a relative error of at
// most (E / m)^2 = 25 times 2^-23; its square root has half that error.
TEST(ExportLayout, WritesJetNetJets) {
  const test::TemporaryFolder folder;
  export_to(folder / "a.h5", "ginkgo", {});
  export_to(folder / "a.npz", "ginkgo", {});
  const std::vector<double> particles = hdf5_values(folder / "a.h5", "particle_features"),
                            jets = hdf5_values(folder / "a.h5", "jet_features"),
                            x = npz_values(folder / "a.npz", "x"),
                            offsets = npz_values(folder / "a.npz", "offsets"),
                            globals = npz_values(folder / "a.npz", "globals");
  const Hdf5File file(folder / "a.h5");
  const auto most = static_cast<std::size_t>(file.array("particle_features").shape().at(1));
  EXPECT_EQ(file.array("particle_features").shape().at(2), 4);
  EXPECT_EQ(file.array("jet_features").shape(), (std::vector<std::int64_t>{23, 4}));
  EXPECT_EQ(file.array("jet_features").text_attribute("units"), "GeV, 1, GeV, 1");
  const auto unit =
      nlohmann::json::parse(file.text("metadata"))["parameters"]["unit"].get<double>();
  for (std::size_t j = 0; j < 23; ++j) {
    const double* const jet = &globals[4 * j];
    const double pt = std::sqrt(jet[1] * jet[1] + jet[2] * jet[2]);
    const double p = std::sqrt(pt * pt + jet[3] * jet[3]);
    const double eta = 0.5 * std::log((p + jet[3]) / (p - jet[3]));
    const auto count = static_cast<std::size_t>(offsets[j + 1] - offsets[j]);
    EXPECT_NEAR(jets[4 * j], pt * unit, 0x1p-23 * pt * unit);
    EXPECT_NEAR(jets[4 * j + 1], eta, 0x1p-21);
    const double mass = std::sqrt(jet[0] * jet[0] - p * p) * unit;
    EXPECT_NEAR(jets[4 * j + 2], mass, 0x1p-19 * mass);
    EXPECT_EQ(jets[4 * j + 3], static_cast<double>(count));
    const double* const features = &particles[4 * most * j];
    double sum_x = 0, sum_y = 0;
    for (std::size_t i = 0; i < most; ++i) {
      const double* const f = features + 4 * i;
      EXPECT_EQ(f[3], i < count ? 1 : 0);
      if (i >= count) {
        EXPECT_EQ(f[0] == 0 && f[1] == 0 && f[2] == 0, true) << "must be padded with zeros";
      }
      if (i > 0 && i < count) {
        EXPECT_LE(f[2], features[4 * i - 2]) << "must be sorted by decreasing pT";
      }
      sum_x += f[2] * std::cos(f[1]);
      sum_y += f[2] * std::sin(f[1]);
    }
    // The particles' transverse momenta add up to the jet's within 64 rounding errors of features,
    // npz momenta and angles. Ginkgo conserves momentum to about 1e-4.
    EXPECT_NEAR(sum_x, 1, 1e-3);
    EXPECT_NEAR(sum_y, 0, 1e-3);
    // The first particle has the largest transverse momentum.
    double hardest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double* const part = &x[4 * (static_cast<std::size_t>(offsets[j]) + i)];
      hardest = std::max(hardest, std::sqrt(part[1] * part[1] + part[2] * part[2]));
    }
    EXPECT_NEAR(features[2], hardest / pt, 0x1p-22);
  }
}

// Jets of lund_shower have the same layout; outputs that are not sets are written as columns.
TEST(ExportLayout, ChoosesTheJetLayoutOnlyForSets) {
  const test::TemporaryFolder folder;
  export_to(folder / "a.h5", "lund_shower", {{"preset", "jetnet30"}});
  export_to(folder / "a.npz", "lund_shower", {{"preset", "jetnet30"}});
  const Hdf5File file(folder / "a.h5");
  EXPECT_EQ(file.array("particle_features").shape(), (std::vector<std::int64_t>{23, 30, 4}));
  const std::vector<double> particles = hdf5_values(folder / "a.h5", "particle_features"),
                            jets = hdf5_values(folder / "a.h5", "jet_features"),
                            latents = npz_values(folder / "a.npz", "latents"),
                            offsets = npz_values(folder / "a.npz", "offsets");
  const std::size_t width = latents.size() / 23;
  for (std::size_t j = 0; j < 23; ++j) {
    const double count = offsets[j + 1] - offsets[j];
    EXPECT_EQ(jets[4 * j + 3], count);
    // Momenta add up as vectors, spread over a jet radius of 0.8 or by a top's decay.
    EXPECT_NEAR(jets[4 * j], latents[j * width], 0.2 * latents[j * width]);
    double pt = 0;
    for (std::size_t i = 0; i < 30; ++i) pt += particles[(30 * j + i) * 4 + 2];
    EXPECT_GT(pt, 0.9);
    EXPECT_LT(pt, 1.3);
  }
  for (const std::string output : {"image", "features"}) {
    for (const std::string generator : {"ginkgo", "lund_shower"}) {
      export_to(folder / "b.h5", generator, {{"output", output}});
      const Hdf5File columns(folder / "b.h5");
      EXPECT_EQ(columns.array("x").shape().size(), output == "image" ? 4u : 2u);
      EXPECT_FALSE(columns.has("particle_features"));
    }
  }
  export_to(folder / "c.h5", "lund_shower", {{"columns", "lund"}});
  EXPECT_TRUE(Hdf5File(folder / "c.h5").has("x")) << "must be written as columns";
}

TEST(ExportLayout, WritesIceCubePulsesSortedByTime) {
  const test::TemporaryFolder folder;
  const Settings settings = {{"output", "truth"}, {"strings", "12"}, {"items", "200"}};
  export_to(folder / "a.h5", "nu_telescope", settings);
  export_to(folder / "a.npz", "nu_telescope", settings);
  const std::vector<double> x = npz_values(folder / "a.npz", "x"),
                            offsets = npz_values(folder / "a.npz", "offsets"),
                            latents = npz_values(folder / "a.npz", "latents"),
                            time = hdf5_values(folder / "a.h5", "time"),
                            sensor = hdf5_values(folder / "a.h5", "sensor_id"),
                            charge = hdf5_values(folder / "a.h5", "charge"),
                            auxiliary = hdf5_values(folder / "a.h5", "auxiliary"),
                            first = hdf5_values(folder / "a.h5", "first_pulse_index"),
                            last = hdf5_values(folder / "a.h5", "last_pulse_index"),
                            event = hdf5_values(folder / "a.h5", "event_id"),
                            azimuth = hdf5_values(folder / "a.h5", "azimuth"),
                            zenith = hdf5_values(folder / "a.h5", "zenith"),
                            geometry = hdf5_values(folder / "a.h5", "sensor_geometry");
  const Hdf5File file(folder / "a.h5");
  EXPECT_EQ(file.array("sensor_geometry").shape(), (std::vector<std::int64_t>{12 * 60, 3}));
  EXPECT_EQ(file.array("time").text_attribute("units"), "ns");
  const auto about = nlohmann::json::parse(file.text("metadata"));
  EXPECT_EQ(about.at("layout"), "icecube");
  const auto& names = about["sources"][0]["latents"];
  for (const auto* const column : {&time, &sensor, &charge, &auxiliary})
    ASSERT_EQ(column->size() * 10, x.size());
  ASSERT_GT(time.size(), 200u);
  for (std::size_t i = 0; i < 23; ++i) {
    EXPECT_EQ(event[i], static_cast<double>(10 + i));
    EXPECT_EQ(first[i], offsets[i]);
    EXPECT_EQ(last[i], offsets[i + 1] - 1);
    for (std::size_t l = 0; l < names.size(); ++l) {
      const double latent = latents[i * names.size() + l];
      if (names[l]["name"] == "azimuth") {
        EXPECT_EQ(azimuth[i], latent);
      }
      if (names[l]["name"] == "zenith") {
        EXPECT_EQ(zenith[i], latent);
      }
    }
    // The pulses must be the same, sorted by time, each with the position of its sensor.
    std::vector<std::vector<double>> wanted;
    for (auto k = static_cast<std::size_t>(offsets[i]);
         k < static_cast<std::size_t>(offsets[i + 1]); ++k)
      wanted.push_back({x[10 * k + 3], x[10 * k + 6], x[10 * k + 4], x[10 * k + 5], x[10 * k],
                        x[10 * k + 1], x[10 * k + 2]});
    std::ranges::stable_sort(wanted, {}, [](const auto& pulse) { return pulse[0]; });
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const std::size_t at = static_cast<std::size_t>(first[i]) + k;
      ASSERT_NEAR(time[at], wanted[k][0], 0.5);
      ASSERT_EQ(sensor[at], wanted[k][1]);
      ASSERT_EQ(charge[at], wanted[k][2]);
      ASSERT_EQ(auxiliary[at], wanted[k][3]);
      for (std::size_t axis = 0; axis < 3; ++axis)
        ASSERT_EQ(geometry[3 * static_cast<std::size_t>(sensor[at]) + axis], wanted[k][4 + axis]);
    }
  }
  export_to(folder / "b.h5", "nu_telescope", {});
  EXPECT_TRUE(Hdf5File(folder / "b.h5").has("x")) << "without sensor ids, columns are the default";
}

TEST(ExportLayout, FallsBackToColumnsIfTheDefaultDoesNotFit) {
  const test::TemporaryFolder folder;
  export_to(folder / "rest.h5", "ginkgo", {{"frame", "rest", {}}});
  EXPECT_TRUE(Hdf5File(folder / "rest.h5").has("x"));
}

TEST(ExportLayout, RefusesSamplesThatDoNotFitALayout) {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& generator,
                           const std::string& layout, const Settings& settings = {}) {
    return message_of(ErrorKind::config,
                      [&] { export_to(folder / name, generator, settings, layout); });
  };
  expect_parts(refused("a.h5", "ee_mumu", "calochallenge"),
               {"do not fit the layout 'calochallenge'", "MeV or GeV", "--layout columns"});
  expect_parts(refused("a.h5", "shapes", "jetnet"), {"'jetnet'", "it needs jets"});
  expect_parts(refused("a.h5", "ginkgo", "calochallenge"), {"it needs showers"});
  expect_parts(refused("a.h5", "ginkgo", "jetnet", {{"frame", "rest"}}), {"the lab frame"});
  expect_parts(refused("a.h5", "ginkgo", "jetnet", {{"output", "image"}}), {"it needs jets"});
  expect_parts(refused("a.h5", "lund_shower", "jetnet", {{"columns", "lund"}}), {"it needs jets"});
  expect_parts(refused("a.h5", "nu_telescope", "icecube"), {"'sensor_id'", "output=truth"});
  expect_parts(refused("a.h5", "tracks", "icecube"), {"telescope pulses"});
  expect_parts(
      refused("a.h5", "nu_telescope", "icecube", {{"output", "truth"}, {"time_unit", "10"}}),
      {"'time' is in 10 ns", "time_unit=1"});
  expect_parts(refused("a.h5", "ginkgo", "jetnets"), {"did you mean 'jetnet'?"});
  expect_parts(refused("a.npz", "ginkgo", "jetnet"), {"applies to HDF5 files only"});
  expect_parts(refused("a.h5", "calo_gflash", "calochallenge", {{"noise", "5"}}),
               {"voxel energies must not be negative", "`threshold`", "--layout columns"});
  EXPECT_TRUE(folder.names().empty());
  export_to(folder / "b.h5", "calo_gflash", {{"noise", "5"}});
  EXPECT_TRUE(Hdf5File(folder / "b.h5").has("x")) << "with noise, columns are the default";
}

TEST(ExportLayout, KeepsTheOldFileAfterAnInterruption) {
  const test::TemporaryFolder folder;
  export_to(folder / "old.h5", "ginkgo", {});
  const std::string before = test::slurp(folder / "old.h5");
  for (const char* name : {"new.h5", "old.h5"}) {
    GeneratorReader feed(make_generator("ginkgo", 1), {0, 0, 40}, {Device::cpu(), 7, 1});
    const auto stop = [](std::uint64_t done) {
      if (done > 7) throw std::runtime_error("enough");
    };
    EXPECT_THROW(export_samples(feed, folder / name, {"", stop}), std::runtime_error);
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"old.h5"});
  EXPECT_EQ(test::slurp(folder / "old.h5"), before);
}

TEST(ExportLayout, DoesNotDependOnTheBatch) {
  const test::TemporaryFolder folder;
  std::vector<double> first;
  for (const std::int64_t batch : {1, 7, 64}) {
    GeneratorReader feed(make_generator("ginkgo", 1), {3, 0, 23}, {Device::cpu(), batch, 1});
    export_samples(feed, folder / "a.h5", {"columns", {}});
    const std::vector<double> x = hdf5_values(folder / "a.h5", "x");
    if (batch == 1) first = x;
    EXPECT_EQ(x, first) << batch;
  }
}

}  // namespace
}  // namespace wellspring::test
