#include "measure/data_profile.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/text/json_reason.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "measure/table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace wellspring {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBins = 32, kMostClassBins = 1024;
/// Samples that set the bins of a column.
constexpr std::size_t kFirst = 4096;

/// Collects a column. Variances are combined as in T. Chan, G. Golub, R. LeVeque, "Algorithms for
/// computing the sample variance", The American Statistician 37 (1983).
class ColumnProfiler {
 public:
  explicit ColumnProfiler(std::string name) { profile_.name = std::move(name); }

  const std::string& name() const { return profile_.name; }
  void set_bins(Histogram bins) {
    std::ranges::fill(bins.counts, 0U);
    profile_.histogram = std::move(bins);
  }
  /// The values of a sample: `count` of them, `stride` apart.
  template <class T>
  void add(const T* first, std::size_t count, std::size_t stride = 1, double scale = 1,
           double offset = 0) {
    double sum = 0, squares = 0;
    std::uint64_t finite = 0;
    const auto each = [&](auto use) {
      for (std::size_t i = 0; i < count; ++i) {
        const double value = static_cast<double>(first[i * stride]) * scale + offset;
        if (std::isfinite(value)) use(value);
      }
    };
    each([&](double value) {
      if (profile_.values + finite == 0) profile_.low = profile_.high = value;
      profile_.low = std::min(profile_.low, value);
      profile_.high = std::max(profile_.high, value);
      sum += value;
      ++finite;
    });
    profile_.not_finite += count - finite;
    if (finite == 0) return;
    const double mean = sum / static_cast<double>(finite);
    if (count > 1) each([&](double value) { squares += (value - mean) * (value - mean); });
    const auto before = static_cast<double>(profile_.values), more = static_cast<double>(finite);
    const double step = mean - profile_.mean;
    profile_.values += finite;
    profile_.mean += step * more / (before + more);
    squares_ += squares + step * step * before * more / (before + more);
    take(mean);
  }
  ColumnProfile finish() {
    settle();
    if (profile_.values > 0)
      profile_.deviation = std::sqrt(squares_ / static_cast<double>(profile_.values));
    return std::move(profile_);
  }

 private:
  void take(double value) {
    if (!profile_.histogram.counts.empty()) return profile_.histogram.add(value);
    first_.push_back(value);
    if (first_.size() == kFirst) settle();
  }
  /// Makes all bins hold equally many whole numbers, which else would leave some bins empty. Returns the
  /// number of bins.
  static std::size_t fit_whole_numbers(Histogram& bins) {
    const double numbers = bins.high - bins.low + 1;
    const double width = std::ceil(numbers / static_cast<double>(kBins));
    const double count = std::ceil(numbers / width);
    bins.low -= 0.5;
    bins.high = bins.low + count * width;
    return static_cast<std::size_t>(count);
  }
  /// Bins from the 1 % to the 99 % quantile of the first samples, so that outliers do not widen them.
  void settle() {
    Histogram& bins = profile_.histogram;
    if (bins.counts.empty()) {
      std::size_t count = kBins;
      if (!first_.empty()) {
        std::ranges::sort(first_);
        bins.low = first_[first_.size() / 100];
        bins.high = first_[first_.size() - 1 - first_.size() / 100];
        if (std::ranges::all_of(first_, [](double value) { return value == std::rint(value); })) {
          count = fit_whole_numbers(bins);
        } else if (!(bins.low < bins.high)) {
          bins.high = bins.low + 1;
        }
      }
      bins.counts.assign(count + 2, 0);
    }
    for (const double value : first_) bins.add(value);
    first_.clear();
  }

  ColumnProfile profile_;
  double squares_ = 0;
  std::vector<double> first_;  ///< until the bins are known
};

std::string name_of(const std::vector<ValueInfo>& named, std::size_t index, const char* kind) {
  return index < named.size() ? named[index].name : fmt::format("{} {}", kind, index);
}

/// The samples of one origin.
class SourceProfiler {
 public:
  SourceProfiler(const SampleOrigin& origin, const SampleLayout& layout)
      : origin_(origin), layout_(layout) {
    switch (layout.kind) {
      case SampleKind::image:
        for (int c = 0; c < layout.shape().channels; ++c)
          columns_.emplace_back(fmt::format("channel {}", c));
        break;
      case SampleKind::set:
        columns_.emplace_back("items");
        [[fallthrough]];
      case SampleKind::event:
        for (std::size_t f = 0; f < features(); ++f)
          columns_.emplace_back(name_of(origin.info.features, f, "feature"));
        for (std::size_t g = 0; g < static_cast<std::size_t>(layout.globals); ++g)
          columns_.emplace_back(name_of(origin.info.globals, g, "global"));
        columns_.emplace_back("weight");
    }
    label_ = columns_.size();
    columns_.emplace_back("label");
    if (const std::size_t classes = origin.info.classes.size(); classes > 0)
      columns_.back().set_bins({-0.5, static_cast<double>(classes) - 0.5,
                                std::vector<std::uint64_t>(std::min(classes, kMostClassBins) + 2)});
    for (std::size_t t = 0; t < static_cast<std::size_t>(layout.targets); ++t)
      columns_.emplace_back("target " + name_of(origin.info.targets, t, ""));
    for (const LatentInfo& latent : origin.info.latents)
      columns_.emplace_back("latent " + latent.name);
  }

  void use_bins(const SourceProfile& stored) {
    for (ColumnProfiler& own : columns_)
      for (const ColumnProfile& column : stored.columns)
        if (column.name == own.name()) own.set_bins(column.histogram);
  }

  void add(const HostSamples& samples, std::size_t row) {
    ++samples_;
    const auto width = static_cast<std::size_t>(layout_.elements());
    const float* const x = samples.x().data() + row * width;
    const std::string_view bytes(reinterpret_cast<const char*>(x), width * sizeof(float));
    if (!seen_.insert(std::hash<std::string_view>{}(bytes)).second) ++duplicates_;
    add_values(samples, row, x, width);
    std::size_t column = label_;
    columns_[column++].add(&samples.label()[row], 1);
    const auto each = [&](std::span<const float> values, std::size_t stride, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) columns_[column++].add(&values[row * stride + i], 1);
    };
    const auto targets = static_cast<std::size_t>(layout_.targets);
    each(samples.target(), targets, targets);
    each(samples.latents(), static_cast<std::size_t>(layout_.latents), origin_.info.latents.size());
  }

  bool empty() const { return samples_ == 0; }
  SourceProfile finish() {
    SourceProfile profile{origin_.name, samples_, duplicates_, {}};
    for (ColumnProfiler& column : columns_) profile.columns.push_back(column.finish());
    return profile;
  }

 private:
  std::size_t features() const { return static_cast<std::size_t>(layout_.features); }
  void add_values(const HostSamples& samples, std::size_t row, const float* x, std::size_t width) {
    std::size_t column = 0;
    if (layout_.kind == SampleKind::image) {
      const AugmentationPlan& plan = origin_.augmentation;
      const std::size_t channels = label_;
      for (; column < channels; ++column)
        columns_[column].add(x + column, width / channels, channels, 1 / plan.inv_std[column],
                             plan.mean[column]);
      return;
    }
    std::size_t items = 1;
    if (layout_.kind == SampleKind::set) {
      items = static_cast<std::size_t>(samples.items()[row]);
      columns_[column++].add(&samples.items()[row], 1);
    }
    for (std::size_t f = 0; f < features(); ++f) columns_[column++].add(x + f, items, features());
    const auto globals = static_cast<std::size_t>(layout_.globals);
    for (std::size_t g = 0; g < globals; ++g)
      columns_[column++].add(&samples.globals()[row * globals + g], 1);
    columns_[column].add(&samples.weight()[row], 1);
  }

  const SampleOrigin& origin_;
  SampleLayout layout_;
  std::vector<ColumnProfiler> columns_;
  std::size_t label_ = 0;  ///< index of its column
  std::uint64_t samples_ = 0, duplicates_ = 0;
  std::unordered_set<std::size_t> seen_;  ///< hashes of x
};

/// The source of the same name, or the only one if both profiles have one.
const SourceProfile* partner(const std::vector<SourceProfile>& among, const std::string& name,
                             bool single) {
  if (single && among.size() == 1) return &among.front();
  const auto found = std::ranges::find(among, name, &SourceProfile::name);
  return found == among.end() ? nullptr : &*found;
}

const ColumnProfile* column_of(const SourceProfile* source, const std::string& name) {
  if (source == nullptr) return nullptr;
  const auto found = std::ranges::find(source->columns, name, &ColumnProfile::name);
  return found == source->columns.end() ? nullptr : &*found;
}

bool same_bins(const Histogram& a, const Histogram& b) {
  return a.low == b.low && a.high == b.high && a.counts.size() == b.counts.size();
}

double distance(const Histogram& a, const Histogram& b) {
  const auto total_a = static_cast<double>(a.total()), total_b = static_cast<double>(b.total());
  std::uint64_t sum_a = 0, sum_b = 0;
  double most = 0;
  for (std::size_t i = 0; i < a.counts.size(); ++i) {
    sum_a += a.counts[i];
    sum_b += b.counts[i];
    most = std::max(most, std::abs(static_cast<double>(sum_a) / total_a -
                                   static_cast<double>(sum_b) / total_b));
  }
  return most;
}

/// Dark characters for full bins: the outer bins at the ends, and between them groups of equal
/// size.
std::string picture(const Histogram& histogram) {
  constexpr std::string_view kShades = " .:-=+*#@";
  constexpr std::size_t kMostGroups = 22;
  const std::size_t inner = histogram.counts.size() - 2;
  const std::size_t per_group = (inner + kMostGroups - 1) / kMostGroups;
  std::vector<double> bars = {static_cast<double>(histogram.counts.front())};
  for (std::size_t first = 0; first < inner; first += per_group) {
    const std::size_t bins = std::min(per_group, inner - first);  // the last group may be smaller
    double sum = 0;
    for (std::size_t i = 0; i < bins; ++i)
      sum += static_cast<double>(histogram.counts[1 + first + i]);
    bars.push_back(sum * static_cast<double>(per_group) / static_cast<double>(bins));
  }
  bars.push_back(static_cast<double>(histogram.counts.back()));
  const double most = std::max(1.0, *std::ranges::max_element(bars));
  std::string text;
  for (const double bar : bars)
    text += kShades[static_cast<std::size_t>(
        std::ceil(bar / most * static_cast<double>(kShades.size() - 1)))];
  return "|" + text + "|";
}

}  // namespace

void Histogram::add(double value) {
  const auto bins = static_cast<double>(counts.size() - 2);
  std::size_t bin = 0;
  if (value > high) {
    bin = counts.size() - 1;
  } else if (value >= low) {
    bin = 1 + static_cast<std::size_t>(std::min((value - low) / (high - low) * bins, bins - 1));
  }
  ++counts[bin];
}

std::uint64_t Histogram::total() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t usual_profile_samples(SampleKind kind) {
  return kind == SampleKind::image ? 4096 : 20'000;
}

DataProfile profile_of(SampleReader& reader, const DataProfile* against,
                       const std::function<void(std::uint64_t)>& progress) {
  std::vector<SourceProfiler> sources;
  const std::vector<SampleOrigin>& origins = reader.origins();
  for (const SampleOrigin& origin : origins) {
    sources.emplace_back(origin, reader.layout());
    if (against == nullptr) continue;
    if (const auto* stored = partner(against->sources, origin.name, origins.size() == 1))
      sources.back().use_bins(*stored);
  }
  std::uint64_t done = 0;
  reader.make([&](const HostSamples& samples) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row)
      sources.at(samples.slots[row].source).add(samples, row);
    progress(done += static_cast<std::uint64_t>(samples.count()));
  });
  DataProfile profile{reader.summary(), {}};
  for (SourceProfiler& source : sources)
    if (!source.empty()) profile.sources.push_back(source.finish());
  return profile;
}

Json to_json(const DataProfile& profile) {
  Json json = {{"profile", profile.title}, {"sources", Json::array()}};
  for (const SourceProfile& source : profile.sources) {
    Json columns = Json::array();
    for (const ColumnProfile& column : source.columns)
      columns.push_back({{"name", column.name},
                         {"values", column.values},
                         {"not_finite", column.not_finite},
                         {"mean", column.mean},
                         {"deviation", column.deviation},
                         {"low", column.low},
                         {"high", column.high},
                         {"histogram",
                          {{"low", column.histogram.low},
                           {"high", column.histogram.high},
                           {"counts", column.histogram.counts}}}});
    json["sources"].push_back({{"name", source.name},
                               {"samples", source.samples},
                               {"duplicates", source.duplicates},
                               {"columns", columns}});
  }
  return json;
}

DataProfile read_profile(const std::filesystem::path& path) {
  return parse_profile(read_text(path), path.string());
}

DataProfile parse_profile(const std::string& text, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::data, {name + ": not a profile of samples", why,
                           "write one with wellspring stats ... --out FILE"});
  };
  DataProfile profile;
  try {
    const Json json = Json::parse(text);
    profile.title = json.at("profile").get<std::string>();
    for (const Json& given : json.at("sources")) {
      SourceProfile source{given.at("name").get<std::string>(),
                           given.at("samples").get<std::uint64_t>(),
                           given.at("duplicates").get<std::uint64_t>(),
                           {}};
      for (const Json& one : given.at("columns")) {
        ColumnProfile column{one.at("name").get<std::string>(),
                             one.at("values").get<std::uint64_t>(),
                             one.at("not_finite").get<std::uint64_t>(),
                             one.at("mean").get<double>(),
                             one.at("deviation").get<double>(),
                             one.at("low").get<double>(),
                             one.at("high").get<double>(),
                             {}};
        const Json& bins = one.at("histogram");
        if (!std::ranges::all_of(bins.at("counts"),
                                 [](const Json& count) { return count.is_number_unsigned(); }))
          refuse("the histogram of " + column.name + " has a count that is not a whole number");
        column.histogram = {bins.at("low").get<double>(), bins.at("high").get<double>(),
                            bins.at("counts").get<std::vector<std::uint64_t>>()};
        if (column.histogram.counts.size() < 3 || !(column.histogram.low < column.histogram.high))
          refuse("the histogram of " + column.name + " has no bins");
        source.columns.push_back(std::move(column));
      }
      profile.sources.push_back(std::move(source));
    }
  } catch (const Json::exception& error) {
    refuse(json_reason(error.what()));
  }
  return profile;
}

bool Drift::drifts() const {
  return !not_compared.empty() || std::ranges::any_of(columns, &ColumnDrift::drifts);
}

const ColumnDrift* Drift::find(const std::string& source, const std::string& column) const {
  for (const ColumnDrift& one : columns)
    if (one.source == source && one.column == column) return &one;
  return nullptr;
}

Drift compare(const DataProfile& stored, const DataProfile& now) {
  Drift drift;
  std::vector<std::pair<const ColumnProfile*, const ColumnProfile*>> pairs;
  const bool single = stored.sources.size() == 1 && now.sources.size() == 1;
  for (const SourceProfile& source : now.sources) {
    const SourceProfile* const before = partner(stored.sources, source.name, single);
    for (const ColumnProfile& column : source.columns) {
      const ColumnProfile* const found = column_of(before, column.name);
      if (found == nullptr || !same_bins(found->histogram, column.histogram)) {
        drift.not_compared.push_back(source.name + ": " + column.name);
        continue;
      }
      pairs.emplace_back(found, &column);
      drift.columns.push_back({source.name, column.name});
    }
  }
  for (const SourceProfile& source : stored.sources) {
    const SourceProfile* const after = partner(now.sources, source.name, single);
    for (const ColumnProfile& column : source.columns)
      if (column_of(after, column.name) == nullptr)
        drift.not_compared.push_back(source.name + ": " + column.name);
  }
  if (pairs.empty())
    fail(ErrorKind::data,
         {"the profile and the samples have no column in common", "the profile: " + stored.title,
          "compare with a profile of the same kind of samples"});
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [before, after] = pairs[i];
    ColumnDrift& column = drift.columns[i];
    column.not_finite = after->not_finite > 0 && before->not_finite == 0;
    const auto n = static_cast<double>(before->histogram.total()),
               m = static_cast<double>(after->histogram.total());
    column.threshold = 1;
    if (n == 0 || m == 0) continue;
    column.distance = distance(before->histogram, after->histogram);
    // 2 exp(-2 d^2 n m / (n + m)) = kFalseAlarms / columns: N. Smirnov, Annals of Mathematical
    // Statistics 19 (1948), 279, by its first term; a bound for equal sizes from 458 samples on: F. Wei,
    // R. Dudley, Statistics & Probability Letters 82 (2012), 636.
    column.threshold = std::sqrt(std::log(2 * static_cast<double>(pairs.size()) / kFalseAlarms) *
                                 (n + m) / (2 * n * m));
  }
  return drift;
}

Json to_json(const Drift& drift) {
  Json json = {{"drifts", drift.drifts()},
               {"false_alarm_rate", kFalseAlarms},
               {"columns", Json::array()},
               {"not_compared", drift.not_compared}};
  for (const ColumnDrift& column : drift.columns)
    json["columns"].push_back({{"source", column.source},
                               {"column", column.column},
                               {"distance", column.distance},
                               {"threshold", column.threshold},
                               {"not_finite", column.not_finite},
                               {"drifts", column.drifts()}});
  return json;
}

std::string to_text(const DataProfile& profile, const Drift* drift) {
  std::string text = profile.title + "\n";
  for (const SourceProfile& source : profile.sources) {
    text += fmt::format("\n{}: {}, {} with the same x as an earlier one\n", source.name,
                        counted(source.samples, "sample"), source.duplicates);
    std::vector<std::vector<std::string>> rows = {
        {"column", "mean", "deviation", "lowest", "highest", "not finite", "per sample"}};
    if (drift != nullptr) rows[0].insert(rows[0].end(), {"distance", "threshold", "drift"});
    for (const ColumnProfile& column : source.columns) {
      std::vector<std::string> row = {column.name};
      for (const double value : {column.mean, column.deviation, column.low, column.high})
        row.push_back(column.values > 0 ? fmt::format("{:.5g}", value) : "-");
      row.push_back(std::to_string(column.not_finite));
      row.push_back(picture(column.histogram));
      const ColumnDrift* const one =
          drift == nullptr ? nullptr : drift->find(source.name, column.name);
      if (one != nullptr)
        row.insert(row.end(),
                   {fmt::format("{:.4f}", one->distance), fmt::format("{:.4f}", one->threshold),
                    one->drifts() ? "YES" : "no"});
      row.resize(rows[0].size(), "-");
      rows.push_back(std::move(row));
    }
    text += table_text(rows);
  }
  if (drift != nullptr)
    text += fmt::format("\n{}: {} compared, false-alarm rate of the comparison {}\n",
                        drift->drifts() ? "DRIFT" : "no drift",
                        counted(drift->columns.size(), "column"), kFalseAlarms);
  return text;
}

}  // namespace wellspring
