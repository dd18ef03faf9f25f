#include "tests/cuda_stand_in/streams.h"

#include <algorithm>
#include <utility>

namespace wellspring::stand_in {
namespace {

bool blocked(cudaStream_t stream) {
  const Item& next = stream->queue.front();
  return next.after && !next.after->reached;
}

}  // namespace

std::vector<std::size_t> topological_order(const CUgraph_st& graph, std::mt19937* random) {
  std::vector<std::size_t> order;
  std::vector<bool> done(graph.nodes.size(), false);
  while (order.size() < graph.nodes.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (!done[i] && std::ranges::all_of(graph.nodes[i]->after,
                                          [&](std::size_t before) { return done[before]; }))
        ready.push_back(i);
    order.push_back(random == nullptr ? ready.back() : ready[(*random)() % ready.size()]);
    done[order.back()] = true;
  }
  return order;
}

cudaStream_t Streams::create() {
  return streams_.emplace_back(std::make_unique<CUstream_st>()).get();
}

void Streams::destroy(cudaStream_t stream) {
  stream->destroyed = true;
  std::erase_if(streams_, [](const auto& s) { return s->destroyed && s->queue.empty(); });
}

void Streams::enqueue(cudaStream_t stream, Item item) {
  stream->queue.push_back(std::move(item));
  let_time_pass();
}

std::shared_ptr<Moment> Streams::record(cudaStream_t stream) {
  auto moment = std::make_shared<Moment>();
  moment->stream = stream;
  enqueue(stream, {nullptr, [moment] {
                     moment->reached = true;
                     moment->when = Clock::now();
                   }});
  return moment;
}

std::vector<cudaStream_t> Streams::runnable() const {
  std::vector<cudaStream_t> found;
  for (const auto& stream : streams_) {
    if (!stream->queue.empty() && !blocked(stream.get())) found.push_back(stream.get());
  }
  return found;
}

void Streams::let_time_pass() {
  if (seed_ == 0 || random_() % 4 != 0) return;
  const DeviceMemory::Access access(memory_);
  for (auto count = random_() % 6; count > 0; --count) {
    const std::vector<cudaStream_t> choice = runnable();
    if (choice.empty()) return;
    run_one(choice[random_() % choice.size()]);
  }
}

// A wait names a record that was enqueued earlier, so the chain below ends. If anything is queued,
// something can run: streams and events cannot deadlock, just as on a GPU.
cudaStream_t Streams::next_for(cudaStream_t wanted) {
  if (seed_ != 0) {
    const std::vector<cudaStream_t> choice = runnable();
    return choice[random_() % choice.size()];
  }
  while (blocked(wanted)) wanted = wanted->queue.front().after->stream;
  return wanted;
}

void Streams::run_one(cudaStream_t stream) {
  const Item item = std::move(stream->queue.front());
  stream->queue.pop_front();
  if (item.work) item.work();
}

void Streams::finish(cudaStream_t stream) {
  const DeviceMemory::Access access(memory_);
  while (!stream->queue.empty()) run_one(next_for(stream));
}

void Streams::reach(const Moment& moment) {
  const DeviceMemory::Access access(memory_);
  while (!moment.reached) run_one(next_for(moment.stream));
}

void Streams::finish_all() {
  for (const auto& stream : streams_) finish(stream.get());
  std::erase_if(streams_, [](const auto& s) { return s->destroyed; });
}

}  // namespace wellspring::stand_in
