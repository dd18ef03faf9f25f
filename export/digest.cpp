#include "export/digest.h"

#include "core/io/bytes.h"
#include "core/io/sha256.h"
#include "core/version.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>

namespace wellspring {
namespace {

Bytes row_of(const BatchColumn& column, std::int64_t row) {
  const std::size_t bytes = column.row_bytes();
  return {static_cast<const std::byte*>(column.data) + static_cast<std::size_t>(row) * bytes,
          bytes};
}

/// Hashes sample by sample, so that the result does not depend on the batch size.
void update(Sha256& hash, const HostSamples& samples) {
  const auto columns = columns_of(samples.rows);
  for (std::int64_t row = 0; row < samples.count(); ++row) {
    for (const BatchColumn& column : columns) hash.update(row_of(column, row));
  }
}

template <class T>
void update_with(Sha256& hash, T value) {
  hash.update(std::as_bytes(std::span(&value, 1)));
}

/// One digest per column.
class ColumnDigests {
 public:
  void update(const HostSamples& samples) {
    const auto columns = columns_of(samples.rows);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      hashes_[i].update({static_cast<const std::byte*>(columns[i].data),
                         static_cast<std::size_t>(samples.count()) * columns[i].row_bytes()});
    }
    for (const Slot& slot : samples.slots) {
      update_with(source_, static_cast<std::int32_t>(slot.source));
      update_with(sample_, static_cast<std::int64_t>(slot.sample));
    }
  }

  nlohmann::ordered_json report(const SampleLayout& layout) {
    BatchView none;
    none.layout = layout;
    const auto columns = columns_of(none);
    nlohmann::ordered_json list;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].width > 0) list[columns[i].name] = hashes_[i].hex();
    list["source"] = source_.hex();
    list["sample"] = sample_.hex();
    return list;
  }

 private:
  std::array<Sha256, kBatchColumns> hashes_;
  Sha256 source_, sample_;
};

}  // namespace

std::string sample_digest(SampleReader& feed) {
  Sha256 hash;
  feed.make([&](const HostSamples& samples) { update(hash, samples); });
  return hash.hex();
}

std::string sample_digest(Generator& generator, const SampleRange& range,
                          const SampleMaking& making) {
  GeneratorReader feed(generator, range, making);
  return sample_digest(feed);
}

nlohmann::ordered_json digest_report(SampleReader& feed,
                                     const std::function<void(std::uint64_t)>& progress) {
  Sha256 hash;
  ColumnDigests columns;
  std::uint64_t done = 0;
  feed.make([&](const HostSamples& samples) {
    update(hash, samples);
    columns.update(samples);
    done += static_cast<std::uint64_t>(samples.count());
    if (progress) progress(done);
  });
  const SampleShape shape = feed.layout().shape();
  nlohmann::ordered_json report = feed.identity();
  report["shape"] = {shape.height, shape.width, shape.channels};
  report.update(feed.making());
  report["version"] = kVersion;
  report["columns"] = columns.report(feed.layout());
  report["sha256"] = hash.hex();
  return report;
}

}  // namespace wellspring
