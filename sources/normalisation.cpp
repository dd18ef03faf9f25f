#include "sources/normalisation.h"

#include "core/config/config.h"
#include "core/text/plural.h"
#include "export/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using Choice = Normalisation::Choice;

/// Welford's sums: exact for constants, and accurate for any offset.
struct ColumnSum {
  double count = 0, mean = 0, squares = 0;

  void add(double value) {
    const double before = value - mean;
    mean += before / ++count;
    squares += before * (value - mean);
  }
  double std() const { return count > 0 ? std::sqrt(squares / count) : 0; }
};

class Statistics {
 public:
  explicit Statistics(const SampleLayout& layout)
      : columns_(layout.features),
        features_(static_cast<std::size_t>(columns_ > kMostMeasuredAlone ? 1 : columns_)),
        globals_(static_cast<std::size_t>(layout.globals)) {}

  /// `count`: number of existing items of the row.
  void add(const float* x, int count, const float* globals) {
    for (int item = 0; item < count; ++item)
      for (int f = 0; f < columns_; ++f)
        features_[features_.size() == 1 ? 0 : static_cast<std::size_t>(f)].add(*x++);
    for (ColumnSum& sum : globals_) sum.add(*globals++);
  }

  Normalisation result() const {
    Normalisation values;
    static_cast<ColumnScaling&>(values) = scaling(features_);
    if (!globals_.empty()) values.globals = scaling(globals_);
    values.choice = Choice::given;
    return values;
  }

 private:
  /// Rounds to decimal digits, so that a configuration shows exactly the numbers that are used.
  static double rounded(double value, int digits) {
    return std::stod(fmt::format("{:.{}g}", value, digits));
  }
  static ColumnScaling scaling(const std::vector<ColumnSum>& sums) {
    ColumnScaling values{{}, {}};
    for (const ColumnSum& sum : sums) {
      const bool constant = sum.std() < 2 * kLeastStd;
      values.mean.push_back(rounded(sum.mean, 9));
      values.std.push_back(constant ? 1 : rounded(sum.std(), 6));
    }
    return values;
  }

  int columns_;
  std::vector<ColumnSum> features_, globals_;
};

int existing_items(const SampleLayout& layout, std::int32_t count) {
  return layout.kind == SampleKind::set ? std::min(count, layout.items) : 1;
}

bool is_open(const SourceConfig& source) {
  return source.augmentations.normalisation.choice != Choice::given;
}

bool reads_files(const SourceConfig& source) {
  return source.spec.kind == SourceKind::files;
}

/// The source that determines the scaling; nullopt if there is no such source.
std::optional<std::size_t> reference_of(const DataConfig& data) {
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < data.sources.size(); ++k) {
    const SourceConfig& source = data.sources[k];
    const bool files = found && reads_files(data.sources[*found]);
    if (reads_files(source) ||
        (!files && source.augmentations.normalisation.choice == Choice::automatic))
      found = k;
  }
  return found;
}

/// Gives a source the scaling, unless it has its own. If the scaling changes nothing, a generator
/// without `normalise` stays without it.
void give(SourceConfig& source, const Normalisation& values) {
  Normalisation& own = source.augmentations.normalisation;
  if (own.choice == Choice::given) return;
  if (values.is_identity() && own.choice == Choice::by_default && !reads_files(source)) return;
  own = values;
  own.choice = Choice::given;
}

bool fits(const Normalisation& values, const SampleLayout& layout) {
  const auto right = [](const ColumnScaling& scaling, int columns) {
    const auto count = static_cast<std::size_t>(columns);
    return (scaling.mean.size() == 1 || scaling.mean.size() == count) &&
           (scaling.std.size() == 1 || scaling.std.size() == count);
  };
  return right(values, layout.features) && right(values.globals, layout.globals);
}

/// Measures a source; returns the numbers and what was measured.
std::pair<Normalisation, std::string> measure(const SourceConfig& source, const Dataset* rows,
                                              ImageSize size, const MeasureContext& context) {
  const SourceSpec& spec = source.spec;
  if (rows != nullptr) {
    const auto watch = [&](const std::string& what, std::uint64_t done, std::uint64_t total) {
      if (context.watch) context.watch(what + " " + spec.name, done, total);
    };
    return {measure_rows(*rows, context.threads, watch),
            fmt::format("{} of '{}'", counted(std::min(rows->size(), kMeasuredRows), "row"),
                        spec.name)};
  }
  const auto generator = make_generator(spec.generator, size, spec.params, spec.place);
  return {measure_samples(*generator, source_seed(spec, context.seed), context.threads),
          fmt::format("{} of '{}'", counted(kMeasuredSamples, "sample"), spec.name)};
}

}  // namespace

Normalisation measure_rows(const Dataset& data, int threads, const WorkWatch& watch) {
  constexpr std::int64_t kRowsAtOnce = 1024;
  const SampleLayout layout = data.layout().sample;
  const auto numbers = static_cast<std::size_t>(data.layout().bytes()) / sizeof(float);
  const std::int64_t count = std::min(data.size(), kMeasuredRows);
  std::vector<float> rows(static_cast<std::size_t>(std::min(count, kRowsAtOnce)) * numbers);
  Statistics statistics(layout);
  for (std::int64_t begin = 0; begin < count; begin += kRowsAtOnce) {
    const std::int64_t end = std::min(begin + kRowsAtOnce, count);
    const auto place = [&](std::int64_t i) {
      return rows.data() + static_cast<std::size_t>(i - begin) * numbers;
    };
    for_each_row(
        data, threads, begin, end,
        [&](RowReader& reader, std::int64_t i) {
          reader.read(i * data.size() / count, reinterpret_cast<std::uint8_t*>(place(i)));
        },
        [&](std::int64_t done) {
          if (watch)
            watch("measuring", static_cast<std::uint64_t>(begin + done),
                  static_cast<std::uint64_t>(count));
        });
    for (std::int64_t i = begin; i < end; ++i) {
      const float* const globals = place(i) + layout.elements();
      const auto* const items = reinterpret_cast<const std::int32_t*>(globals + layout.globals);
      const bool set = layout.kind == SampleKind::set;
      statistics.add(place(i), set ? existing_items(layout, *items) : 1, globals);
    }
  }
  return statistics.result();
}

Normalisation measure_samples(Generator& generator, std::uint64_t seed, int threads) {
  const SampleLayout layout = generator.layout();
  Statistics statistics(layout);
  SampleMaker maker(generator, {.batch = 1024, .threads = threads});
  maker.make({seed, kFirstMeasuredSample, kMeasuredSamples}, [&](const HostSamples& samples) {
    const BatchView& rows = samples.rows;
    for (std::int64_t b = 0; b < rows.size; ++b) {
      const int items = rows.count == nullptr ? 1 : existing_items(layout, rows.count[b]);
      statistics.add(static_cast<const float*>(rows.x) + b * layout.elements(), items,
                     rows.globals + b * layout.globals);
    }
  });
  return statistics.result();
}

std::string settle_normalisation(DataConfig& data, Mixture& training,
                                 const MeasureContext& context) {
  if (training.layout().kind == SampleKind::image) {
    for (SourceConfig& source : data.sources)
      if (reads_files(source)) give(source, {});
    return "";
  }
  const auto apply = [&] {
    for (std::size_t k = 0; k < data.sources.size(); ++k)
      training.source(static_cast<int>(k)).normalise(data.sources[k].augmentations.normalisation);
  };
  const std::optional<std::size_t> reference = reference_of(data);
  if (!reference) {
    apply();  // adopt_normalisation() may have replaced `auto`
    return "";
  }
  SourceConfig& from = data.sources[*reference];
  std::string measured;
  if (is_open(from)) {
    const Dataset* const rows = training.source(static_cast<int>(*reference)).rows();
    std::tie(from.augmentations.normalisation, measured) = measure(from, rows, data.size, context);
  }
  for (SourceConfig& source : data.sources) give(source, from.augmentations.normalisation);
  apply();
  return measured;
}

void adopt_normalisation(DataConfig& data, const SampleLayout& layout,
                         const std::string& trained_yaml, Adopt which) {
  const ConfigDocument document = ConfigDocument::parse(trained_yaml, "checkpoint");
  DataConfig trained;  // names, kinds and scalings only
  for (const ConfigNode& node : document.root().section("data").list("sources")) {
    SourceConfig source;
    if (const auto name = node.scalar("name")) source.spec.name = name->value;
    if (const auto kind = node.scalar("kind"); kind && kind->value == "files")
      source.spec.kind = SourceKind::files;
    read_normalisation(node, source.augmentations.normalisation);
    trained.sources.push_back(std::move(source));
  }
  Normalisation common;
  for (const SourceConfig& source : trained.sources)
    if (!is_open(source)) common = source.augmentations.normalisation;
  for (const SourceConfig& source : trained.sources)
    if (!is_open(source) && reads_files(source)) common = source.augmentations.normalisation;
  for (SourceConfig& source : data.sources) {
    const bool automatic = source.augmentations.normalisation.choice == Choice::automatic;
    if (automatic && which == Adopt::defaults) continue;
    const auto same = std::ranges::find_if(trained.sources, [&](const SourceConfig& other) {
      return other.spec.name == source.spec.name;
    });
    const Normalisation& values =
        same == trained.sources.end() ? common : same->augmentations.normalisation;
    if (fits(values, layout)) give(source, values);
  }
}

}  // namespace wellspring
