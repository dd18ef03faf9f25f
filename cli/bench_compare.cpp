#include "cli/bench_compare.h"

#include "bench/comparison.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

namespace wellspring::cli {
namespace {

constexpr int kSlower = 5;

double parsed_threshold(const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string_view number = std::string_view(text).substr(0, text.size() - (percent ? 1 : 0));
  double value = parse_number<double>(number).value_or(-1);
  if (percent) value /= 100;
  if (!(value >= 0 && value < 1))
    fail(ErrorKind::config, {fmt::format("--threshold '{}' is not a share below 1", text), "",
                             "write, for example, --threshold 5%"});
  return value;
}

}  // namespace

int bench_compare(const std::string& before, const std::string& after, const std::string& threshold,
                  const std::string& json) {
  const double least = parsed_threshold(threshold);
  if (before.empty() || after.empty())
    fail(ErrorKind::config, {"command line: bench compare takes two files", "",
                             "write wellspring bench compare BEFORE.json AFTER.json"});
  if (!json.empty()) require_creatable(json);
  const bench::Comparison comparison =
      bench::compare_reports(read_text(before), before, read_text(after), after, least);
  tell(stdout, "{}", printable(to_text(comparison)));
  std::vector<std::string> notes = comparison.notes;
  if (!comparison.only_before.empty())
    notes.push_back("only before: " + join(comparison.only_before));
  if (!comparison.only_after.empty()) notes.push_back("only after: " + join(comparison.only_after));
  print_notes(notes);
  if (!json.empty()) {
    OutputFile file(json, OutputFile::Mode::replace);
    file.write(to_json(comparison).dump(2) + "\n");
    file.finish();
  }
  return comparison.slower() ? kSlower : 0;
}

}  // namespace wellspring::cli
