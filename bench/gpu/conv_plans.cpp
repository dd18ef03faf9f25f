// Times all cuDNN plans for the convolutions of networks on this GPU. Shows whether cuDNN's first
// choice, which training uses, is the fastest plan that meets our numeric requirements, and what
// these requirements cost.
//
//     conv_plans [--device cuda:0] [--seconds 100] CONFIG.yaml ...
//     conv_plans --described DEVICE.json CONFIG.yaml ...       only names, for an absent GPU
//
// Prints one JSON object per line: cuDNN's description of the device (see
// CudnnTarget::described_by), then plans, and {"end": PLANS, "left": CONVOLUTIONS} last; `left`
// counts those not reached in time. Exit codes: core/error.h.
#include "bench/gpu/network_convolutions.h"
#include "bench/random_memory.h"
#include "core/error.h"
#include "core/measure/spread.h"
#include "kernels/ops/cuda/cudnn.h"
#include "kernels/runtime/step_graph.h"
#include "train/config/run_config.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

namespace wellspring::bench {
namespace {

using nlohmann::json;
using ops::Conv2dSpec;
using ops::cuda::ConvGraph;
using ops::cuda::ConvGraphSpec;
using ops::cuda::ConvPass;
using ops::cuda::CudnnTarget;
using Clock = std::chrono::steady_clock;

constexpr int kRunsOfGraph =
    20;                      // replayed together, because a launch takes longer than a small kernel
constexpr int kWindows = 7;  // one more than the minimum for an interval
constexpr double kShortest = 0.004;  // seconds per window

struct Options {
  std::string device = "cuda:0", described;
  double seconds = 100;
  std::vector<std::string> configs;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The distinct convolutions, in bf16, in the order of the configurations. A convolution with three
/// input channels is followed by its variants with the input padded to 4 and to 8 channels.
std::vector<Conv2dSpec> convolutions_of(const std::vector<std::string>& configs) {
  std::vector<Conv2dSpec> found;
  std::set<std::string> seen;
  const auto add = [&](const Conv2dSpec& spec) {
    const std::string what =
        fmt::format("{}, bias {}, activation {}, gradient {}", spec.to_string(), spec.bias,
                    static_cast<int>(spec.activation), spec.input_gradient);
    if (seen.insert(what).second) found.push_back(spec);
  };
  for (const std::string& file : configs) {
    const RunConfig config = RunConfig::load(file);
    for (Conv2dSpec spec :
         network_convolutions(config.model.name, config.model.params, config.train.batch,
                              static_cast<int>(config.data.size))) {
      spec.compute = DType::bf16;
      add(spec);
      if (spec.in_channels != 3) continue;
      for (const int channels : {4, 8}) {
        spec.in_channels = channels;
        add(spec);
      }
    }
  }
  return found;
}

std::vector<ConvGraphSpec> graphs_of(const Conv2dSpec& conv) {
  std::vector<ConvGraphSpec> graphs;
  for (const ConvPass pass :
       {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
    if (pass == ConvPass::backward_data && !conv.input_gradient) continue;
    ConvGraphSpec spec;
    spec.conv = conv;
    spec.pass = pass;
    spec.result = conv.compute;
    graphs.push_back(spec);
  }
  return graphs;
}

/// Holds the tensors of a convolution and times the plans of a graph of one of its passes.
class Timing {
 public:
  Timing(const Conv2dSpec& conv, Device device)
      : memory_(device),
        x_(memory_.tensor(conv.batch * conv.in_height * conv.in_width * conv.in_channels)),
        w_(memory_.tensor(std::int64_t{conv.out_channels} * conv.kernel * conv.kernel *
                          conv.in_channels)),
        y_(memory_.tensor(conv.batch * conv.out_height() * conv.out_width() * conv.out_channels)),
        bias_(memory_.floats(conv.out_channels)) {
    memory_.commit();
  }

  Stream& stream() { return memory_.stream; }

  /// Times the chosen plan: {"us": ..., "interval": [...]}.
  json measure(ConvGraph& graph, ConvPass pass) {
    MemoryPlan scratch(memory_.stream.device());
    const std::size_t bytes = graph.workspace_bytes();
    const auto workspace =
        scratch.reserve<std::byte>("bench", "workspace", std::max<std::size_t>(bytes, 1));
    scratch.commit();
    const auto run = [&] {
      graph.run(tensors(pass), reinterpret_cast<const float*>(bias_.data()),
                {workspace.data(), bytes});
    };
    run();  // loads modules before the capture
    stream().synchronize();
    const auto replayed = StepGraph::record(stream(), [&](Stream&) {
      for (int i = 0; i < kRunsOfGraph; ++i) run();
    });
    const auto time = [&](int launches) {
      const auto begin = Clock::now();
      for (int i = 0; i < launches; ++i) replayed->launch(stream());
      stream().synchronize();
      return seconds_since(begin) / launches;
    };
    time(1);
    const int launches = std::max(1, static_cast<int>(std::ceil(kShortest / time(1))));
    std::vector<double> microseconds;
    for (int i = 0; i < kWindows; ++i) microseconds.push_back(1e6 * time(launches) / kRunsOfGraph);
    const Interval interval = median_interval(microseconds).value();
    return {{"us", spread_of(microseconds).median}, {"interval", {interval.low, interval.high}}};
  }

 private:
  std::array<const void*, 3> tensors(ConvPass pass) const {
    switch (pass) {
      case ConvPass::forward:
        return {x_.data(), w_.data(), y_.data()};
      case ConvPass::backward_data:
        return {y_.data(), w_.data(), x_.data()};
      case ConvPass::backward_weights:
        return {x_.data(), y_.data(), w_.data()};
    }
    return {};
  }

  RandomMemory memory_;
  Planned<std::byte> x_, w_, y_, bias_;
};

/// Prints the plans of a graph, with times if there is a device; returns the number of plans.
std::size_t report_plans(const ConvGraphSpec& spec, const CudnnTarget& target,
                         std::optional<Timing>& timing) {
  const json head = {{"convolution", spec.conv.to_string()},
                     {"bias", spec.conv.bias},
                     {"relu", spec.conv.activation == ops::Activation::relu},
                     {"pass", to_string(spec.pass)}};
  std::optional<ConvGraph> planned;
  try {
    planned.emplace(spec, target);
  } catch (const Error& error) {
    json line = head;
    line["unplanned"] = error.what();
    fmt::print("{}\n", line.dump());
    return 0;
  }
  ConvGraph& graph = *planned;
  const std::string first_choice = graph.engine();
  for (std::size_t i = 0; i < graph.plan_count(); ++i) {
    json line = head;
    line["plan"] = i;
    line["engine"] = graph.plan_engine(i);
    if (timing) {
      try {
        const auto begin = Clock::now();
        graph.choose(i);
        line["build_ms"] = 1e3 * seconds_since(begin);
        line["chosen"] = graph.engine() == first_choice;
        line["workspace_bytes"] = graph.workspace_bytes();
        line.update(timing->measure(graph, spec.pass));
      } catch (const Error& error) {
        line["refused"] = error.what();
      }
    }
    fmt::print("{}\n", line.dump());
  }
  return graph.plan_count();
}

void run(const Options& options) {
  const auto begin = Clock::now();
  const std::vector<Conv2dSpec> convolutions = convolutions_of(options.configs);
  std::size_t plans = 0, done = 0;
  bool described = false;
  for (const Conv2dSpec& conv : convolutions) {
    if (seconds_since(begin) > options.seconds) break;
    std::optional<Timing> timing;
    if (options.described.empty()) timing.emplace(conv, Device::parse(options.device));
    const auto target_of = [&] {
      if (timing) return CudnnTarget::of(timing->stream());
      std::ifstream file(options.described);
      return CudnnTarget::described_by(std::string(std::istreambuf_iterator<char>(file), {}));
    };
    const CudnnTarget target = target_of();
    if (!described) {
      // One line; text that is not JSON becomes a string.
      const std::string text = target.description();
      json description = json::parse(text, nullptr, false);
      if (description.is_discarded()) description = text;
      fmt::print("{}\n", json{{"device_properties", description}}.dump());
    }
    described = true;
    for (const ConvGraphSpec& spec : graphs_of(conv)) plans += report_plans(spec, target, timing);
    std::fflush(stdout);
    ++done;
  }
  fmt::print("{}\n", json{{"end", plans}, {"left", convolutions.size() - done}}.dump());
}

}  // namespace
}  // namespace wellspring::bench

int main(int argc, char** argv) {
  wellspring::bench::Options options;
  CLI::App app("time all cuDNN plans for the convolutions of networks");
  app.add_option("--device", options.device, "cuda:N")->capture_default_str();
  app.add_option("--described", options.described, "description of an absent GPU");
  app.add_option("--seconds", options.seconds, "start no convolution after this time")
      ->capture_default_str();
  app.add_option("configs", options.configs, "training configurations")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    wellspring::bench::run(options);
    return 0;
  } catch (const wellspring::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exit_code();
  }
}
