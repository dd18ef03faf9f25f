#include "sources/datasets/dataset.h"

#include "core/signals.h"
#include "core/text/plural.h"
#include "kernels/runtime/memory_nodes.h"
#include "sources/datasets/stored_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <unordered_set>

namespace wellspring {

std::int64_t RowLayout::bytes() const {
  if (type == ElementType::u8) return sample.elements() + (own_sizes ? StoredFrame::kBytes : 0);
  return stored_numbers(sample) * static_cast<std::int64_t>(element_size(type));
}

namespace {
template <class Info>
const std::vector<Info>& no_columns() {
  static const std::vector<Info> none;
  return none;
}
}  // namespace

const std::vector<ValueInfo>& Dataset::features() const {
  return no_columns<ValueInfo>();
}
const std::vector<ValueInfo>& Dataset::globals() const {
  return no_columns<ValueInfo>();
}
const std::vector<LatentInfo>& Dataset::latents() const {
  return no_columns<LatentInfo>();
}

void Dataset::read_latents(std::int64_t /*row*/, float* /*out*/) const {}

const std::vector<ValueInfo>& Dataset::targets() const {
  return no_columns<ValueInfo>();
}

void Dataset::read_targets(std::int64_t /*row*/, float* /*out*/) const {}

std::uint64_t Dataset::encoded_bytes(std::int64_t /*row*/) const {
  throw std::logic_error("Dataset: rows are not encoded");
}

void RowReader::read_encoded(std::int64_t /*row*/, std::vector<std::uint8_t>& /*bytes*/) {
  throw std::logic_error("RowReader: rows are not encoded");
}

void RowReader::decode(std::int64_t /*row*/, std::span<const std::uint8_t> /*bytes*/,
                       std::uint8_t* /*out*/) {
  throw std::logic_error("RowReader: rows are not encoded");
}

void RowReader::check_encoded(std::int64_t /*row*/, std::span<const std::uint8_t> /*bytes*/) {
  throw std::logic_error("RowReader: rows are not encoded");
}

void for_each_row(const Dataset& data, int threads, std::int64_t begin, std::int64_t end,
                  const std::function<void(RowReader&, std::int64_t)>& work,
                  const std::function<void(std::int64_t)>& begun) {
  std::atomic<std::int64_t> next{begin}, stop{end};
  std::mutex mutex;
  std::exception_ptr failure;
  // Rows are handed out in order, and every row before the first failing one is tried, so the
  // failure that is thrown does not depend on timing.
  const auto run = [&](bool tells) {
    try {
      const std::unique_ptr<RowReader> reader = data.reader();
      for (std::int64_t i; (i = next++) < stop.load();) {
        try {
          stop_if_interrupted();
          work(*reader, i);
          if (tells) begun(std::min(next.load(), end) - begin);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (i < stop.load()) {
            stop = i;
            failure = std::current_exception();
          }
        }
      }
    } catch (...) {  // no reader could be made: fails before any row
      const std::lock_guard lock(mutex);
      stop = begin;
      failure = std::current_exception();
    }
  };
  const auto helpers = std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, end - begin));
  std::vector<std::jthread> pool;
  for (int t = 1; t < helpers; ++t) {
    pool.emplace_back([&run, t] {
      bind_to_memory_node(t);
      run(false);
    });
  }
  run(static_cast<bool>(begun));
  pool.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

std::vector<std::int64_t> first_of_each_class(std::span<const std::int32_t> labels,
                                              std::int64_t limit_per_class) {
  std::unordered_map<std::int32_t, std::int64_t> taken;
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (limit_per_class == 0 || taken[labels[i]]++ < limit_per_class) {
      rows.push_back(static_cast<std::int64_t>(i));
    }
  }
  return rows;
}

std::string summary_of_classes(const Dataset& data) {
  const std::size_t classes = data.classes().size();
  std::unordered_set<std::int32_t> present;
  for (std::int64_t row = 0; row < data.size() && present.size() < classes; ++row)
    present.insert(data.label(row));
  std::string text = counted(classes, "class", "classes");
  if (present.size() < classes)
    text += fmt::format(" ({} without samples)", classes - present.size());
  return text;
}

}  // namespace wellspring
