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
std::int64_t teams_of(const AddParts<most>& all) {
  if (all.entries == 0) return 0;
  const PartTotal& last = all.table[all.entries - 1];
  return last.first_team + teams(last);
}

template <int most>
TeamShape shape_of(const AddParts<most>& all) {
  TeamShape shape{kWarp, 0};
  for (const PartTotal& total : std::span(all.table, static_cast<std::size_t>(all.entries))) {
    const int width = channel_width(total.columns);
    const auto slots = static_cast<std::size_t>(channel_slots(total.count, width));
    shape.size = std::max(shape.size, channel_team(total.count, width));
    shape.scratch_bytes = std::max(shape.scratch_bytes, slots * sizeof(float));
  }
  return shape;
}

template <int most>
void launch_all(Stream& stream, const AddParts<most>& all) {
  if (all.entries == 0) return;
  league(stream, "part_totals", teams_of(all), shape_of(all), all);
}

}  // namespace

void PartTotals::add(Stream& stream, const PartTotal& total) {
  if (all_.entries == kMost) launch(stream);
  append(all_, total);
}

void PartTotals::launch(Stream& stream) {
  launch_all(stream, all_);
  clear();
}

TeamShape PartTotals::shape() const {
  return shape_of(all_);
}

std::int64_t PartTotals::teams() const {
  return teams_of(all_);
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
