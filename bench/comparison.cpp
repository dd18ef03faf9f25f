#include "bench/comparison.h"

#include "core/error.h"
#include "core/text/text.h"
#include "measure/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace wellspring::bench {
namespace {

using nlohmann::json;

constexpr std::array kChanges = {"", "faster", "SLOWER", "too few repeats for an interval"};

const char* word(Change change) {
  return kChanges.at(static_cast<std::size_t>(change));
}

struct ReadRow {
  std::string name, unit;
  double rate = 0;
  double low = 0, high = 0;  ///< both 0: no interval
};

struct ReadReport {
  std::string machine, device;
  std::vector<ReadRow> rows;
};

ReadReport read_report(const std::string& text, const std::string& file) {
  try {
    const json report = json::parse(text);
    const json& machine = report.at("machine");
    ReadReport result{fmt::format("{}, {} threads", machine.at("processor").get<std::string>(),
                                  machine.at("threads").get<int>()),
                      report.at("device_name").get<std::string>(),
                      {}};
    for (const json& row : report.at("rows")) {
      ReadRow read{row.at("name"), row.at("unit"), row.at("rate")};
      if (const json& interval = row.at("interval"); !interval.is_null()) {
        read.low = interval.at(0);
        read.high = interval.at(1);
      }
      if (!(read.rate > 0) || !std::isfinite(read.rate) || read.low < 0 || read.high < read.low)
        fail(ErrorKind::data, {fmt::format("{}: the rate of '{}' is not above 0", file, read.name),
                               "", "write the file again with wellspring bench --json"});
      result.rows.push_back(std::move(read));
    }
    return result;
  } catch (const json::exception& error) {
    fail(ErrorKind::data, {file + " is not a result of wellspring bench", error.what(),
                           "write it with wellspring bench generators --json FILE"});
  }
}

const ReadRow* find(const std::vector<ReadRow>& rows, const ReadRow& like) {
  const auto found = std::ranges::find_if(
      rows, [&](const ReadRow& row) { return row.name == like.name && row.unit == like.unit; });
  return found == rows.end() ? nullptr : &*found;
}

ComparedRow compared(const ReadRow& before, const ReadRow& after, double threshold) {
  ComparedRow row{before.name, before.unit, before.rate, after.rate, after.rate / before.rate};
  if (before.low <= 0 || after.low <= 0) return row;
  row.low = after.low / before.high;
  row.high = after.high / before.low;
  row.change = Change::none;
  if (row.low > 1 && row.ratio > 1 + threshold) row.change = Change::faster;
  if (row.high < 1 && row.ratio < 1 - threshold) row.change = Change::slower;
  return row;
}

}  // namespace

bool Comparison::slower() const {
  return std::ranges::any_of(rows,
                             [](const ComparedRow& row) { return row.change == Change::slower; });
}

Comparison compare_reports(const std::string& before, const std::string& name_before,
                           const std::string& after, const std::string& name_after,
                           double threshold) {
  const ReadReport first = read_report(before, name_before);
  const ReadReport second = read_report(after, name_after);
  Comparison result;
  for (const ReadRow& row : first.rows) {
    if (const ReadRow* const other = find(second.rows, row))
      result.rows.push_back(compared(row, *other, threshold));
    else
      result.only_before.push_back(row.name);
  }
  for (const ReadRow& row : second.rows)
    if (find(first.rows, row) == nullptr) result.only_after.push_back(row.name);
  if (result.rows.empty())
    fail(ErrorKind::data, {fmt::format("{} and {} have no row in common", name_before, name_after),
                           "rows are compared if their names and units are equal",
                           "measure both with the same arguments of wellspring bench"});
  const auto note = [&](const std::string& of_first, const std::string& of_second) {
    if (of_first != of_second)
      result.notes.push_back(
          fmt::format("{}: {}; {}: {}", name_before, of_first, name_after, of_second));
  };
  note(first.machine, second.machine);
  note(first.device, second.device);
  return result;
}

std::string to_text(const Comparison& comparison) {
  std::vector<std::vector<std::string>> cells = {
      {"row", "before", "after", "unit", "ratio", "95 %", ""}};
  for (const ComparedRow& row : comparison.rows)
    cells.push_back({row.name, human_count(row.before), human_count(row.after), row.unit,
                     fmt::format("{:.3f}", row.ratio),
                     row.high > 0 ? fmt::format("{:.3f} to {:.3f}", row.low, row.high) : "-",
                     word(row.change)});
  return table_text(cells);
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  constexpr std::array kWords = {"none", "faster", "slower", "unknown"};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ComparedRow& row : comparison.rows) {
    rows.push_back({{"name", row.name},
                    {"unit", row.unit},
                    {"before", row.before},
                    {"after", row.after},
                    {"ratio", row.ratio},
                    {"interval", nullptr},
                    {"change", kWords.at(static_cast<std::size_t>(row.change))}});
    if (row.high > 0) rows.back()["interval"] = {row.low, row.high};
  }
  return {{"rows", rows},
          {"only_before", comparison.only_before},
          {"only_after", comparison.only_after},
          {"notes", comparison.notes}};
}

}  // namespace wellspring::bench
