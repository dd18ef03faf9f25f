#include "generators/images/ifs_class_files.h"

#include "core/error.h"
#include "core/io/bytes.h"
#include "core/io/files.h"
#include "core/io/sha256.h"
#include "core/text/parse.h"
#include "core/text/text.h"
#include "generators/images/ifs_categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>

namespace wellspring::ifs {
namespace {

namespace fs = std::filesystem;

/// Largest number of classes, as for searched systems.
constexpr std::size_t kMostClasses = 100000;
constexpr std::size_t kMostNumbers = kCoefficients + 1;

/// Reads the maps of one file.
class ClassFile {
 public:
  explicit ClassFile(const fs::path& path) : path_(path) {}

  System read() {
    const std::string text = read_text(path_);
    std::string_view rest = text;
    if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);  // byte order mark of UTF-8
    if (rest.starts_with("\xFF\xFE") || rest.starts_with("\xFE\xFF"))
      refuse(path_.string(), "text in UTF-16", "save it as UTF-8");
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      ++line_;
      if (const auto row = trim(rest.substr(0, end)); !row.empty() && row.front() != '#')
        read_map(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (system_.maps < 2)
      refuse(path_.string(), system_.maps == 0 ? "no maps" : "only one map",
             "a system has 2 to 7 maps, one per row");
    finish();
    return system_;
  }

 private:
  [[noreturn]] static void refuse(const std::string& where, const std::string& problem,
                                  const std::string& advice) {
    fail(ErrorKind::data,
         {fmt::format("{}: {}", where, problem), "a row is a,b,c,d,e,f or a,b,c,d,e,f,p", advice});
  }
  std::string place(std::size_t column) const {
    return fmt::format("{}:{}:{}", path_.string(), line_, column);
  }

  void read_map(std::string_view row) {
    if (system_.maps == kMaxMaps)
      refuse(place(1), fmt::format("more than {} maps", kMaxMaps), "remove this class");
    double number[kMostNumbers] = {};
    std::size_t count = 0, at = 0;
    for (bool more = true; more; ++count) {
      const std::size_t end = std::min(row.find(',', at), row.size());
      if (count == kMostNumbers) refuse(place(at + 1), "more than 7 numbers", "remove the others");
      number[count] = read_number(row.substr(at, end - at), at + 1);
      more = end < row.size();
      at = end + 1;
    }
    if (count < kCoefficients)
      refuse(place(1), fmt::format("{} numbers", count), "give six coefficients, and optionally p");
    if (system_.maps > 0 && count != numbers_)
      refuse(place(1), fmt::format("{} numbers, but earlier rows have {}", count, numbers_),
             "give p in all rows or in none");
    numbers_ = count;
    if (count == kMostNumbers && number[kCoefficients] < 0)
      refuse(place(1), fmt::format("p is {}", number[kCoefficients]), "p cannot be negative");
    const auto value = [&](int i) { return static_cast<float>(number[i]); };
    chance_[system_.maps] = number[kCoefficients];
    system_.map[system_.maps++] = {value(0), value(1), value(2), value(3), value(4), value(5)};
  }
  double read_number(std::string_view text, std::size_t column) const {
    const std::string_view digits = trim(text);
    const double value = parse_number<double>(digits).value_or(NAN);
    if (!std::isfinite(static_cast<float>(value)))
      refuse(place(column), fmt::format("'{}' is not a number", digits),
             "write finite numbers, separated by commas");
    return value;
  }
  void finish() {
    const std::span chances(chance_, static_cast<std::size_t>(system_.maps));
    if (numbers_ == kMostNumbers && *std::ranges::max_element(chances) == 0)
      refuse(path_.string(), "p is 0 in all rows", "give probabilities, or leave p out");
    const bool shrinks =
        std::ranges::all_of(std::span(system_.map, static_cast<std::size_t>(system_.maps)),
                            [](const Map& m) { return double{m.a} * m.d == double{m.b} * m.c; });
    if (numbers_ == kCoefficients && shrinks)
      refuse(path_.string(), "ad - bc is 0 in all rows", "add probabilities");
    if (numbers_ == kMostNumbers) {
      set_selectors(system_, chances);
    } else {
      set_selectors(system_);
    }
  }

  fs::path path_;
  int line_ = 0;
  std::size_t numbers_ = 0;  ///< per row
  System system_{};
  double chance_[kMaxMaps] = {};
};

std::vector<fs::path> files_of(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  if (paths.size() != 1 || !fs::is_directory(paths.front())) {
    for (const std::string& path : paths) files.emplace_back(path);
    return files;
  }
  for (const fs::directory_entry& file : fs::directory_iterator(paths.front()))
    if (file.path().extension() == ".csv") files.push_back(file.path());
  std::ranges::sort(files);
  if (files.empty())
    fail(ErrorKind::data, {fmt::format("{}: no .csv files", paths.front()),
                           "each class of ifs is a .csv file", "check the path"});
  return files;
}

/// Classes are named after their files.
void expect_different_names(const std::vector<fs::path>& files) {
  std::map<std::string, fs::path> first;
  for (const fs::path& path : files) {
    const auto [other, added] = first.emplace(path.stem().string(), path);
    if (added) continue;
    const bool same = other->second == path;
    fail(ErrorKind::config,
         {same ? fmt::format("ifs: class_file has {} twice", path.string())
               : fmt::format("ifs: {} and {} are both class {}", other->second.string(),
                             path.string(), other->first),
          "a class is named after its file", same ? "remove one" : "rename one of the files"});
  }
}

}  // namespace

ClassFiles read_class_files(const std::vector<std::string>& paths) {
  const std::vector<fs::path> files = files_of(paths);
  if (files.size() > kMostClasses)
    fail(ErrorKind::data, {fmt::format("{}: {} class files", paths.front(), files.size()),
                           fmt::format("ifs has at most {} classes", kMostClasses), "use fewer"});
  expect_different_names(files);
  ClassFiles classes;
  Sha256 hash;
  for (const fs::path& path : files) {
    classes.names.push_back(path.stem().string());
    classes.systems.push_back(ClassFile(path).read());
    const System& system = classes.systems.back();
    hash.update(bytes_of(classes.names.back() + "\n")).update(std::as_bytes(std::span(&system, 1)));
  }
  classes.hash = hash.hex();
  return classes;
}

}  // namespace wellspring::ifs
