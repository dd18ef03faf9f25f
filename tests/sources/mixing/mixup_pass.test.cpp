// Compares mixup and cutmix of batches with plain arithmetic in double precision, and tests both in
// training runs. For the distributions of the random choices see mixup_cutmix.test.cpp.
#include "sources/mixing/mixup_pass.h"

#include "kernels/batch/communicator.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/step_graph.h"
#include "sources/mixture.h"
#include "sources/source_spec.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace wellspring::test {
namespace {

constexpr std::uint64_t kPassSeed = 11;

MixConfig both(double probability = 1) {
  MixConfig config = {.mixup = 0.8, .cutmix = 1, .probability = probability};
  return config;
}

/// A batch before and after mixing: numbers of all magnitudes and both signs, with labels.
template <class T>
struct MixedBatch {
  MixedBatch(const MixConfig& config, const SampleLayout& layout, std::int64_t rows,
             const std::vector<MixedLabels>& labels, std::uint64_t step = 3)
      : mix(config, kPassSeed, labels), batch(rows, with_targets(layout, mix), DTypeOf<T>::value) {
    mix.plan(memory, Share::whole(rows), layout);
    slots = memory.reserve<Slot>("test", "slots", static_cast<std::size_t>(rows));
    state = memory.reserve<StepState>("test", "state", 1);
    memory.commit();
    state.data()->step = step;
    RngStream words({kPassSeed, 1}, Purpose::noise);
    for (T& value : batch.template x<T>())
      value = T(std::ldexp(words.uniform(-1, 1), static_cast<int>(words.integer(20)) - 10));
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint32_t source = words.integer(static_cast<std::uint32_t>(labels.size()));
      slots.data()[row] = {0, 0, source, static_cast<std::uint32_t>(row)};
      batch.label()[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(
          words.integer(static_cast<std::uint32_t>(labels[source].classes)));
    }
    for (float& value : batch.target()) value = words.uniform();
  }
  static SampleLayout with_targets(SampleLayout layout, const BatchMix& mix) {
    layout.targets = mix.targets() + 1;  // one column more than needed
    return layout;
  }
  void run() {
    x.assign(batch.template x<T>().begin(), batch.template x<T>().end());
    target.assign(batch.target().begin(), batch.target().end());
    Stream stream(Device::cpu(), 2);
    mix.enqueue(stream, state.data(), slots.data(), batch.view());
  }
  const PairMix& pair_of(std::size_t row) const { return mix.pairs()[row / 2]; }

  MemoryPlan memory{Device::cpu()};
  BatchMix mix;
  HostBatch batch;
  Planned<Slot> slots;
  Planned<StepState> state;
  std::vector<T> x;
  std::vector<float> target;
};

bool inside(const PairMix& mix, const SampleShape& shape, std::int64_t element) {
  const std::int64_t pixel = element / shape.channels;
  const std::int64_t column = pixel % shape.width, row = pixel / shape.width;
  return column >= mix.left && column < mix.right && row >= mix.top && row < mix.bottom;
}

/// Error bound of r = own a + other b as the kernel computes it. A product and a fused sum are each
/// rounded to f32 (relative error 2^-24), and the result is stored as T (2^-8 for bf16, no rounding
/// for f32). The factor 1.001 is needed because each rounding applies to an already rounded number.
template <class T>
double rounding(double product, double result) {
  const double stored = sizeof(T) == 2 ? 0x1p-8 : 0;
  return 1.001 * (0x1p-24 * (std::abs(product) + std::abs(result)) + stored * std::abs(result));
}

template <class T>
void expect_mixed(const SampleLayout& layout, const MixConfig& config) {
  MixedBatch<T> run(config, layout, 64, {{0, 5, false}});
  run.run();
  const auto elements = static_cast<std::size_t>(layout.elements());
  const std::span<const T> now = run.batch.template x<T>();
  int blended = 0, cut = 0, alone = 0;
  for (std::size_t row = 0; row < 64; ++row) {
    const PairMix& mix = run.pair_of(row);
    ASSERT_TRUE(mix.cuts() ? mix.own == 1 - mix.other : mix.other == 1 - mix.own);
    ASSERT_TRUE(mix.own >= 0 && mix.own <= 1);
    ++(!mix.mixes() ? alone : mix.cuts() ? cut : blended);
    for (std::size_t e = 0; e < elements; ++e) {
      const T own = run.x[row * elements + e], other = run.x[(row ^ 1) * elements + e];
      const T result = now[row * elements + e];
      if (!mix.mixes() || mix.cuts()) {
        const bool moved = mix.cuts() && inside(mix, layout.shape(), static_cast<std::int64_t>(e));
        ASSERT_EQ(std::memcmp(&result, moved ? &other : &own, sizeof(T)), 0) << row << " " << e;
        continue;
      }
      const double product = double{mix.other} * static_cast<float>(other);
      const double expected = double{mix.own} * static_cast<float>(own) + product;
      ASSERT_LE(std::abs(static_cast<float>(result) - expected), rounding<T>(product, expected))
          << row << " " << e;
    }
  }
  EXPECT_GT(alone, 0);
  EXPECT_EQ(blended > 0, config.mixup > 0);
  EXPECT_EQ(cut > 0, config.cutmix > 0);
}

TEST(BatchMix, MatchesPlainArithmetic) {
  // Row sizes that are and are not multiples of 16 bytes, one or three channels, one pixel.
  for (const SampleShape shape :
       {SampleShape{8, 8, 3}, {8, 4, 1}, {7, 5, 3}, {3, 5, 1}, {9, 16, 1}, {1, 1, 3}, {2, 4, 3}}) {
    SCOPED_TRACE(testing::Message() << shape.height << "x" << shape.width << "x" << shape.channels);
    expect_mixed<float>(SampleLayout::image(shape), both(0.7));
    expect_mixed<bf16>(SampleLayout::image(shape), both(0.7));
  }
}

TEST(BatchMix, BlendsEvents) {
  MixConfig config = both(0.7);
  config.cutmix = 0;
  expect_mixed<float>(SampleLayout::event(5), config);
  expect_mixed<bf16>(SampleLayout::event(16), config);
}

TEST(BatchMix, SetsTargetsToTheSharesOfLabels) {
  MixedBatch<float> run(both(0.7), SampleLayout::image(7, 5, 3), 400, {{0, 4, false}});
  run.run();
  const std::vector<std::int32_t> label(run.batch.label().begin(), run.batch.label().end());
  int equal = 0;
  for (std::size_t row = 0; row < 400; ++row) {
    const PairMix& mix = run.pair_of(row);
    const std::int32_t own = label[row], other = label[row ^ 1];
    equal += mix.mixes() && own == other;
    for (std::int32_t k = 0; k < 5; ++k) {
      // Products with 1 and 0 are exact, and the two shares add up to 1 however they are rounded.
      const float expected = own == other ? (k == own ? 1.f : 0.f)
                             : k == own   ? mix.own
                             : k == other ? mix.other
                                          : 0.f;
      ASSERT_EQ(run.batch.target()[row * 5 + static_cast<std::size_t>(k)], expected) << row;
    }
  }
  EXPECT_GT(equal, 0);
  EXPECT_TRUE(std::equal(label.begin(), label.end(), run.batch.label().begin()));
}

TEST(BatchMix, MixesProbabilitiesOfTheSource) {
  MixedBatch<float> run(both(), SampleLayout::image(4, 4, 1), 64, {{0, 3, true}});
  run.run();
  for (std::size_t row = 0; row < 64; ++row) {
    const PairMix& mix = run.pair_of(row);
    for (std::size_t k = 0; k < 3; ++k) {
      const double product = double{mix.other} * run.target[(row ^ 1) * 4 + k];
      const double expected = double{mix.own} * run.target[row * 4 + k] + product;
      ASSERT_LE(std::abs(run.batch.target()[row * 4 + k] - expected),
                rounding<float>(product, expected));
    }
    EXPECT_EQ(run.batch.target()[row * 4 + 3], 0);
  }
}

// A label in both rows gets the target 1, a label in neither row gets 0, and a label in one row
// gets that row's share. The column `label` is not read, because files may not have it.
TEST(BatchMix, BlendsMultiHotLabelsByTheirShares) {
  MixedBatch<float> run(both(0.7), SampleLayout::image(7, 5, 3), 400, {{0, 4, true}});
  for (float& value : run.batch.target()) value = value < 0.5f ? 0 : 1;
  std::ranges::fill(run.batch.label(), -1);
  run.run();
  int blended = 0;
  for (std::size_t row = 0; row < 400; ++row) {
    const PairMix& mix = run.pair_of(row);
    for (std::size_t k = 0; k < 4; ++k) {
      const float own = run.target[row * 5 + k], other = run.target[(row ^ 1) * 5 + k];
      blended += mix.mixes() && own != other;
      // The result is exact, as with single labels.
      const float expected = own == other ? own : own == 1 ? mix.own : mix.other;
      ASSERT_EQ(run.batch.target()[row * 5 + k], expected) << row;
    }
    ASSERT_EQ(run.batch.target()[row * 5 + 4], 0);
  }
  EXPECT_GT(blended, 200);
}

TEST(BatchMix, DoesNotMixRowsOfDifferentLabelSpaces) {
  MixedBatch<float> run(both(), SampleLayout::image(4, 4, 1), 200,
                        {{0, 3, false}, {1, 5, true}, {0, 3, false}});
  run.run();
  int different = 0, together = 0;
  for (std::size_t row = 0; row < 200; ++row) {
    const std::uint32_t own = run.slots.data()[row].source,
                        other = run.slots.data()[row ^ 1].source;
    const bool same = (own == 1) == (other == 1);
    ++(same ? together : different);
    const bool unchanged = std::memcmp(&run.x[row * 16], &run.batch.x()[row * 16], 64) == 0;
    ASSERT_EQ(unchanged, !run.pair_of(row).mixes());
    if (same) continue;
    ASSERT_TRUE(unchanged);
    for (std::int32_t k = 0; k < 6; ++k) {
      const std::size_t at = row * 6 + static_cast<std::size_t>(k);
      const float labelled = k == run.batch.label()[row] ? 1.f : 0.f;
      const float expected = own != 1 ? labelled : k < 5 ? run.target[at] : 0.f;
      ASSERT_EQ(run.batch.target()[at], expected);
    }
  }
  EXPECT_GT(different, 20);
  EXPECT_GT(together, 20);
}

// An invalid label stops a run without mixing, so it must stop a run with mixing, too.
TEST(BatchMix, SkipsPairsWithInvalidLabelsAndStopsTheRun) {
  MixedBatch<float> run(both(), SampleLayout::image(4, 4, 1), 4, {{0, 3, false}});
  run.batch.label()[0] = -1;
  run.batch.label()[3] = 3;
  run.run();
  EXPECT_TRUE(std::equal(run.x.begin(), run.x.end(), run.batch.x().begin()));
  for (const std::size_t row : {0, 3})
    for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(run.batch.target()[row * 4 + k]));
  for (const std::size_t row : {1, 2})
    EXPECT_EQ(run.batch.target()[row * 4 + static_cast<std::size_t>(run.batch.label()[row])], 1);
}

/// The bytes of all columns of the same batch after mixing on `device`.
template <class T>
std::vector<std::byte> mixed_on(const Device& device, MixedBatch<T>& run, const MixConfig& config,
                                const std::vector<MixedLabels>& labels) {
  const BatchView host = run.batch.view();
  MemoryPlan memory(device);
  BatchColumns columns;
  columns.plan(memory, "test", host.size, host.layout, host.dtype);
  BatchMix mix(config, kPassSeed, labels);
  mix.plan(memory, Share::whole(host.size), host.layout);
  const auto slots = memory.reserve<Slot>("test", "slots", static_cast<std::size_t>(host.size));
  const auto state = memory.reserve<StepState>("test", "state", 1);
  memory.commit();
  Stream stream(device, 1);
  const auto there = columns_of(columns.view()), here = columns_of(host);
  const auto each_column = [&](const auto& copy) {
    for (std::size_t c = 0; c < here.size(); ++c)
      if (here[c].row_bytes() > 0)
        copy(there[c].data, here[c].data,
             static_cast<std::size_t>(host.size) * here[c].row_bytes());
    stream.synchronize();
  };
  const auto up = CopyDirection::host_to_device, down = CopyDirection::device_to_host;
  each_column([&](void* to, void* from, std::size_t n) { stream.copy(to, from, n, up, "test"); });
  stream.copy(slots.data(), run.slots.data(), slots.bytes(), up, "test");
  stream.copy(state.data(), run.state.data(), state.bytes(), up, "test");
  mix.enqueue(stream, state.data(), slots.data(), columns.view());
  std::vector<std::byte> bytes;
  each_column([&](void* from, void*, std::size_t n) {
    bytes.resize(bytes.size() + n);
    stream.copy(bytes.data() + bytes.size() - n, from, n, down, "test");
    stream.synchronize();
  });
  return bytes;
}

template <class T>
void expect_mixed_as_on_host(const Device& device) {
  const std::vector<MixedLabels> labels = {{0, 5, false}, {1, 3, false}, {2, 6, true}};
  for (const SampleShape shape : {SampleShape{16, 16, 3}, {7, 5, 3}, {9, 11, 1}}) {
    MixedBatch<T> run(both(0.8), SampleLayout::image(shape), 128, labels);
    const std::vector<std::byte> bytes = mixed_on(device, run, both(0.8), labels);
    run.run();
    std::size_t at = 0;
    for (const BatchColumn& column : columns_of(run.batch.view())) {
      const std::size_t n = 128 * column.row_bytes();
      if (n == 0) continue;
      EXPECT_EQ(std::memcmp(bytes.data() + at, column.data, n), 0) << column.name;
      at += n;
    }
    EXPECT_EQ(at, bytes.size());
  }
}

TEST(BatchMix, MixesTheSameOnAGpuAndOnTheHost) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  expect_mixed_as_on_host<float>(Device::parse("auto"));
  expect_mixed_as_on_host<bf16>(Device::parse("auto"));
}

// The same test, run on the host.
TEST(BatchMix, MixesTheSameInADeviceRunOnTheHost) {
  expect_mixed_as_on_host<float>(Device::cpu());
  expect_mixed_as_on_host<bf16>(Device::cpu());
}

// ---- in a run -----------------------------------------------------------------------------------

/// This rank's share of mixed batches of four generators and three heads, one of them multi-label.
struct MixRun {
  static constexpr std::int64_t kBatch = 24;
  static constexpr std::uint64_t kSteps = 12;

  explicit MixRun(const Share& share, const MixConfig& config = both()) {
    SourceContext context;
    context.size = 7;
    context.seed = 5;
    for (const char* name : {"shapes", "noise", "dead_leaves", "ifs_multi"}) {
      SourceSpec spec;
      spec.name = spec.generator = name;
      if (spec.name == "ifs_multi") spec.params = {{"categories", "3", {}}};
      mixture.add(make_source(spec, context), {});
    }
    std::vector<MixedLabels> labels;
    for (int s = 0; s < 4; ++s)
      labels.push_back(
          {s == 2 ? 0 : s, static_cast<int>(mixture.source(s).classes().size()), s == 3});
    labels[0].classes = labels[2].classes = std::max(labels[0].classes, labels[2].classes);
    mix = std::make_unique<BatchMix>(config, kPassSeed, labels);
    SampleLayout layout = mixture.layout();
    layout.targets = mix->targets();
    mixture.plan(memory, share, kSteps);
    mix->plan(memory, share, layout);
    state = memory.reserve<StepState>("state", "step", 1);
    memory.commit();
    mixture.load(stream);
    batch = std::make_unique<HostBatch>(share.rows, layout);
  }
  void enqueue(Stream& on) {
    mixture.emit(on, state.data(), batch->view());
    mix->enqueue(on, state.data(), mixture.slots(), batch->view());
  }
  void step(std::uint64_t number) {
    state.data()->step = number;
    enqueue(stream);
  }

  MemoryPlan memory{Device::cpu()};
  Mixture mixture{3};
  std::unique_ptr<BatchMix> mix;
  Stream stream{Device::cpu(), 1};
  Planned<StepState> state;
  std::unique_ptr<HostBatch> batch;
};

TEST(MixedRuns, GiveRanksTheRowsOfASingleRank) {
  MixRun whole(Share::whole(MixRun::kBatch));
  for (const int ranks : {2, 4}) {
    for (int rank = 0; rank < ranks; ++rank) {
      MixRun part(share_of(MixRun::kBatch, rank, ranks));
      const std::int64_t first = rank * MixRun::kBatch / ranks;
      for (const std::uint64_t step : {0, 1, 11, 12, 5}) {
        whole.step(step);
        part.step(step);
        const auto all = columns_of(whole.batch->view()), rows = columns_of(part.batch->view());
        for (std::size_t c = 0; c < rows.size(); ++c) {
          const std::size_t bytes = rows[c].row_bytes();
          if (bytes == 0) continue;
          ASSERT_EQ(std::memcmp(rows[c].data,
                                static_cast<const std::byte*>(all[c].data) +
                                    static_cast<std::size_t>(first) * bytes,
                                static_cast<std::size_t>(MixRun::kBatch / ranks) * bytes),
                    0)
              << rows[c].name << ", rank " << rank << " of " << ranks << ", step " << step;
        }
      }
    }
  }
}

TEST(MixedRuns, ReplayFromTheStepCounterAlone) {
  MixRun eager(Share::whole(MixRun::kBatch)), replayed(Share::whole(MixRun::kBatch));
  const auto graph =
      StepGraph::record(replayed.stream, [&](Stream& stream) { replayed.enqueue(stream); });
  EXPECT_TRUE(graph->census().no_host_transfer());
  for (const std::uint64_t step : {0, 1, 2, 11, 4, 4}) {
    eager.step(step);
    replayed.state.data()->step = step;
    graph->launch(replayed.stream);
    ASSERT_TRUE(*eager.batch == *replayed.batch) << step;
  }
}

TEST(MixedRuns, BlendSeveralLabelsOfAGenerator) {
  MixRun run(Share::whole(MixRun::kBatch));
  const std::span<float> target = run.batch->target();
  const std::size_t width = target.size() / MixRun::kBatch;
  int blended = 0;
  for (std::uint64_t step = 0; step < MixRun::kSteps; ++step) {
    run.state.data()->step = step;
    run.mixture.emit(run.stream, run.state.data(), run.batch->view());
    const std::vector<float> emitted(target.begin(), target.end());
    run.mix->enqueue(run.stream, run.state.data(), run.mixture.slots(), run.batch->view());
    for (std::size_t row = 0; row < MixRun::kBatch; ++row) {
      if (run.mixture.slots()[row].source != 3) continue;
      const PairMix& mix = run.mix->pairs()[row / 2];
      for (std::size_t k = 0; k < 3; ++k) {
        const float own = emitted[row * width + k];
        const float other = mix.mixes() ? emitted[(row ^ 1) * width + k] : own;
        ASSERT_TRUE(own == 0 || own == 1) << own;
        blended += own != other;
        ASSERT_EQ(target[row * width + k], own == other ? own : own == 1 ? mix.own : mix.other);
      }
      for (std::size_t k = 3; k < width; ++k) ASSERT_EQ(target[row * width + k], 0);
    }
  }
  EXPECT_GT(blended, 4);
}

TEST(MixedRuns, DrawEachPairIndependently) {
  MixConfig config;
  config.mixup = 1;
  MixRun run(Share::whole(MixRun::kBatch), config);
  std::vector<float> drawn;
  for (std::uint64_t step = 0; step < MixRun::kSteps; ++step) {
    run.step(step);
    for (std::int64_t pair = 0; pair < MixRun::kBatch / 2; ++pair)
      if (run.mix->pairs()[pair].mixes()) drawn.push_back(run.mix->pairs()[pair].own);
  }
  const std::size_t all = drawn.size();
  EXPECT_GT(all, 40u);
  std::ranges::sort(drawn);
  // Two of 144 uniform 24-bit numbers are equal with probability 144^2 / 2^25 (1 in 1600 seeds).
  EXPECT_EQ(std::unique(drawn.begin(), drawn.end()), drawn.end());
}

TEST(BatchMix, RefusesBatchesThatItCannotMix) {
  const auto refusal = [](const MixConfig& config, const Share& share, const SampleLayout& layout) {
    return test::message_of(ErrorKind::config, [&] {
      MemoryPlan memory(Device::cpu());
      BatchMix(config, kPassSeed, {{0, 2, false}}).plan(memory, share, layout);
    });
  };
  MixConfig mixup = {.mixup = 1, .place = {"run.yaml", 4, 8}};
  const SampleLayout image = SampleLayout::image(4, 4, 3);
  expect_parts(refusal(mixup, Share::whole(5), image),
               {"run.yaml:4:8", "a batch of 5 samples", "use an even number, for example 6"});
  expect_parts(refusal(mixup, {12, 3, 3}, image), {"a rank of 3 samples"});
  expect_parts(refusal(mixup, Share::whole(4), SampleLayout::set(9, 4)), {"gives sets"});
  expect_parts(refusal(both(), Share::whole(4), SampleLayout::event(4)),
               {"cutmix", "events", "mixup blends"});
  SampleLayout globals = SampleLayout::event(4);
  globals.globals = 2;
  expect_parts(refusal(mixup, Share::whole(4), globals), {"globals"});
}

}  // namespace
}  // namespace wellspring::test
