// Several ranks in one process must give the results of a single rank: the same bytes in every
// batch row, and the same gradients up to the rounding of sums.
#include "kernels/batch/communicator.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/step_graph.h"
#include "tests/sources/file_run.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"
#include "tests/support/rank_group.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

constexpr int kShareSide = 8;
constexpr std::int64_t kBatch = 24;
constexpr std::uint64_t kSteps = 20;

TEST(ShareOf, DividesABatchInTheOrderOfRanks) {
  EXPECT_EQ(share_of(24, 0, 1), Share::whole(24));
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(share_of(24, rank, 4), (Share{24, 6 * rank, 6}));
  EXPECT_EQ(share_of(24, single_rank()), Share::whole(24));
}

TEST(ShareOf, RefusesRanksThatDoNotDivideTheBatch) {
  const auto refusal = [](std::int64_t batch, int ranks) {
    return test::message_of(ErrorKind::config, [&] { share_of(batch, 0, ranks); });
  };
  expect_parts(refusal(24, 5),
               {"a batch of 24 rows cannot be divided among 5 ranks", "train.batch: 20 or 25"});
  expect_parts(refusal(3, 4), {"a batch of 3 rows cannot be divided among 4 ranks",
                               "train.batch: 4", "fewer ranks"});
}

class Shares : public ::testing::Test {
 protected:
  Shares() {
    test::write_as_folder(folder_.path() / "images", test::labelled_noise(3, 7, kShareSide));
  }

  /// Images from files, alone or with a generator whose weight falls.
  Mixture mixture(Storage storage, bool mixed) const {
    Mixture mixture(3);
    SourceContext context;
    context.size = kShareSide;
    context.seed = 5;
    context.training = test::augmentations_of("augment: [flip_x: 0.5]");
    SourceSpec files;
    files.name = "real";
    files.kind = SourceKind::files;
    files.path = (folder_.path() / "images").string();
    files.storage = storage;
    files.threads = 2;
    files.ahead = 2;
    mixture.add(make_source(files, context), {});
    if (!mixed) return mixture;
    SourceSpec generator;
    generator.name = "made";
    generator.generator = "noise";
    mixture.add(make_source(generator, context), {});
    mixture.set_schedule({{0.1, {0, 1}}, {0.5, {0.3, 0.7}}, {1, {1, 0}}});
    return mixture;
  }

  test::TemporaryFolder folder_;
};

/// Compares every column with rows [first, first + part.size) of `whole`, byte by byte.
void expect_rows(const HostBatch& part, const HostBatch& whole, std::int64_t first) {
  const auto rows = columns_of(part.view()), all = columns_of(whole.view());
  for (std::size_t c = 0; c < rows.size(); ++c) {
    const std::size_t bytes = rows[c].row_bytes();
    ASSERT_EQ(bytes, all[c].row_bytes());
    if (bytes == 0 || rows[c].data == nullptr) continue;
    EXPECT_EQ(std::memcmp(rows[c].data,
                          static_cast<const std::byte*>(all[c].data) +
                              static_cast<std::size_t>(first) * bytes,
                          static_cast<std::size_t>(part.view().size) * bytes),
              0)
        << rows[c].name;
  }
}

TEST_F(Shares, MatchTheRowsOfASingleRank) {
  // Steps in order, then from a later step, one step twice, and steps past the planned end.
  std::vector<std::uint64_t> steps;
  for (std::uint64_t s = 0; s < kSteps; ++s) steps.push_back(s);
  for (const std::uint64_t s : {7, 8, 8, 9, 18, 19, 20, 21, 21, 30, 3}) steps.push_back(s);
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    for (const bool mixed : {false, true}) {
      MixtureRun whole(mixture(storage, mixed), Share::whole(kBatch), kSteps);
      for (const int ranks : {2, 3, 4}) {
        std::vector<std::unique_ptr<MixtureRun>> runs;
        for (int rank = 0; rank < ranks; ++rank) {
          runs.push_back(std::make_unique<MixtureRun>(mixture(storage, mixed),
                                                      share_of(kBatch, rank, ranks), kSteps));
        }
        for (const std::uint64_t step : steps) {
          SCOPED_TRACE(testing::Message() << ranks << " ranks, step " << step);
          whole.step(step);
          for (int rank = 0; rank < ranks; ++rank) {
            MixtureRun& run = *runs[static_cast<std::size_t>(rank)];
            run.step(step);
            expect_rows(*run.batch, *whole.batch, rank * kBatch / ranks);
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

/// Results of a linear classifier on the batch, after the last of several recorded steps.
struct Gradients {
  std::vector<float> logits, loss, logit_gradient;  ///< this rank's rows
  std::vector<float> weights;                       ///< their gradient, summed over the ranks
  std::vector<double> bound;      ///< bound on the rounding of each of this rank's logits
  std::vector<double> magnitude;  ///< this rank's sum of |terms| for each weight's gradient
  std::vector<float> x;           ///< this rank's rows
};

constexpr double kRounding = 0x1p-24;  ///< unit roundoff u of f32

/// One head per source; their logits are adjacent in a row.
std::vector<ops::HeadSlice> heads_of(const Mixture& mixture, const Share& share) {
  std::vector<ops::HeadSlice> heads;
  std::int32_t width = 0;
  for (int k = 0; k < mixture.size(); ++k) {
    ops::HeadSlice head;
    head.batch = share.rows;
    head.global_batch = share.global_batch;
    head.begin = width;
    head.outputs = static_cast<std::int32_t>(mixture.source(k).classes().size());
    head.sources = 1u << k;
    head.weight[k] = 1;
    width += head.outputs;
    heads.push_back(head);
  }
  for (ops::HeadSlice& head : heads) head.width = width;
  return heads;
}

/// If `logits` is given, it replaces this rank's own logits, so that a test can check the loss
/// alone.
Gradients learn(Mixture sources, Communicator& ranks, const std::vector<float>& logits = {}) {
  const Share share = share_of(kBatch, ranks);
  MixtureRun run(std::move(sources), share, kSteps);
  const std::vector<ops::HeadSlice> heads = heads_of(run.mixture, share);
  const auto in = static_cast<std::size_t>(run.mixture.layout().elements());
  const auto out = static_cast<std::size_t>(heads.front().width);
  const auto rows = static_cast<std::size_t>(share.rows);
  ops::DenseSpec dense_spec{.rows = share.rows,
                            .in = static_cast<int>(in),
                            .out = static_cast<int>(out),
                            .input_gradient = false};
  const auto dense = ops::Dense::plan(dense_spec, run.stream);
  std::vector<std::byte> scratch(dense->workspace_bytes());
  const ops::Workspace workspace{scratch.data(), scratch.size()};
  std::vector<float> w(in * out), bias(out, 0.1f), losses(rows * heads.size()), scores(rows);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::sin(static_cast<float>(i));
  Gradients result;
  result.logits.resize(rows * out);
  result.logit_gradient.resize(rows * out);
  result.weights.resize(in * out);

  const BatchView batch = run.batch->view();
  const auto graph = StepGraph::record(run.stream, [&](Stream& stream) {
    run.mixture.emit(stream, run.state.data(), batch);
    dense->forward(stream, batch.x, w.data(), bias.data(), result.logits.data(), workspace);
    if (!logits.empty())
      ops::convert(stream, static_cast<std::int64_t>(logits.size()), DType::f32, logits.data(),
                   DType::f32, result.logits.data());
    for (std::size_t h = 0; h < heads.size(); ++h)
      ops::softmax_cross_entropy(
          stream, heads[h], {result.logits.data(), run.mixture.slots(), batch.weight}, batch.label,
          0.1f, {losses.data() + h * rows, scores.data(), result.logit_gradient.data()});
    dense->backward_weights(stream, batch.x, result.logit_gradient.data(), result.weights.data(),
                            nullptr, workspace);
    ranks.all_reduce(stream, result.weights.data(),
                     static_cast<std::int64_t>(result.weights.size()));
  });
  EXPECT_TRUE(graph->census().no_host_transfer());
  for (std::uint64_t step = 10; step < 13; ++step) {
    run.state.data()->step = step;
    run.mixture.before_step(run.stream, step);
    graph->launch(run.stream);
    run.mixture.after_step(run.stream, step);
  }
  result.loss.assign(rows, 0.0f);
  for (std::size_t i = 0; i < losses.size(); ++i) result.loss[i % rows] += losses[i];
  result.x.assign(run.batch->x().begin(), run.batch->x().end());
  result.magnitude.assign(in * out, 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < out; ++k) {
      const double d = std::abs(result.logit_gradient[r * out + k]);
      double terms = std::abs(bias[k]);
      for (std::size_t i = 0; i < in; ++i) {
        const double x = std::abs(result.x[r * in + i]);
        result.magnitude[k * in + i] += d * x;
        terms += x * std::abs(w[k * in + i]);
      }
      result.bound.push_back(static_cast<double>(in + 1) * kRounding * terms);
    }
  }
  return result;
}

/// The results of all ranks, concatenated.
Gradients joined(const std::vector<Gradients>& parts) {
  Gradients all;
  all.weights = parts.front().weights;
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const Gradients& part : parts) {
    EXPECT_EQ(part.weights, all.weights);
    append(all.logits, part.logits);
    append(all.loss, part.loss);
    append(all.logit_gradient, part.logit_gradient);
  }
  return all;
}

// Guarantees for a different number of ranks:
// - Logits agree within the rounding of two sums of n = inputs + 1 terms in any order, 2 n u
//   sum |terms| with u = 2^-24 (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd
//   ed., SIAM 2002, section 4.2). They are not bit-identical: oneDNN chooses its kernels by the
//   number
//   of rows (seen with AVX2).
// - A row's loss and gradient are a function of its own logits, bit for bit: the mean is over the
//   global batch.
// - The weight gradient is a sum over rows, which is divided among ranks. It agrees within 2
//   (B + ranks) u sum |terms|, plus the effect of the logits' differences.
// For the same number of ranks, all ranks and all runs give the same bits on one kind of processor.
TEST_F(Shares, AddUpToTheGradientOfASingleRank) {
  for (const Storage storage : {Storage::resident, Storage::streamed}) {
    const Gradients one = learn(mixture(storage, true), single_rank());
    const std::size_t rows = kBatch, out = one.logits.size() / rows, in = one.x.size() / rows;
    for (const int ranks : {2, 3, 4}) {
      const auto together = [&] {
        std::vector<Gradients> all(static_cast<std::size_t>(ranks));
        test::RankGroup(ranks).run([&](Communicator& communicator) {
          all[static_cast<std::size_t>(communicator.rank())] =
              learn(mixture(storage, true), communicator);
        });
        return joined(all);
      };
      const Gradients all = together();
      for (std::size_t i = 0; i < one.logits.size(); ++i)
        ASSERT_LE(std::abs(double{all.logits[i]} - double{one.logits[i]}), 2 * one.bound[i]) << i;

      const Gradients from_logits = learn(mixture(storage, true), single_rank(), all.logits);
      EXPECT_EQ(all.loss, from_logits.loss);
      EXPECT_EQ(all.logit_gradient, from_logits.logit_gradient);

      const double factor = 2 * static_cast<double>(kBatch + ranks) * kRounding;
      int seen = 0;
      for (std::size_t k = 0; k < out; ++k) {
        for (std::size_t i = 0; i < in; ++i) {
          double bound = factor * one.magnitude[k * in + i];
          for (std::size_t r = 0; r < rows; ++r)
            bound += std::abs(double{all.logit_gradient[r * out + k]} -
                              double{one.logit_gradient[r * out + k]}) *
                     std::abs(double{one.x[r * in + i]}) * (1 + factor);
          const float got = all.weights[k * in + i];
          ASSERT_LE(std::abs(double{got} - double{one.weights[k * in + i]}), bound) << i;
          seen += got != 0;
        }
      }
      EXPECT_GT(seen, 0);
      const Gradients again = together();
      EXPECT_EQ(again.logits, all.logits);
      EXPECT_EQ(again.weights, all.weights);
    }
  }
}

TEST(RankGroup, AddsBroadcastsAndEndsTogether) {
  test::RankGroup(3).run([](Communicator& ranks) {
    Stream stream(Device::cpu(), 1);
    const auto own = static_cast<float>(1 << ranks.rank());
    std::vector<float> gradients = {own, -own};
    ranks.all_reduce(stream, gradients.data(), 2);
    EXPECT_EQ(gradients, (std::vector<float>{7, -7}));
    std::vector<double> sums = {0x1p-40 * own, 1};
    ranks.all_reduce(sums);
    EXPECT_EQ(sums, (std::vector<double>{7 * 0x1p-40, 3}));
    std::array bytes = {std::byte(ranks.rank() + 5)};
    ranks.broadcast(bytes);
    EXPECT_EQ(bytes[0], std::byte(5));
    ranks.barrier();
  });
  std::vector<std::string> seen(3);
  const auto ended = [&](const std::function<void(Communicator&)>& last) {
    try {
      test::RankGroup(3).run([&](Communicator& ranks) {
        if (ranks.rank() == 2) return last(ranks);
        try {
          ranks.barrier();
        } catch (const test::RankEnded& error) {
          seen[static_cast<std::size_t>(ranks.rank())] = error.what();
          throw;
        }
      });
    } catch (const std::exception& error) {
      seen[2] = error.what();
    }
    return seen;
  };
  const std::string failed = "rank 2 has failed: this one stops";
  EXPECT_EQ(ended([](Communicator&) { throw std::logic_error("this one stops"); }),
            (std::vector<std::string>{failed, failed, "this one stops"}));
  const std::string returned = "rank 2 has returned";
  EXPECT_EQ(ended([](Communicator&) {}), (std::vector<std::string>(3, returned)));
  double value = 0;
  ended([&](Communicator& ranks) { ranks.all_reduce(std::span(&value, 1)); });
  EXPECT_EQ(seen[2], "the ranks make different calls");
}

}  // namespace
}  // namespace wellspring::test
