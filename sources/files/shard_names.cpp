#include "sources/files/shard_names.h"

#include "core/error.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostShards = 100'000;

[[noreturn]] void refuse_pattern(const std::string& pattern, const std::string& why) {
  fail(ErrorKind::data, {pattern + ": not a pattern of shards", why,
                         "write, for example, train-{0000..0127}.tar or {train,extra}.tar"});
}

/// The texts that a pair of braces stands for: "00..03" or "a,b".
std::vector<std::string> choices(const std::string& inside, const std::string& pattern) {
  const std::size_t dots = inside.find("..");
  if (dots == std::string::npos) {
    const std::vector<std::string_view> names = split(inside, ',');
    return {names.begin(), names.end()};
  }
  const std::string from = inside.substr(0, dots);
  const auto first = parse_number<std::int64_t>(from);
  const auto last = parse_number<std::int64_t>(inside.substr(dots + 2));
  if (!first || !last || *first < 0 || *last < *first)
    refuse_pattern(pattern, fmt::format("{{{}}} is not a range of numbers", inside));
  if (static_cast<std::uint64_t>(*last - *first) >= kMostShards)
    refuse_pattern(pattern, fmt::format("it names more than {} files", kMostShards));
  std::vector<std::string> names;
  for (std::int64_t i = *first; i <= *last; ++i)
    names.push_back(fmt::format("{:0{}}", i, from.size()));
  return names;
}

void expand(const std::string& pattern, const std::string& name, std::vector<std::string>& names) {
  const std::size_t open = name.find('{'), close = name.find('}');
  if (open == std::string::npos && close == std::string::npos) {
    if (names.size() == kMostShards)
      refuse_pattern(pattern, fmt::format("it names more than {} files", kMostShards));
    names.push_back(name);
    return;
  }
  if (open == std::string::npos || close == std::string::npos || close < open)
    refuse_pattern(pattern, "its braces do not match");
  for (const std::string& choice : choices(name.substr(open + 1, close - open - 1), pattern))
    expand(pattern, name.substr(0, open) + choice + name.substr(close + 1), names);
}

}  // namespace

bool is_tar_name(const std::string& name) {
  return name.ends_with(".tar");
}

bool is_npz_name(const std::string& name) {
  return name.ends_with(".npz");
}

bool is_hdf5_name(const std::string& name) {
  return name.ends_with(".h5") || name.ends_with(".hdf5");
}

bool is_tfrecord_name(const std::string& name) {
  if (name.ends_with(".tfrecord") || name.ends_with(".tfrecords")) return true;
  const auto digits = [&](std::size_t begin, std::size_t end) {
    return begin < end && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin),
                                      name.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  const std::size_t of = name.rfind("-of-");
  if (of == std::string::npos || of == 0 || !digits(of + 4, name.size())) return false;
  const std::size_t dash = name.rfind('-', of - 1);
  return dash != std::string::npos && digits(dash + 1, of);
}

std::vector<fs::path> shard_files(const fs::path& path, bool (*is_shard)(const std::string& name)) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return {path};
  if (!fs::is_directory(path, error)) {
    std::vector<std::string> names;
    expand(path.string(), path.string(), names);
    return {names.begin(), names.end()};
  }
  std::vector<fs::path> shards;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    if (is_shard(entry->path().filename().string())) shards.push_back(entry->path());
  if (error)
    fail(ErrorKind::data, {path.string() + ": the folder cannot be listed", error.message(),
                           "check its permissions"});
  if (shards.empty())
    fail(ErrorKind::data, {path.string() + ": no shards",
                           "none of the folder's files has the name of a shard", "correct path:"});
  std::ranges::sort(shards);
  return shards;
}

}  // namespace wellspring
