// Rates of network operations. Convolutions and attention are compared with a large matrix product, other
// operations with a copy of the same number of bytes. Also the cost of spans of a trace.
#include "kernels/ops/ops.h"

#include "bench/large_product.h"
#include "bench/measure.h"
#include "core/measure/trace.h"
#include "core/measure/trace_track.h"
#include "kernels/ops/attention.h"
#include "kernels/random/random_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <malloc.h>
#include <string>
#include <system_error>

namespace wellspring::bench {
namespace {

constexpr double kGiga = 1e9;

/// The bound of convolutions and attention, in GFLOP. Valid while the product lives.
Reference bound_by(LargeProduct& product) {
  return {"a large product", product.work(product.operations() / kGiga)};
}

/// Adds a row, with cold caches if the report asks for them.
void add_row(Report& report, const std::string& name, const char* unit, const Work& work,
             const Reference& bound) {
  MemoryTraffic* const flush = report.flush;
  report.add(measure(flush == nullptr ? name : name + ", cold", unit, cold(work, flush),
                     {bound.what, cold(bound.work, flush)}, report.repeats));
}

struct ConvolutionCase {
  std::int64_t batch;
  int side, in, out;
};

void bench_convolution(Report& report, const Filter& filter, const ConvolutionCase& shape) {
  const std::string name = fmt::format("convolution 3x3 {}x{}x{}x{} to {}", shape.batch, shape.side,
                                       shape.side, shape.in, shape.out);
  if (!filter.matches(name)) return;
  RandomMemory bench(report.device);
  ops::Conv2dSpec spec;
  spec.batch = shape.batch;
  spec.in_height = spec.in_width = shape.side;
  spec.in_channels = shape.in;
  spec.out_channels = shape.out;
  spec.compute = bench.compute;
  const auto conv = ops::Conv2d::plan(spec, bench.stream);
  const std::int64_t pixels = shape.batch * shape.side * shape.side;
  const std::int64_t weights = std::int64_t{9} * shape.in * shape.out;
  const auto x = bench.tensor(pixels * shape.in), y = bench.tensor(pixels * shape.out);
  const auto w = bench.tensor(weights), dw = bench.tensor(weights);
  const auto dx = bench.tensor(pixels * shape.in);
  const auto bias = bench.floats(shape.out), dbias = bench.floats(shape.out);
  const auto scratch = bench.bytes(conv->workspace_bytes());
  bench.commit();
  LargeProduct product(report.device, bench.compute);
  const ops::Workspace workspace{scratch.data(), conv->workspace_bytes()};
  const auto float_of = [](const Planned<std::byte>& block) {
    return reinterpret_cast<float*>(block.data());
  };
  const double work = 2.0 * static_cast<double>(pixels * weights) / kGiga;
  const auto add = [&](const char* part, const std::function<void()>& run) {
    add_row(report, name + " " + part, "GFLOP/s", {run, work, [&] { bench.stream.synchronize(); }},
            bound_by(product));
  };
  add("forward", [&] {
    conv->forward(bench.stream, x.data(), w.data(), float_of(bias), y.data(), workspace);
  });
  add("data gradient",
      [&] { conv->backward_data(bench.stream, y.data(), w.data(), dx.data(), workspace); });
  add("weight gradient", [&] {
    conv->backward_weights(bench.stream, x.data(), y.data(), dw.data(), float_of(dbias), workspace);
  });
}

void bench_attention(Report& report, const Filter& filter, const ops::AttentionSpec& shape) {
  RandomMemory bench(report.device);
  ops::AttentionSpec spec = shape;
  spec.compute = bench.compute;
  const std::string name = spec.to_string();
  if (!filter.matches(name)) return;
  const auto attention = ops::Attention::plan(spec, bench.stream);
  const std::int64_t values = spec.batch * spec.tokens * spec.heads * spec.head_width;
  const auto qkv = bench.tensor(3 * values), dqkv = bench.tensor(3 * values);
  const auto y = bench.tensor(values), dy = bench.tensor(values);
  const auto saved = bench.bytes(attention->saved_bytes()),
             scratch = bench.bytes(attention->workspace_bytes());
  bench.commit();
  LargeProduct product(report.device, bench.compute);
  const ops::Workspace workspace{scratch.data(), attention->workspace_bytes()};
  // Two matrix products, and five for the gradient.
  const double work = 2.0 * static_cast<double>(values * spec.tokens) / kGiga;
  const auto add = [&](const char* part, double products, const std::function<void()>& run) {
    add_row(report, name + " " + part, "GFLOP/s",
            {run, products * work, [&] { bench.stream.synchronize(); }}, bound_by(product));
  };
  const auto forward = [&] {
    attention->forward(bench.stream, qkv.data(), nullptr, y.data(), saved.data(), workspace);
  };
  add("forward", 2, forward);
  forward();  // the gradient needs its results
  add("gradient", 5, [&] {
    attention->backward(bench.stream, qkv.data(), nullptr, y.data(), dy.data(), saved.data(),
                        dqkv.data(), workspace);
  });
}

void bench_group_norm(Report& report, const Filter& filter, std::int64_t batch, int side,
                      int channels) {
  const std::string name = fmt::format("group norm {}x{}x{}x{}", batch, side, side, channels);
  if (!filter.matches(name)) return;
  RandomMemory bench(report.device);
  ops::GroupNormSpec spec;
  spec.batch = batch;
  spec.height = spec.width = side;
  spec.channels = channels;
  spec.groups = 8;
  spec.activation = ops::Activation::relu;
  spec.compute = bench.compute;
  const std::int64_t elements = batch * side * side * channels;
  const auto x = bench.tensor(elements), y = bench.tensor(elements);
  const auto gamma = bench.floats(channels), beta = bench.floats(channels);
  const auto mean = bench.floats(batch * spec.groups), rstd = bench.floats(batch * spec.groups);
  const auto partials = bench.floats(static_cast<std::int64_t>(ops::group_norm_partials(spec)));
  bench.commit();
  const auto run = [&] {
    ops::group_norm_forward(bench.stream, spec, x.data(), reinterpret_cast<float*>(gamma.data()),
                            reinterpret_cast<float*>(beta.data()), nullptr, y.data(),
                            reinterpret_cast<float*>(mean.data()),
                            reinterpret_cast<float*>(rstd.data()),
                            reinterpret_cast<float*>(partials.data()));
  };
  // Minimum traffic: x is read once and y is written once.
  const std::size_t bytes = 2 * static_cast<std::size_t>(elements) * size_of(bench.compute);
  const double work = static_cast<double>(bytes) / kGiga;
  MemoryTraffic traffic(report.device, MemoryTraffic::Kind::copy, bytes);
  add_row(report, name + " forward", "GB/s", {run, work, [&] { bench.stream.synchronize(); }},
          {"a copy of the same size", traffic.work(work)});
}

/// The cost of a span without and with a recording. scripts/trace-overhead makes them shares of a
/// training step.
void bench_span(Report& report, const Filter& filter) {
  constexpr const char* kOff = "trace span, nothing recorded";
  constexpr const char* kOn = "trace span, recorded";
  if (Trace::on()) return;
  constexpr int kSpans = 1000;
  const auto spans = [] {
    for (int i = 0; i < kSpans; ++i) {
      const TraceSpan span(stages::kStep, i);
    }
  };
  const auto times = [] {
    for (int i = 0; i < kSpans; ++i) static_cast<void>(std::chrono::steady_clock::now());
  };
  const Reference clock = {"reading the clock", {times, kSpans}};
  if (filter.matches(kOff))
    report.add(compare(kOff, "spans/s", {spans, kSpans}, clock, report.repeats));
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  // Each window has its own recording, because a thread keeps only its first spans. As in a run,
  // spans go to memory that was not used before: the memory of the previous window is returned.
  const auto recorded = [&](int wanted) {
    constexpr int kMostRuns = static_cast<int>(kMostSpans / kSpans);
    const int runs = std::min(wanted, kMostRuns);
    ::malloc_trim(0);
    const Trace trace(folder / "wellspring-bench-trace.json");
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) spans();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return time.count() / runs * wanted;
  };
  if (filter.matches(kOn) && !error)
    report.add(compare(kOn, "spans/s", {{}, kSpans, {}, recorded}, clock, report.repeats));
}

}  // namespace

void bench_ops(Report& report, const Filter& filter) {
  const std::int64_t batch = report.device.is_cuda() ? 1024 : 128;
  // Shows whether tensor cores benefit from padded colour channels.
  if (report.device.is_cuda()) {
    for (const int channels : {4, 8}) bench_convolution(report, filter, {batch, 32, channels, 32});
  }
  for (const ConvolutionCase& shape :
       {ConvolutionCase{batch, 32, 3, 32}, ConvolutionCase{batch, 16, 32, 64},
        ConvolutionCase{batch, 8, 64, 128}}) {
    bench_convolution(report, filter, shape);
  }
  for (const int tokens : {65, 197}) {
    bench_attention(report, filter,
                    {.batch = batch / 4, .tokens = tokens, .heads = 3, .head_width = 64});
  }
  bench_group_norm(report, filter, batch, 16, 64);
  // Larger than any cache: 256 MiB of bf16, 64 MiB of f32.
  bench_group_norm(report, filter, report.device.is_cuda() ? 8192 : 1024, 16, 64);
  bench_span(report, filter);
}

}  // namespace wellspring::bench
