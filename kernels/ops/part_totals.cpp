#include "kernels/ops/part_totals.h"

#include "kernels/runtime/launch.h"

#include <algorithm>
#include <span>

namespace wellspring::ops {
namespace {

int teams(const PartTotal& total) {
  return total.samples * channel_units(total.columns);
}

template <int most>
void append(AddParts<most>& all, const PartTotal& total) {
  WS_EXPECT(all.entries < most);
  PartTotal& entry = all.table[all.entries] = total;
  if (all.entries > 0) {
    const PartTotal& last = all.table[all.entries - 1];
    entry.first_team = last.first_team + teams(last);
  }
  ++all.entries;
}

template <int most>
void launch_all(Stream& stream, const AddParts<most>& all) {
  if (all.entries == 0) return;
  TeamShape shape{kWarp, 0};
  const std::span table(all.table, static_cast<std::size_t>(all.entries));
  for (const PartTotal& total : table) {
    const int width = channel_width(total.columns);
    const auto slots = static_cast<std::size_t>(channel_slots(total.count, width));
    shape.size = std::max(shape.size, channel_team(total.count, width));
    shape.scratch_bytes = std::max(shape.scratch_bytes, slots * sizeof(float));
  }
  league(stream, "part_totals", table.back().first_team + teams(table.back()), shape, all);
}

}  // namespace

void PartTotals::add(Stream& stream, const PartTotal& total) {
  if (all_.entries == kMost) launch(stream);
  append(all_, total);
}

void PartTotals::launch(Stream& stream) {
  launch_all(stream, all_);
  all_.entries = 0;
}

void sum_parts(Stream& stream, PartTotals* later, std::initializer_list<PartTotal> totals) {
  AddParts<kTotals> now;
  for (const PartTotal& total : totals) {
    if (later != nullptr)
      later->add(stream, total);
    else
      append(now, total);
  }
  launch_all(stream, now);
}

}  // namespace wellspring::ops
