#include "export/layouts/trackml.h"

#include "core/error.h"
#include "core/io/atomic_folder.h"
#include "core/signals.h"
#include "core/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace wellspring {
namespace {

struct Column {
  const char *name, *unit;
};
using Table = std::vector<Column>;

const Table& hit_columns() {
  static const Table table = {
      {"x", "mm"}, {"y", "mm"}, {"z", "mm"}, {"volume_id", ""}, {"layer_id", ""}};
  return table;
}
const Table& truth_columns() {
  static const Table table = {{"particle_id", ""}, {"tx", "mm"},   {"ty", "mm"},   {"tz", "mm"},
                              {"tpx", "GeV"},      {"tpy", "GeV"}, {"tpz", "GeV"}, {"weight", ""}};
  return table;
}
const Table& particle_columns() {
  static const Table table = {{"particle_id", ""}, {"vx", "mm"},  {"vy", "mm"},  {"vz", "mm"},
                              {"px", "GeV"},       {"py", "GeV"}, {"pz", "GeV"}, {"q", ""}};
  return table;
}

std::string header(const std::string& first, const Table& table, const std::string& last) {
  std::string line = first;
  for (const Column& column : table) line += (line.empty() ? "" : ",") + std::string(column.name);
  return line + last + "\n";
}

/// Positions of a table's columns in an item.
using Places = std::vector<std::size_t>;

Places places_of(const Table& table, const std::vector<ValueInfo>& features) {
  Places places;
  for (const Column& column : table) {
    const auto found = std::find_if(features.begin(), features.end(), [&](const ValueInfo& info) {
      return info.name == column.name;
    });
    if (found == features.end() || found->unit != column.unit) {
      fail(ErrorKind::config,
           {found == features.end()
                ? fmt::format("cannot export to TrackML: these samples have no '{}'", column.name)
                : fmt::format("cannot export to TrackML: '{}' is in {}", column.name, found->unit),
            "TrackML hits have measured and true positions in mm",
            "use generator tracks with columns=truth unit=1, or a name that ends in .npz"});
    }
    places.push_back(static_cast<std::size_t>(found - features.begin()));
  }
  return places;
}

/// Writes the tables of an event.
class EventTables {
 public:
  explicit EventTables(const std::vector<ValueInfo>& features)
      : width_(features.size()),
        hit_(places_of(hit_columns(), features)),
        truth_(places_of(truth_columns(), features)),
        particle_(places_of(particle_columns(), features)) {}

  /// `items`: [count, width] hits.
  void write(AtomicFolder& folder, std::uint64_t event, const float* items, std::size_t count) {
    const std::vector<std::size_t> order = ordered(items, count);
    const std::string name = fmt::format("event{:09}", event);
    std::string hits = header("hit_id", hit_columns(), ",module_id");
    std::string truth = header("hit_id", truth_columns(), "");
    struct Particle {
      const float* item;
      std::size_t hits;
    };
    std::map<float, Particle> particles;
    for (std::size_t i = 0; i < count; ++i) {
      const float* const item = items + order[i] * width_;
      hits += fmt::format("{}", i + 1);
      add(hits, item, hit_);
      hits += ",0\n";
      truth += fmt::format("{}", i + 1);
      add(truth, item, truth_);
      truth += "\n";
      const float number = item[particle_[0]];
      if (number != 0) ++particles.try_emplace(number, Particle{item, 0}).first->second.hits;
    }
    std::string table = header("", particle_columns(), ",nhits");
    for (const auto& [number, particle] : particles) {
      std::string line;
      add(line, particle.item, particle_);
      table += line.substr(1) + fmt::format(",{}\n", particle.hits);
    }
    put(folder, name + "-hits.csv", hits);
    put(folder, name + "-truth.csv", truth);
    put(folder, name + "-particles.csv", table);
  }

  static void put(AtomicFolder& folder, const std::string& name, const std::string& text) {
    OutputFile file = folder.create(name);
    file.write(std::as_bytes(std::span(text)));
    file.finish();
  }

 private:
  std::vector<std::size_t> ordered(const float* items, std::size_t count) const {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto key = [&](std::size_t i) {
      const float* const item = items + i * width_;
      return std::tuple(item[hit_[3]], item[hit_[4]], item[hit_[2]], item[hit_[0]], i);
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    return order;
  }

  static void add(std::string& line, const float* item, const Places& places) {
    for (const std::size_t place : places)
      fmt::format_to(std::back_inserter(line), ",{}", item[place]);
  }

  std::size_t width_;
  Places hit_, truth_, particle_;
};

/// True for the names of files that an export writes.
bool is_table(const std::string& name) {
  return name == "metadata.json" || (name.starts_with("event") &&
                                     (name.ends_with("-hits.csv") || name.ends_with("-truth.csv") ||
                                      name.ends_with("-particles.csv")));
}

/// An export replaces the whole folder, so the folder must hold an earlier export and nothing else.
void expect_replaceable(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path) || std::filesystem::is_empty(path)) return;
  if (!std::filesystem::exists(path / "metadata.json")) {
    fail(ErrorKind::config,
         {fmt::format("{}: the folder exists but has no metadata.json", path.string()),
          "an export replaces the whole folder, but this folder is not an earlier export",
          "use another name, or move the folder away"});
  }
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && is_table(name)) continue;
    fail(ErrorKind::config,
         {fmt::format("{}: the folder exists and contains '{}'", path.string(), name),
          "an export replaces the whole folder, but this file is not part of an export",
          "use another name, or move the folder away"});
  }
}

}  // namespace

ExportReport export_trackml(SampleReader& feed, const std::filesystem::path& path,
                            const std::function<void(std::uint64_t)>& progress) {
  if (feed.origins().size() != 1) {
    fail(ErrorKind::config, {"cannot export several sources to TrackML",
                             "event numbers are sample ids, which must be unique",
                             "export a single source, or use a name that ends in .npz"});
  }
  expect_replaceable(path);
  EventTables tables(feed.origins()[0].info.features);
  const int abandoned = remove_abandoned_folders(path, is_table);
  AtomicFolder folder(path);
  std::uint64_t done = 0;
  feed.make([&](const HostSamples& samples) {
    const auto width = static_cast<std::size_t>(samples.rows.layout.elements());
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      stop_if_interrupted();  // a sample can take 10 MB
      tables.write(folder, samples.slots[row].sample, samples.x().data() + row * width,
                   static_cast<std::size_t>(samples.items()[row]));
    }
    done += static_cast<std::uint64_t>(samples.count());
    if (progress) progress(done);
  });
  nlohmann::ordered_json metadata = feed.identity();
  metadata["overflow"] = {{"samples", feed.overflow().samples}, {"items", feed.overflow().items}};
  metadata["version"] = kVersion;
  EventTables::put(folder, "metadata.json", metadata.dump(2) + "\n");
  folder.commit();
  return {{"hits", "truth", "particles", "metadata"}, feed.overflow(), abandoned};
}

}  // namespace wellspring
