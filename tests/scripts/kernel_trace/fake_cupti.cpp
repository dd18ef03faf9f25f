// Imitates CUPTI for the tests of bench/gpu/kernel_trace.cpp and of `--trace` on the stand-in: three
// replays of a graph with a kernel, a fill and a kernel, delivered at the flush. FAKE_CUPTI=refuse simulates a CUPTI
// that cannot trace; drop, one that loses a record; clock, one whose replays begin at 1/4, 1/2 and 3/4 of the
// recording, according to the program's clock.
#include <cstdlib>
#include <cstring>
#include <cupti_activity.h>
#include <string_view>
#include <variant>
#include <vector>

namespace {

using Record = std::variant<CUpti_ActivityKernel10, CUpti_ActivityMemset4>;

CUpti_BuffersCallbackRequestFunc give_buffer = nullptr;
CUpti_BuffersCallbackCompleteFunc take_buffer = nullptr;
CUpti_TimestampCallbackFunc now = nullptr;
std::uint64_t beginning = 0;
std::vector<Record> records;
std::size_t next = 0;

bool told_to(std::string_view what) {
  const char* text = std::getenv("FAKE_CUPTI");
  return text != nullptr && text == what;
}

template <class T>
T record(CUpti_ActivityKind kind, std::uint64_t start, std::uint64_t nanoseconds,
         std::uint32_t replay, std::uint64_t node) {
  T made;
  std::memset(&made, 0, sizeof made);
  made.kind = kind;
  made.start = start;
  made.end = start + nanoseconds;
  made.streamId = 7;
  made.correlationId = 100 + replay;
  made.graphId = 2;
  made.graphNodeId = node;
  return made;
}

void make_records() {
  for (std::uint32_t replay = 0; replay < 3; ++replay) {
    const std::uint64_t begin = told_to("clock")
                                    ? beginning + (replay + 1) * (now() - beginning) / 4
                                    : 1000000 + 20000 * std::uint64_t{replay};
    auto first = record<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, begin, 3000,
                                                replay, 11);
    first.name = "_ZN3one5firstEv";
    first.gridX = 5;
    auto fill =
        record<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, begin + 4000, 1000, replay, 12);
    fill.bytes = 64;
    auto last = record<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, begin + 7000,
                                               5000, replay, 13);
    last.name = "no \"mangled\" name\xff";
    records.insert(records.end(), {first, fill, last});
  }
}

}  // namespace

extern "C" {
CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  now = clock;
  beginning = now();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind) {
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult, const char** text) {
  *text = "a planted refusal";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give,
                                                    CUpti_BuffersCallbackCompleteFunc take) {
  give_buffer = give;
  take_buffer = take;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind) {
  return told_to("refuse") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(std::uint32_t) {
  make_records();
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0;
  give_buffer(&buffer, &size, &most);
  take_buffer(nullptr, 0, buffer, size, records.size());
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, CUpti_Activity** out) {
  if (next == records.size()) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::visit([&](auto& made) { *out = reinterpret_cast<CUpti_Activity*>(&made); }, records[next++]);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t,
                                                       std::size_t* dropped) {
  *dropped = told_to("drop") ? 1 : 0;
  return CUPTI_SUCCESS;
}
}
