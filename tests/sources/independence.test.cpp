// Sources of one run are independent: they share no sample, order or augmentation, and adding a
// source changes no other source.
#include "generators/generator.h"
#include "sources/mixture.h"
#include "sources/source_spec.h"
#include "tests/support/augmentation.h"
#include "tests/support/chi_square.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

constexpr std::uint64_t kRunSeed = 11;
constexpr int kSize = 16;

SourceContext context() {
  SourceContext context;
  context.size = kSize;
  context.seed = kRunSeed;
  return context;
}

SourceSpec generator(const std::string& name, const std::string& kind) {
  SourceSpec spec;
  spec.name = name;
  spec.generator = kind;
  return spec;
}

/// Held-out samples of each source in a mixture, with their labels.
struct Samples {
  std::vector<std::string> images;
  std::vector<std::int32_t> labels;
};

std::vector<Samples> samples_of(const std::vector<SourceSpec>& specs, std::int64_t count) {
  MemoryPlan memory(Device::cpu());
  Mixture mixture(kRunSeed);
  for (const SourceSpec& spec : specs) mixture.add(make_source(spec, context()), {});
  mixture.plan(memory, count, 1);
  memory.commit();
  Stream stream(Device::cpu(), 2);
  mixture.load(stream);
  const HostBatch batch(count, mixture.layout());
  const auto values = static_cast<std::size_t>(mixture.layout().elements());
  std::vector<Samples> all;
  for (int k = 0; k < mixture.size(); ++k) {
    mixture.emit_range(stream, k, 0, batch.view(), count);
    Samples samples;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      samples.images.emplace_back(reinterpret_cast<const char*>(batch.x().data() + i * values),
                                  values * sizeof(float));
      samples.labels.push_back(batch.label()[i]);
    }
    all.push_back(std::move(samples));
  }
  return all;
}

// Equal images would need many equal 32-bit words.
TEST(IndependentSources, ShareNoImage) {
  const auto all = samples_of({generator("a", "shapes"), generator("b", "shapes")}, 1000);
  std::set<std::string> seen(all[0].images.begin(), all[0].images.end());
  EXPECT_EQ(seen.size(), 1000u);
  for (const std::string& image : all[1].images) EXPECT_FALSE(seen.contains(image));
}

// Two sources' labels for the same id must be uniform over all pairs (chi-square at 5 sigma, one
// false alarm in 3.5 million runs). Sources that share draws would fill only the diagonal.
TEST(IndependentSources, HaveIndependentLabels) {
  constexpr std::int64_t kCount = 4000;
  const auto all = samples_of({generator("a", "shapes"), generator("b", "shapes")}, kCount);
  const std::size_t classes = make_generator("shapes", kSize)->info().classes.size();
  std::vector<double> pairs(classes * classes, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kCount); ++i) {
    const auto a = static_cast<std::size_t>(all[0].labels[i]);
    ++pairs[a * classes + static_cast<std::size_t>(all[1].labels[i])];
  }
  EXPECT_LT(test::chi_square_score(pairs,
                                   static_cast<double>(kCount) / static_cast<double>(pairs.size())),
            5);
}

TEST(IndependentSources, AreUnchangedByAddedSources) {
  const auto one = samples_of({generator("a", "shapes")}, 50);
  const auto two = samples_of({generator("b", "noise"), generator("a", "shapes")}, 50);
  EXPECT_EQ(one[0].images, two[1].images);
  EXPECT_EQ(one[0].labels, two[1].labels);
}

TEST(IndependentSources, ReproduceSamplesFromTheirPrintedSeed) {
  SourceSpec spec = generator("a", "shapes");
  const std::uint64_t seed = source_seed(spec, kRunSeed);
  EXPECT_EQ(seed, named_key(kRunSeed, "a") >> 1);
  EXPECT_LT(seed, std::uint64_t{1} << 63);
  EXPECT_NE(seed, source_seed(generator("b", "shapes"), kRunSeed));
  EXPECT_NE(seed, source_seed(spec, kRunSeed + 1));
  test::expect_parts(make_source(spec, context())->summary(), {fmt::format("seed {}", seed)});
  const auto drawn = samples_of({spec}, 20);
  spec.name = "another";
  spec.seed = static_cast<std::int64_t>(seed);
  EXPECT_EQ(source_seed(spec, 999), seed);
  EXPECT_EQ(samples_of({spec}, 20)[0].images, drawn[0].images);
}

class IndependentFiles : public ::testing::Test {
 protected:
  IndependentFiles() {
    // Images are black on the left and white on the right.
    test::LabelledImages images;
    images.side = 2;
    images.classes = {"c"};
    for (int i = 0; i < kRows; ++i) {
      images.rgb.push_back({0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255});
      images.label.push_back(0);
    }
    test::write_as_npy(folder_.path(), images);
  }
  std::unique_ptr<Source> source(const std::string& name) const {
    SourceSpec spec;
    spec.name = name;
    spec.kind = SourceKind::files;
    spec.path = (folder_ / "x.npy").string();
    spec.params = {{"labels", "y.npy"}};
    SourceContext own = context();
    own.size = 0;
    own.training = test::augmentations_of("augment: [flip_x: 0.5]");
    return make_source(spec, own);
  }

  static constexpr int kRows = 1000;
  test::TemporaryFolder folder_;
};

// The number of positions where two random permutations agree is Poisson distributed with mean 1;
// it is 12 or more once in 1.2 billion epochs.
TEST_F(IndependentFiles, HaveDifferentOrders) {
  const SampleOrder a = source("a")->order(), b = source("b")->order();
  int equal = 0;
  for (std::uint64_t i = 0; i < kRows; ++i) equal += a.sample(i) == b.sample(i) ? 1 : 0;
  EXPECT_LT(equal, 12);
}

// Two copies are mirrored the same way with probability 1/2. The limit of 5 sigma gives one false
// alarm in 1.7 million runs.
TEST_F(IndependentFiles, AreAugmentedIndependently) {
  std::vector<std::vector<bool>> mirrored;
  for (const char* const name : {"a", "b"}) {
    const auto own = source(name);
    MemoryPlan memory(Device::cpu());
    own->plan(memory, Share::whole(kRows));
    memory.commit();
    Stream stream(Device::cpu(), 2);
    own->load(stream);
    const HostBatch batch(kRows, own->layout());
    std::vector<Slot> slots(kRows);
    for (std::uint32_t i = 0; i < kRows; ++i) slots[i] = {i, i, 0, i};
    own->emit(stream, slots.data(), 0, batch.view());
    std::vector<bool> row;
    for (std::size_t i = 0; i < kRows; ++i) row.push_back(batch.x()[12 * i] > 0.5f);
    mirrored.push_back(row);
  }
  int equal = 0;
  for (std::size_t i = 0; i < kRows; ++i) equal += mirrored[0][i] == mirrored[1][i] ? 1 : 0;
  EXPECT_LT(std::abs(equal - kRows / 2.), 5 * std::sqrt(kRows / 4.));
}

}  // namespace
}  // namespace wellspring::test
