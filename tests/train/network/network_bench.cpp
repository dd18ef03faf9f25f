#include "tests/train/network/network_bench.h"

#include <algorithm>
#include <random>

namespace wellspring::test {
namespace {

Doubles uniform(std::size_t n, std::mt19937& random, double low, double high, DType type) {
  std::uniform_real_distribution<double> law(low, high);
  Doubles values(n);
  for (double& value : values) {
    const auto rounded = static_cast<float>(law(random));
    value = type == DType::bf16 ? static_cast<float>(bf16(rounded)) : rounded;
  }
  return values;
}

}  // namespace

NetworkBench::NetworkBench(Stream& stream, const Tape& tape, std::int64_t batch, DType compute,
                           std::int64_t shards, std::vector<ParameterRule> rules,
                           std::int64_t recompute_blocks)
    : stream_(stream), tape_(tape), memory_(stream.device()) {
  constexpr std::uint64_t kSeed = 7;
  network_ = std::make_unique<Network>(tape,
                                       NetworkSpec{.batch = batch,
                                                   .compute = compute,
                                                   .seed = kSeed,
                                                   .input_gradient = rules.empty(),
                                                   .shards = shards,
                                                   .rules = std::move(rules),
                                                   .recompute_blocks = recompute_blocks},
                                       stream, memory_);
  ParameterArena& arena = network_->parameters();
  arena.plan(memory_, compute, {});
  const SampleLayout& in = tape.layout();
  const auto rows = static_cast<std::size_t>(batch);
  const auto elements = rows * static_cast<std::size_t>(in.elements());
  x_ = memory_.reserve<std::byte>("test", "x", elements * size_of(compute));
  count_ = memory_.reserve<std::int32_t>("test", "count", rows);
  globals_ = memory_.reserve<float>("test", "globals",
                                    rows * static_cast<std::size_t>(std::max(1, in.globals)));
  slots_ = memory_.reserve<Slot>("test", "slots", rows);
  state_ = memory_.reserve<StepState>("test", "state", 1);
  memory_.commit();

  std::mt19937 random(11);
  input_.batch = batch;
  input_.seed = kSeed;
  input_.step = 3;
  input_.x = uniform(elements, random, -1, 1, compute);
  input_.globals = uniform(globals_.size(), random, -1, 1, DType::f32);
  for (std::size_t i = 0; i < rows; ++i) {
    // From an empty set to a full one.
    input_.count.push_back(static_cast<std::int32_t>(i) * in.items /
                           std::max(1, static_cast<int>(batch) - 1));
    input_.slots.push_back(
        {100 + i, 50 + i, static_cast<std::uint32_t>(i % 2), static_cast<std::uint32_t>(i)});
  }
  arena.initialise(stream, kSeed);
  std::vector<float> master = ParameterArena::download(stream, arena.weights());
  for (const ParameterTensor& tensor : arena.tensors()) {
    const bool matrix = tensor.layout != TensorLayout::vector;
    const double spread = matrix ? 1.5 / std::sqrt(static_cast<double>(tensor.fan_in())) : 0;
    const bool positive = tensor.name.ends_with(".weight") || tensor.name.ends_with("_var");
    const Doubles values =
        matrix
            ? uniform(static_cast<std::size_t>(tensor.elements()), random, -spread, spread, compute)
            : uniform(static_cast<std::size_t>(tensor.elements()), random, positive ? 0.5 : -0.5,
                      positive ? 1.5 : 0.5, DType::f32);
    std::transform(values.begin(), values.end(), master.begin() + tensor.offset,
                   [](double value) { return static_cast<float>(value); });
    input_.tensors[tensor.name] = values;
  }
  ParameterArena::upload(stream, master, arena.weights());
  arena.refresh_working(stream);
  direction_ = uniform(rows * static_cast<std::size_t>(tape.outputs()), random, -1, 1, compute);

  write(x_.data(), input_.x, compute);
  write(globals_.data(), input_.globals, DType::f32);
  const StepState state{.step = input_.step};
  const auto upload = [&](void* to, const void* from, std::size_t bytes) {
    stream_.copy(to, from, bytes, CopyDirection::host_to_device, "test");
    stream_.synchronize();
  };
  upload(count_.data(), input_.count.data(), count_.bytes());
  upload(slots_.data(), input_.slots.data(), slots_.bytes());
  upload(state_.data(), &state, sizeof state);
  batch_.size = batch;
  batch_.layout = in;
  batch_.dtype = compute;
  batch_.x = x_.data();
  batch_.count = count_.data();
  batch_.globals = globals_.data();
}

Pass NetworkBench::pass(PassMode mode) const {
  return {stream_, batch_, slots_.data(), state_.data(), mode};
}

Doubles NetworkBench::read(const void* data, std::size_t n, DType type) {
  std::vector<std::byte> bytes(n * size_of(type));
  stream_.copy(bytes.data(), data, bytes.size(), CopyDirection::device_to_host, "test");
  stream_.synchronize();
  Doubles values(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (type == DType::bf16)
      values[i] = static_cast<float>(reinterpret_cast<const bf16*>(bytes.data())[i]);
    else
      values[i] = reinterpret_cast<const float*>(bytes.data())[i];
  }
  return values;
}

void NetworkBench::write(void* data, const Doubles& values, DType type) {
  std::vector<float> floats(values.begin(), values.end());
  std::vector<bf16> halves(floats.begin(), floats.end());
  const void* from = type == DType::bf16 ? static_cast<const void*>(halves.data()) : floats.data();
  stream_.copy(data, from, values.size() * size_of(type), CopyDirection::host_to_device, "test");
  stream_.synchronize();
}

void NetworkBench::set_input(const std::vector<float>& x) {
  input_.x = Doubles(x.begin(), x.end());
  write(x_.data(), input_.x, network_->compute());
}

Doubles NetworkBench::outputs(PassMode mode) {
  network_->forward(pass(mode));
  return read(network_->outputs(), direction_.size(), DType::f32);
}

std::map<std::string, Doubles> NetworkBench::gradients(GradientBuckets* buckets) {
  write(network_->output_gradient(), direction_, network_->compute());
  network_->backward(pass(PassMode::train), buckets);
  if (buckets != nullptr) buckets->join(stream_);
  std::map<std::string, Doubles> result;
  if (network_->input_gradient() != nullptr)
    result["x"] = read(network_->input_gradient(), input_.x.size(), network_->compute());
  const ParameterArena& arena = network_->parameters();
  int index = 0;
  for (const ParameterTensor& tensor : arena.tensors()) {
    const ParameterId id{index++};
    if (!tensor.trained()) continue;
    const DType type = tensor.layout == TensorLayout::vector ? DType::f32 : network_->compute();
    result[tensor.name] =
        read(arena.gradient(id), static_cast<std::size_t>(tensor.elements()), type);
  }
  memory_.check_guards();
  return result;
}

std::map<std::string, Doubles> NetworkBench::tensors() {
  const ParameterArena& arena = network_->parameters();
  const std::vector<float> master = ParameterArena::download(stream_, arena.weights());
  std::map<std::string, Doubles> result;
  for (const ParameterTensor& tensor : arena.tensors())
    result[tensor.name] =
        Doubles(master.begin() + tensor.offset, master.begin() + tensor.offset + tensor.elements());
  return result;
}

std::map<std::string, Doubles> NetworkBench::trained() {
  std::map<std::string, Doubles> all{{"outputs", outputs(PassMode::train)}};
  all.merge(gradients());
  for (auto& [name, values] : tensors()) all["after " + name] = values;
  return all;
}

ReferenceInput NetworkBench::reference(PassMode mode) const {
  ReferenceInput input = input_;
  input.mode = mode;
  return input;
}

}  // namespace wellspring::test
