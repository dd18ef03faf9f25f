#include "train/checkpoint/data_identity.h"

#include "core/error.h"
#include "core/io/sha256.h"
#include "core/text/plural.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <vector>

namespace wellspring {
namespace {

constexpr const char* kUnreadable = "?";

void add_truth(Sha256& sha, const Dataset& data) {
  std::vector<float> truth(data.latents().size() + data.targets().size());
  for (std::int64_t row = 0; row < data.size(); ++row) {
    const std::int32_t label = data.label(row);
    data.read_latents(row, truth.data());
    data.read_targets(row, truth.data() + data.latents().size());
    sha.update(std::as_bytes(std::span(&label, 1))).update(bytes_of(truth));
  }
}

std::string short_hex(const Sha256& sha) {
  return sha.hex().substr(0, 16);
}

std::string row_digest(RowReader& reader, std::int64_t row, std::vector<std::uint8_t>& bytes) {
  try {
    reader.read(row, bytes.data());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return kUnreadable;
  }
  Sha256 sha;
  sha.update(std::as_bytes(std::span(bytes)));
  return short_hex(sha);
}

std::string digest_of(const Dataset& data) {
  Sha256 truth;
  add_truth(truth, data);
  std::string digest = short_hex(truth);
  const std::unique_ptr<RowReader> reader = data.reader();
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(data.layout().bytes()));
  const std::int64_t count = std::min(kDigestedRows, data.size());
  for (std::int64_t i = 0; i < count; ++i)
    digest += " " + row_digest(*reader, i * data.size() / count, bytes);
  return digest;
}

bool same_content(const std::string& before, const std::string& now) {
  std::istringstream first(before), second(now);
  std::string a, b;
  while (first >> a) {
    if (!(second >> b)) return false;
    if (a != b && a != kUnreadable && b != kUnreadable) return false;
  }
  return !(second >> b);
}

[[noreturn]] void refuse(const std::filesystem::path& checkpoint, const std::string& problem,
                         const std::string& why) {
  fail(ErrorKind::data,
       {fmt::format("{}: {}", checkpoint.string(), problem), why,
        "restore the files, or start a new run: set another out=FOLDER, and init.from to start "
        "with these weights"});
}

}  // namespace

DataIdentity data_identity(const Mixture& mixture) {
  DataIdentity identity;
  for (int i = 0; i < mixture.size(); ++i) {
    const Source& source = mixture.source(i);
    if (source.size() == 0) continue;
    const Dataset* const rows = source.rows();
    identity[source.name()] = {source.size(), rows == nullptr ? "" : digest_of(*rows)};
  }
  return identity;
}

void require_same_data(const DataIdentity& before, const DataIdentity& now,
                       const std::filesystem::path& checkpoint) {
  for (const auto& [source, data] : now) {
    const auto found = before.find(source);
    const StoredData known = found == before.end() ? StoredData{} : found->second;
    if (known.samples != data.samples)
      refuse(checkpoint,
             fmt::format("source '{}' had {} and now has {}", source,
                         counted(known.samples, "sample"), data.samples),
             "the order of the samples would differ from that of the run so far");
    // Older checkpoints have no digests.
    if (known.digest.empty() || same_content(known.digest, data.digest)) continue;
    refuse(checkpoint, fmt::format("the content of source '{}' has changed", source),
           fmt::format("it still has {}, but labels, true parameters or values differ",
                       counted(data.samples, "sample")));
  }
}

}  // namespace wellspring
