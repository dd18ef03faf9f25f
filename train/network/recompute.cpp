// The order of a network's work: segments that are recomputed, times, and groups of tasks.
#include "core/error.h"
#include "core/text/plural.h"
#include "train/network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace wellspring {
namespace {

std::size_t to_index(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

/// Makes groups of blocks. The last one is never recomputed: its backward pass begins at once.
void Network::plan_segments(const std::string& model) {
  const std::int64_t blocks = spec_.recompute_blocks;
  std::int64_t group = -1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::int64_t own = blocks > 0 ? nodes_[i].node.block / blocks : 0;
    if (own > group) {
      segments_.push_back({i, i, true});
      group = own;
    }
    segments_.back().end = i + 1;
    segment_of_.push_back(segments_.size() - 1);
  }
  segments_.back().recomputed = false;
  if (blocks > 0 && segments_.size() == 1)
    fail(ErrorKind::config,
         {fmt::format("train.recompute_blocks: {}, but model {} has only {}", blocks, model,
                      counted(to_index(nodes_.back().node.block + 1), "block")),
          "they form a single group, of which nothing is recomputed",
          "use a smaller number, or 0 to turn it off"});
}

/// All of a segment is recomputed before any of it runs backwards.
int Network::recompute_time(std::size_t node) const {
  const Segment& segment = segments_[segment_of_[node]];
  return loss_time() + 1 +
         static_cast<int>(2 * (nodes_.size() - segment.end) + node - segment.first);
}

int Network::backward_time(std::size_t node) const {
  const Segment& segment = segments_[segment_of_[node]];
  return recompute_time(segment.end - 1) + static_cast<int>(segment.end - node);
}

/// Sets the lifetimes of the values that the backward pass reads.
void Network::plan_recomputation() {
  std::vector<std::size_t> last_reader(activation_.size(), 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].recomputed_saved = nodes_[i].saved;
    for (const Tensor& input : nodes_[i].node.inputs) last_reader[to_index(input.value)] = i;
  }
  recomputed_ = activation_;
  for (const Segment& segment : segments_)
    if (segment.recomputed) find_recomputed(segment, last_reader);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const PlannedNode& planned = nodes_[i];
    const int output = recomputed_[to_index(planned.node.output.value)];
    for (std::size_t k = 0; k < planned.node.inputs.size(); ++k) {
      const int input = recomputed_[to_index(planned.node.inputs[k].value)];
      if (planned.recomputed) use(input, recompute_time(i));
      if (planned.keeps_input[k]) use(input, backward_time(i));
    }
    if (planned.recomputed) use(output, recompute_time(i));
    if (planned.keeps_output) use(output, backward_time(i));
    for (const int saved : planned.recomputed_saved) {
      if (planned.recomputed) use(saved, recompute_time(i));
      if (planned.backward) use(saved, backward_time(i));
    }
  }
}

/// Finds the values to recompute: all that the backward pass of the segment reads, except values
/// that a later segment reads too, because these are kept anyway.
void Network::find_recomputed(const Segment& segment, const std::vector<std::size_t>& last_reader) {
  std::vector<bool> needed(activation_.size(), false);
  for (std::size_t i = segment.end; i-- > segment.first;) {
    PlannedNode& planned = nodes_[i];
    const std::size_t output = to_index(planned.node.output.value);
    const bool kept = last_reader[output] >= segment.end;
    const bool saves = planned.backward && !planned.saved.empty() && !planned.keeps_saved;
    planned.recomputed = saves || (!kept && (needed[output] || planned.keeps_output));
    for (std::size_t k = 0; k < planned.node.inputs.size(); ++k)
      if (planned.recomputed || planned.keeps_input[k])
        needed[to_index(planned.node.inputs[k].value)] = true;
    if (!planned.recomputed) continue;
    const auto again = [&](int stored) {
      const StoredTensor& first = stored_[to_index(stored)];
      return store(first.name + ", recomputed", first.bytes, recompute_time(i));
    };
    if (!kept) recomputed_[output] = again(activation_[output]);
    if (!planned.keeps_saved)
      for (int& saved : planned.recomputed_saved) saved = again(saved);
  }
}

void Network::add_task(std::vector<TaskGroup>& groups, Task task, int time) const {
  const std::size_t stage = nodes_[task.node].stage;
  if (groups.empty() || groups.back().stage != stage) groups.push_back({stage, {}, time, time});
  groups.back().tasks.push_back(task);
  groups.back().last = time;
}

void Network::plan_tasks() {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    add_task(forward_, {i, Work::forward}, forward_time(i));
  for (std::size_t k = segments_.size(); k-- > 0;) {
    const Segment& segment = segments_[k];
    for (std::size_t i = segment.first; i < segment.end; ++i)
      if (nodes_[i].recomputed) add_task(backward_, {i, Work::recompute}, recompute_time(i));
    for (std::size_t i = segment.end; i-- > segment.first;)
      if (nodes_[i].backward) add_task(backward_, {i, Work::backward}, backward_time(i));
  }
  // Gradients by shard are added before another stage overwrites them.
  std::vector<bool> added(stages_.size(), false);
  for (TaskGroup& group : std::views::reverse(backward_)) {
    const bool learns = std::ranges::any_of(
        group.tasks, [](const Task& task) { return task.work == Work::backward; });
    group.adds_shards = learns && stages_[group.stage].sharded && !added[group.stage];
    if (group.adds_shards) added[group.stage] = true;
  }
}

}  // namespace wellspring
