#include "sources/overlap.h"

#include "core/error.h"
#include "core/io/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace wellspring {
namespace {

/// Digests of rows 0, step, 2 step, ... of a data set; "" for a row that cannot be read. That error
/// is reported when the row is needed.
struct Digests {
  std::int64_t step = 1;
  std::vector<std::string> digest;
};

Digests digests_of(const Source& source, int threads, std::int64_t most_bytes,
                   const WorkWatch& watch) {
  const Dataset& data = *source.rows();
  const std::string what = "comparing " + source.name();
  const auto bytes = static_cast<std::size_t>(data.layout().bytes());
  const std::int64_t most = std::max<std::int64_t>(1, most_bytes / data.layout().bytes());
  Digests result;
  result.step = (data.size() + most - 1) / most;
  const std::int64_t count = (data.size() + result.step - 1) / result.step;
  result.digest.resize(static_cast<std::size_t>(count));
  const auto digest = [&](RowReader& reader, std::int64_t i) {
    std::vector<std::uint8_t> row(bytes);
    try {
      reader.read(i * result.step, row.data());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      return;
    }
    Sha256 sha;
    sha.update(std::as_bytes(std::span(row)));
    result.digest[static_cast<std::size_t>(i)] = sha.hex();
  };
  for_each_row(data, threads, 0, count, digest, [&](std::int64_t done) {
    if (watch) watch(what, static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(count));
  });
  return result;
}

void require_other_places(const Dataset& trained, const std::string& trained_name,
                          const Dataset& held_out, const std::string& held_out_name) {
  std::unordered_set<std::string> places;
  for (std::int64_t i = 0; i < held_out.size(); ++i) places.insert(held_out.place(i));
  for (std::int64_t i = 0; i < trained.size(); ++i) {
    if (!places.contains(trained.place(i))) continue;
    fail(ErrorKind::data,
         {fmt::format("held-out source '{}': {} is also trained on, in source '{}'", held_out_name,
                      trained.location(i), trained_name),
          "accuracy on training samples says nothing about other samples",
          "name other files or rows with path:, split: or rows: in eval.sources"});
  }
}

Overlap compare(const Dataset& trained, const Dataset& held_out, const Digests& of_trained,
                const Digests& of_held_out) {
  Overlap overlap;
  overlap.compared = static_cast<std::int64_t>(of_held_out.digest.size());
  overlap.trained_compared = static_cast<std::int64_t>(of_trained.digest.size());
  std::unordered_map<std::string, std::int64_t> rows;
  for (std::size_t i = 0; i < of_trained.digest.size(); ++i) {
    if (of_trained.digest[i].empty()) continue;
    rows.try_emplace(of_trained.digest[i], static_cast<std::int64_t>(i) * of_trained.step);
  }
  for (std::size_t i = 0; i < of_held_out.digest.size(); ++i) {
    const auto found = rows.find(of_held_out.digest[i]);
    if (found == rows.end()) continue;
    if (overlap.rows++ > 0) continue;
    overlap.first = held_out.location(static_cast<std::int64_t>(i) * of_held_out.step);
    overlap.first_trained = trained.location(found->second);
  }
  return overlap;
}

}  // namespace

std::vector<Overlap> find_overlaps(const Mixture& training, const Mixture& held_out, int threads,
                                   std::int64_t most_bytes, const WorkWatch& watch) {
  std::vector<Overlap> overlaps;
  std::unordered_map<int, Digests> of_trained;  // by source, computed on first use
  for (int h = 0; h < held_out.size(); ++h) {
    const Dataset* const held = held_out.source(h).rows();
    if (held == nullptr) continue;
    Digests of_held;
    for (int t = 0; t < training.size(); ++t) {
      const Dataset* const trained = training.source(t).rows();
      if (trained == nullptr) continue;
      // First: the same image at two sizes has different bytes.
      require_other_places(*trained, training.source(t).name(), *held, held_out.source(h).name());
      if (!(trained->layout() == held->layout())) continue;
      if (of_held.digest.empty())
        of_held = digests_of(held_out.source(h), threads, most_bytes, watch);
      if (!of_trained.contains(t))
        of_trained[t] = digests_of(training.source(t), threads, most_bytes, watch);
      Overlap overlap = compare(*trained, *held, of_trained[t], of_held);
      overlap.held_out = h;
      overlap.trained = t;
      overlaps.push_back(std::move(overlap));
    }
  }
  return overlaps;
}

std::string to_string(const Overlap& overlap, const Mixture& training, const Mixture& held_out) {
  const Source& held = held_out.source(overlap.held_out);
  const Source& trained = training.source(overlap.trained);
  std::string text =
      fmt::format("held out '{}': {} of {} rows are also in training source '{}'", held.name(),
                  overlap.rows > 0 ? fmt::format("{}", overlap.rows) : "none", overlap.compared,
                  trained.name());
  if (overlap.rows > 0) {
    text += fmt::format("; for example, {} equals {}", overlap.first, overlap.first_trained);
  }
  const bool all =
      overlap.compared == held.rows()->size() && overlap.trained_compared == trained.rows()->size();
  if (!all) {
    text += fmt::format(" (compared: {} of {} held-out rows with {} of {} training rows)",
                        overlap.compared, held.rows()->size(), overlap.trained_compared,
                        trained.rows()->size());
  }
  return text;
}

}  // namespace wellspring
