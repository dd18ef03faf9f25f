#include "train/network/network.h"

#include "core/expect.h"
#include "kernels/ops/part_totals.h"
#include "train/network/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace wellspring {
namespace {

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

std::string label_of(const Node& node) {
  return node.name.empty() ? fmt::format("value {}", node.output.value) : node.name;
}

/// Rounds up to a cache line of 64 bytes.
std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// `shared`, if it is large enough; otherwise a new block.
Planned<std::byte> reserve_or_share(MemoryPlan& memory, const Planned<std::byte>* shared,
                                    const char* group, std::string name, std::size_t bytes) {
  if (shared != nullptr && shared->bytes() >= bytes) return *shared;
  return memory.reserve<std::byte>(group, std::move(name), bytes);
}

bool is_output(const Node& node) {
  const auto* dense = std::get_if<Dense>(&node.operation);
  return std::holds_alternative<JoinOutputs>(node.operation) ||
         std::holds_alternative<AsOutput>(node.operation) ||
         (dense != nullptr && !dense->output.empty());
}

}  // namespace

Network::Network(const Tape& tape, const NetworkSpec& spec, const Stream& stream,
                 MemoryPlan& memory, const Network* whole)
    : spec_(spec),
      arena_(whole != nullptr ? whole->arena_ : std::make_shared<ParameterArena>(spec.rules)) {
  const auto values = index(tape.values());
  activation_.assign(values, kNone);
  gradient_.assign(values, kNone);
  needs_gradient_.assign(values, false);
  needs_gradient_[0] = spec.input_gradient;
  if (stream.device().is_cpu() && spec.shards != NetworkSpec::kWholeBatch) runner_.emplace();
  const std::vector<Node> nodes =
      fuse(tape.nodes(), runner_ ? PoolWith::convolution : PoolWith::norm);
  shards_ = !runner_           ? make_shards(spec.batch, 1)
            : spec.shards == 0 ? make_shards(nodes, spec.batch)
                               : make_shards(spec.batch, spec.shards);
  threads_ = std::min(shards_.size(), static_cast<std::size_t>(stream.threads()));
  for (const Node& node : nodes) nodes_.emplace_back().node = node;
  output_ = nodes_.back().node.output.value;
  plan_stages();
  plan_segments(tape.model());
  plan_forward(stream, whole != nullptr);
  expect_rules_fit(spec.rules, arena_->tensors());
  plan_recomputation();
  plan_backward();
  if (spec.loss_in_output_layer && !runner_) plan_output_layer();
  plan_tasks();
  reserve(memory, whole);
}

// ---------------------------------------------------------------------------------------------
// Planning. Times are numbered: node i runs forwards at time i, then the loss follows, and node i
// runs backwards at backward_time(i). Within a stage, shards are not synchronised. The rest is in
// recompute.cpp.

bool Network::goes_in_shards(const Node& node) const {
  if (!runner_ || !is_row_wise(node.operation)) return false;
  const auto* convolution = std::get_if<Convolution>(&node.operation);
  return convolution == nullptr || convolution->pool ||
         !ops::Conv2d::better_shared(conv2d_spec(node, spec_.batch, spec_.compute),
                                     static_cast<std::int64_t>(shards_.size()));
}

void Network::plan_stages() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool sharded = goes_in_shards(nodes_[i].node);
    if (stages_.empty() || stages_.back().sharded != sharded) stages_.push_back({i, i, sharded});
    stages_.back().end = i + 1;
    nodes_[i].stage = stages_.size() - 1;
  }
}

Network::Window Network::window(int time) const {
  for (const auto* groups : {&forward_, &backward_})
    for (const TaskGroup& group : *groups)
      if (stages_[group.stage].sharded && group.first <= time && time <= group.last)
        return {group.first, group.last, true};
  return {time, time};
}

std::vector<std::size_t> Network::bytes_of(const TensorShape& shape, DType type) const {
  std::vector<std::size_t> bytes;
  for (const Rows& rows : shards_)
    bytes.push_back(static_cast<std::size_t>(rows.count * shape.elements()) * size_of(type));
  return bytes;
}

int Network::store(std::string name, std::vector<std::size_t> bytes, int time) {
  const std::size_t sum = std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
  stored_.push_back({std::move(name), std::move(bytes), {sum, time, time}});
  return static_cast<int>(stored_.size()) - 1;
}

void Network::use(int stored, int time) {
  if (stored == kNone) return;
  Lifetime& life = stored_[index(stored)].life;
  life.first = std::min(life.first, time);
  life.last = std::max(life.last, time);
}

void Network::plan_forward(const Stream& stream, bool again) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    PlannedNode& planned = nodes_[i];
    std::vector<bool> wanted;
    for (const Tensor& input : planned.node.inputs)
      wanted.push_back(needs_gradient_[index(input.value)]);
    const DType type = is_output(planned.node) ? DType::f32 : spec_.compute;
    activation_[index(planned.node.output.value)] =
        store(label_of(planned.node), bytes_of(planned.node.output.shape, type), forward_time(i));
    plan_layers(i, stream, wanted, again);
    needs_gradient_[index(planned.node.output.value)] = planned.backward;
  }
  use(activation_[index(output_)], end_time());
}

void Network::plan_layers(std::size_t i, const Stream& stream, const std::vector<bool>& wanted,
                          bool again) {
  PlannedNode& planned = nodes_[i];
  const bool sharded = stage_of(planned).sharded;
  const int now = forward_time(i);
  std::vector<std::vector<std::size_t>> saved;  // by tensor, then by shard
  for (std::size_t s = 0; s < (sharded ? shards_.size() : 1); ++s) {
    LayerPlanner planner(planned.node, *arena_, sharded ? runner_->stream() : stream,
                         sharded ? shards_[s].count : spec_.batch, spec_.compute, spec_.seed,
                         wanted, spec_.step, again || s > 0, spec_.ranks);
    planned.layers.push_back(make_layer(planner));
    std::size_t& workspace = sharded ? shard_workspace_bytes_ : workspace_bytes_;
    workspace = std::max(workspace, aligned(planner.workspace_bytes()));
    saved.resize(planner.saved().size());
    for (std::size_t k = 0; k < saved.size(); ++k) saved[k].push_back(aligned(planner.saved()[k]));
    if (s > 0) continue;
    // The rest is the same for every shard.
    planned.parameters = planner.parameters();
    planned.learns = planner.learns();
    planned.workspace_bytes = planner.workspace_bytes();
    planned.sums_parts = planner.sums_parts();
    planned.adds_gradients = planner.adds_gradients();
    planned.backward =
        planned.learns || std::find(wanted.begin(), wanted.end(), true) != wanted.end();
    for (std::size_t k = 0; k < planned.node.inputs.size(); ++k) {
      use(activation_[index(planned.node.inputs[k].value)], now);
      planned.keeps_input.push_back(planned.backward && planner.keeps_input(k));
    }
    planned.keeps_output = planned.backward && planner.keeps_output();
    planned.keeps_saved = planner.keeps_saved();
  }
  for (std::vector<std::size_t>& bytes : saved)
    planned.saved.push_back(store(label_of(planned.node) + " for backward", std::move(bytes), now));
}

void Network::plan_backward() {
  gradient_[index(output_)] =
      store("gradient of the outputs", bytes_of(nodes_.back().node.output.shape, spec_.compute),
            loss_time());
  std::vector<bool> parameter_written(arena_->tensors().size(), false);
  gradient_nodes_.assign(arena_->tensors().size(), GradientBuckets::kUntrained);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    PlannedNode& planned = nodes_[i];
    if (!planned.backward) continue;
    const int now = backward_time(i);
    const std::string name = label_of(planned.node);
    const int arriving = gradient_[index(planned.node.output.value)];
    if (arriving == kNone) throw std::logic_error(name + ": no gradient arrives");
    use(arriving, now);
    plan_second_gradient(i);
    for (const Tensor& input : planned.node.inputs) {
      Target target;
      if (needs_gradient_[index(input.value)]) {
        int& gradient = gradient_[index(input.value)];
        target.written =
            store("gradient before " + name, bytes_of(input.shape, spec_.compute), now);
        // The backward pass reaches the last reader first. That reader writes the gradient; the
        // others add to it.
        if (gradient == kNone) {
          gradient = target.written;
        } else {
          target.added_to = gradient;
          use(gradient, now);
        }
      }
      planned.input_gradients.push_back(target);
    }
    plan_parameter_gradients(i, parameter_written);
    plan_totals(i);
  }
  if (spec_.input_gradient) use(gradient_[0], end_time());
}

/// If the node can add a second output gradient, the first reader of its output leaves its part of
/// the gradient to the node. That reader's backward pass comes last.
void Network::plan_second_gradient(std::size_t i) {
  PlannedNode& planned = nodes_[i];
  if (!planned.adds_gradients) return;
  Target* last = nullptr;
  for (std::size_t reader = nodes_.size(); reader-- > i + 1;) {
    PlannedNode& later = nodes_[reader];
    for (std::size_t k = 0; k < later.input_gradients.size(); ++k)
      if (later.node.inputs[k].value == planned.node.output.value &&
          later.input_gradients[k].added_to != kNone)
        last = &later.input_gradients[k];
  }
  if (last == nullptr) return;
  last->added_to = kNone;
  planned.gradient_again = last->written;
  use(last->written, backward_time(i));
}

void Network::plan_parameter_gradients(std::size_t i, std::vector<bool>& written) {
  PlannedNode& planned = nodes_[i];
  Stage& stage = stages_[planned.stage];
  for (const ParameterId id : planned.parameters) {
    Target target;
    std::size_t begin = 0;
    const ParameterTensor& tensor = arena_->tensor(id);
    if (planned.learns && tensor.kind == TensorKind::parameter) {
      const DType type = tensor.layout == TensorLayout::vector ? DType::f32 : spec_.compute;
      const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * size_of(type);
      const bool first = !written[index(id.index)];
      written[index(id.index)] = true;
      if (trains(tensor)) gradient_nodes_[index(id.index)] = i;
      if (stage.sharded) {
        begin = stage.gradient_bytes;
        stage.gradient_bytes += aligned(bytes);
        if (trains(tensor)) add_to_sum(stage, id, begin, first);
      } else if (!first || !trains(tensor)) {
        target.written = store(
            fmt::format("gradient of {}{}", tensor.name, trains(tensor) ? " again" : ", unused"),
            {bytes}, backward_time(i));
      }
    }
    planned.parameter_gradients.push_back(target);
    planned.shard_gradients.push_back(begin);
  }
}

/// Totals are launched together at the end of the pass, unless their gradient is used earlier. The
/// last node to run needs no workspace of its own, because no later one overwrites the shared one.
void Network::plan_totals(std::size_t i) {
  PlannedNode& planned = nodes_[i];
  planned.sums_later =
      planned.sums_parts && !stage_of(planned).sharded &&
      std::all_of(planned.parameter_gradients.begin(), planned.parameter_gradients.end(),
                  [](const Target& target) { return target.written == kNone; });
  const bool last = std::none_of(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(i),
                                 [](const PlannedNode& earlier) { return earlier.backward; });
  if (!planned.sums_later || last) return;
  planned.own_workspace = store("partial sums of " + label_of(planned.node),
                                {aligned(planned.workspace_bytes)}, backward_time(i));
  use(planned.own_workspace, end_time());
}

/// Adds each shard's part, at `begin` of its gradients, to the sum of a parameter.
void Network::add_to_sum(Stage& stage, ParameterId id, std::size_t begin, bool first) {
  const auto same = std::find_if(stage.sums.begin(), stage.sums.end(), [id](const ShardSum& sum) {
    return sum.parameter.index == id.index;
  });
  if (same == stage.sums.end())
    stage.sums.push_back({id, {begin}, !first});
  else
    same->begins.push_back(begin);
}

void Network::reserve(MemoryPlan& memory, const Network* whole) {
  for (StoredTensor& stored : stored_) {
    const Window begin = window(stored.life.first), end = window(stored.life.last);
    stored.per_thread = begin.sharded && begin == end;
    if (stored.per_thread) {
      stored.life.bytes = aligned(*std::max_element(stored.bytes.begin(), stored.bytes.end()));
    } else {
      stored.life.first = begin.first;
      stored.life.last = end.last;
    }
  }
  reserve_blocks(memory, false, whole);
  reserve_blocks(memory, true, whole);
  const std::size_t workspace = std::max(workspace_bytes_, threads_ * shard_workspace_bytes_);
  if (workspace > 0)
    workspace_ = reserve_or_share(memory, whole != nullptr ? &whole->workspace_ : nullptr,
                                  "workspace", "of one operation", workspace);
  std::size_t gradients = 0;
  for (const Stage& stage : stages_) gradients = std::max(gradients, stage.gradient_bytes);
  if (gradients > 0)
    shard_gradients_ =
        reserve_or_share(memory, whole != nullptr ? &whole->shard_gradients_ : nullptr, "workspace",
                         "gradients by shard", shards_.size() * gradients);
}

void Network::reserve_blocks(MemoryPlan& memory, bool per_thread, const Network* whole) {
  std::vector<Lifetime> lives;
  for (const StoredTensor& stored : stored_)
    if (stored.per_thread == per_thread) lives.push_back(stored.life);
  if (lives.empty()) return;
  const BlockAssignment assignment = assign_blocks(lives);
  const auto of_network = per_thread ? &Network::thread_blocks_ : &Network::blocks_;
  for (std::size_t block = 0; block < assignment.block_bytes.size(); ++block) {
    const std::size_t parts = per_thread ? threads_ : 1;
    const bool shared = whole != nullptr && block < (whole->*of_network).size();
    (this->*of_network)
        .push_back(
            reserve_or_share(memory, shared ? &(whole->*of_network)[block] : nullptr, "activations",
                             fmt::format("{} {}", per_thread ? "block of threads" : "block", block),
                             parts * assignment.block_bytes[block]));
  }
  std::size_t next = 0;
  for (StoredTensor& stored : stored_)
    if (stored.per_thread == per_thread) stored.block = assignment.block_of[next++];
}

// ---------------------------------------------------------------------------------------------
// Running

void* Network::data(int stored, Place place) const {
  if (stored == kNone) return nullptr;
  const StoredTensor& tensor = stored_[index(stored)];
  if (tensor.per_thread) {
    const Planned<std::byte>& block = thread_blocks_[tensor.block];
    return block.data() + place.thread * (block.bytes() / threads_);
  }
  std::byte* begin = blocks_[tensor.block].data();
  if (whole(place)) return begin;
  return std::accumulate(tensor.bytes.begin(),
                         tensor.bytes.begin() + static_cast<std::ptrdiff_t>(place.shard), begin);
}

void* Network::shard_gradient(const Stage& stage, std::size_t shard, std::size_t begin) const {
  return shard_gradients_.data() + shard * stage.gradient_bytes + begin;
}

LayerRun Network::run_of(const PlannedNode& planned, Work work, Place place,
                         const Pass& pass) const {
  const std::vector<int>& values = work == Work::forward ? activation_ : recomputed_;
  LayerRun run{pass, *arena_, planned.parameters, {}, nullptr, {}, {}, nullptr, nullptr, {}, {}};
  for (const Tensor& input : planned.node.inputs)
    run.input.push_back(input.value == 0 ? pass.batch.x : data(values[index(input.value)], place));
  run.output = data(values[index(planned.node.output.value)], place);
  for (const int saved : work == Work::forward ? planned.saved : planned.recomputed_saved)
    run.saved.push_back(data(saved, place));
  run.workspace = whole(place)
                      ? ops::Workspace{workspace_.data(), workspace_.bytes()}
                      : ops::Workspace{workspace_.data() + place.thread * shard_workspace_bytes_,
                                       shard_workspace_bytes_};
  return run;
}

void Network::in_shards(const char* name, const Pass& pass,
                        const std::function<void(Place, const Pass&)>& body) {
  runner_->enqueue(pass.stream, name, {shards_.size(), threads_}, [&](Place place, Stream& alone) {
    const Rows rows = shards_[place.shard];
    const BatchView batch = rows_of(pass.batch, rows);
    const Slot* slots = pass.slots == nullptr ? nullptr : pass.slots + rows.first;
    body(place, {alone, batch, slots, pass.state, pass.mode});
  });
}

void Network::forward(const Pass& pass) {
  ops::PartTotals none;
  run(forward_, "forward in shards", pass, none, nullptr);
}

void Network::backward(const Pass& pass, GradientBuckets* buckets, ops::PartTotals* waiting) {
  WS_EXPECT(buckets == nullptr || waiting == nullptr);
  ops::PartTotals own;
  ops::PartTotals& later = waiting != nullptr ? *waiting : own;
  if (buckets != nullptr) buckets->begin(gradient_nodes_);
  run(backward_, "backward in shards", pass, later, buckets);
  own.launch(pass.stream);
  if (buckets != nullptr) buckets->reduce(pass.stream, later, 0);
}

void Network::run(const std::vector<TaskGroup>& groups, const char* name, const Pass& pass,
                  ops::PartTotals& later, GradientBuckets* buckets) {
  for (const TaskGroup& group : groups) {
    const Stage& stage = stages_[group.stage];
    const auto tasks = [&](Place place, const Pass& part) {
      for (const Task& task : group.tasks) {
        run(task, place, part, later);
        if (buckets != nullptr && whole(place) && task.work == Work::backward)
          buckets->reduce(part.stream, later, task.node);
      }
    };
    if (stage.sharded)
      in_shards(name, pass, tasks);
    else
      tasks(kWhole, pass);
    if (!group.adds_shards) continue;
    add_shards(stage, pass);
    if (buckets != nullptr) buckets->reduce(pass.stream, later, stage.first);
  }
}

void Network::run(const Task& task, Place place, const Pass& pass, ops::PartTotals& later) const {
  const PlannedNode& planned = nodes_[task.node];
  if (task.work == Work::backward) {
    backward(planned, place, pass, later);
    return;
  }
  if (is_left_out(planned, pass)) return;
  Layer& layer = *planned.layers[whole(place) ? 0 : place.shard];
  const LayerRun memory = run_of(planned, task.work, place, pass);
  if (task.work == Work::forward)
    layer.forward(memory);
  else
    layer.recompute(memory);
}

void Network::backward(const PlannedNode& planned, Place place, const Pass& pass,
                       ops::PartTotals& later) const {
  if (is_left_out(planned, pass)) return sum_output_layer(pass, later);
  LayerRun run = run_of(planned, Work::backward, place, pass);
  run.output_gradient = data(gradient_[index(planned.node.output.value)], place);
  if (planned.gradient_again != kNone)
    run.output_gradient_again = data(planned.gradient_again, place);
  for (const Target& target : planned.input_gradients)
    run.input_gradient.push_back(data(target.written, place));
  for (std::size_t k = 0; k < planned.parameters.size(); ++k) {
    const int again = planned.parameter_gradients[k].written;
    void* gradient = nullptr;
    if (planned.learns)
      gradient = again != kNone ? data(again, place)
                 : whole(place)
                     ? arena_->gradient(planned.parameters[k])
                     : shard_gradient(stage_of(planned), place.shard, planned.shard_gradients[k]);
    run.parameter_gradient.push_back(gradient);
  }
  if (planned.own_workspace != kNone)
    run.workspace = {data(planned.own_workspace, place), planned.workspace_bytes};
  if (planned.sums_later) run.workspace.totals = &later;
  planned.layers[whole(place) ? 0 : place.shard]->backward(run);
  accumulate(planned, place, pass);
}

void Network::accumulate(const PlannedNode& planned, Place place, const Pass& pass) const {
  for (std::size_t k = 0; k < planned.input_gradients.size(); ++k) {
    const Target& target = planned.input_gradients[k];
    if (target.added_to == kNone) continue;
    void* sum = data(target.added_to, place);
    ops::add(pass.stream, spec_.compute, rows(place) * planned.node.inputs[k].shape.elements(),
             data(target.written, place), sum, sum);
  }
  for (std::size_t k = 0; k < planned.parameters.size(); ++k) {
    const int again = planned.parameter_gradients[k].written;
    const ParameterTensor& tensor = arena_->tensor(planned.parameters[k]);
    if (again == kNone || !trains(tensor)) continue;
    void* sum = arena_->gradient(planned.parameters[k]);
    ops::add(pass.stream, tensor.layout == TensorLayout::vector ? DType::f32 : spec_.compute,
             tensor.elements(), data(again, place), sum, sum);
  }
}

void Network::add_shards(const Stage& stage, const Pass& pass) const {
  std::vector<PartialSums> sums;
  for (const ShardSum& of : stage.sums) {
    PartialSums& sum = sums.emplace_back();
    const ParameterTensor& tensor = arena_->tensor(of.parameter);
    sum.out = arena_->gradient(of.parameter);
    sum.n = tensor.elements();
    sum.type = tensor.layout == TensorLayout::vector ? DType::f32 : spec_.compute;
    sum.kept = of.kept;
    for (const std::size_t begin : of.begins)
      for (std::size_t s = 0; s < shards_.size(); ++s)
        sum.parts.push_back(shard_gradient(stage, s, begin));
  }
  if (!sums.empty()) add_partial_sums(pass.stream, "gradients of all shards", std::move(sums));
}

}  // namespace wellspring
