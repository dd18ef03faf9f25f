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
#include "core/error.h"
#include "core/measure/spread.h"
#include "kernels/ops/cuda/cudnn.h"
#include "kernels/ops/cuda/plan_timer.h"
#include "train/config/run_config.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <limits>
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
using ops::cuda::PlanTimer;
using Clock = std::chrono::steady_clock;

constexpr int kWindows = 7;  // one more than the minimum for an interval
constexpr double kWindowSeconds = 0.004;
constexpr double kForever = std::numeric_limits<double>::infinity();

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
    for (Conv2dSpec spec : network_convolutions(config.model.name, config.model.params,
                                                config.train.batch, config.data.size)) {
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

json head_of(const ConvGraphSpec& spec) {
  return {{"convolution", spec.conv.to_string()},
          {"bias", spec.conv.bias},
          {"relu", spec.conv.activation == ops::Activation::relu},
          {"pass", to_string(spec.pass)}};
}

/// One line; text that is not JSON becomes a string.
void print_properties(const CudnnTarget& target) {
  const std::string text = target.description();
  json description = json::parse(text, nullptr, false);
  if (description.is_discarded()) description = text;
  fmt::print("{}\n", json{{"device_properties", description}}.dump());
}

/// Prints the plans of a graph, with their times if `timer` is given.
std::size_t report_plans(const ConvGraphSpec& spec, ConvGraph& graph, PlanTimer* timer) {
  const std::string first_choice = graph.engine();
  for (std::size_t i = 0; i < graph.plan_count(); ++i) {
    json line = head_of(spec);
    line["plan"] = i;
    line["engine"] = graph.plan_engine(i);
    if (timer != nullptr) {
      try {
        const auto begin = Clock::now();
        graph.choose(i);
        line["build_ms"] = 1e3 * seconds_since(begin);
        line["chosen"] = graph.engine() == first_choice;
        line["workspace_bytes"] = graph.workspace_bytes();
        std::vector<double> us = timer->seconds_per_run(kWindows, kWindowSeconds, kForever).value();
        for (double& value : us) value *= 1e6;
        const Interval interval = median_interval(us).value();
        line["us"] = spread_of(us).median;
        line["interval"] = {interval.low, interval.high};
      } catch (const Error& error) {
        line["refused"] = error.what();
      }
    }
    fmt::print("{}\n", line.dump());
  }
  return graph.plan_count();
}

/// The same for a specification; returns the number of plans.
std::size_t report_plans(const ConvGraphSpec& spec, const CudnnTarget* described, Device device) {
  try {
    if (described != nullptr) {
      ConvGraph graph(spec, *described);
      return report_plans(spec, graph, nullptr);
    }
    PlanTimer timer(spec, device);
    return report_plans(spec, timer.graph(), &timer);
  } catch (const Error& error) {
    json line = head_of(spec);
    line["unplanned"] = error.what();
    fmt::print("{}\n", line.dump());
    return 0;
  }
}

void run(const Options& options) {
  const auto begin = Clock::now();
  std::optional<CudnnTarget> described;
  Device device = Device::cpu();
  if (options.described.empty()) {
    device = Device::parse(options.device);
    print_properties(CudnnTarget::of(Stream(device)));
  } else {
    std::ifstream file(options.described);
    described = CudnnTarget::described_by(std::string(std::istreambuf_iterator<char>(file), {}));
    print_properties(*described);
  }
  const std::vector<Conv2dSpec> convolutions = convolutions_of(options.configs);
  std::size_t plans = 0, done = 0;
  for (const Conv2dSpec& conv : convolutions) {
    if (seconds_since(begin) > options.seconds) break;
    for (const ConvGraphSpec& spec : graphs_of(conv)) {
      plans += report_plans(spec, described ? &*described : nullptr, device);
    }
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
