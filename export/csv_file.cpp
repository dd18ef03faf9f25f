#include "export/csv_file.h"

#include "core/io/files.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// Quoted if it contains a separator, a quote or a line break.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

class CsvFile final : public ArrayFile {
 public:
  explicit CsvFile(const std::filesystem::path& path) : file_(path) {}

  Array open(const std::string& name, const ArraySpec& spec, const ArrayMeaning& meaning) override {
    Column column{name, spec.type, 1, spec.type == ElementType::u8, {}};
    for (std::size_t i = 1; i < spec.shape.size(); ++i)
      column.width *= static_cast<std::size_t>(spec.shape[i]);
    if (spec.shape.size() < 2 || column.text) {
      add_header(name);
    } else {
      for (std::size_t k = 0; k < column.width; ++k)
        add_header(name + "_" +
                   (k < meaning.names.size() ? meaning.names[k] : fmt::format("{}", k)));
    }
    columns_.push_back(std::move(column));
    return columns_.size() - 1;
  }
  Array open_growing(const std::string&, const ArraySpec&, const ArrayMeaning&) override {
    throw std::logic_error("a CSV file has no growing arrays");
  }
  void append(Array array, Bytes rows) override {
    columns_[array].pending.insert(columns_[array].pending.end(), rows.begin(), rows.end());
    write_complete_rows();
  }
  std::vector<std::string> finish(const nlohmann::ordered_json&) override {
    std::vector<std::string> names;
    for (const Column& column : columns_) {
      if (!column.pending.empty())
        throw std::logic_error("column '" + column.name + "' has more rows than others");
      names.push_back(column.name);
    }
    file_.commit();
    return names;
  }

 private:
  struct Column {
    std::string name;
    ElementType type;
    std::size_t width;
    bool text;
    std::vector<std::byte> pending;  ///< rows that other columns do not have yet
    std::size_t row_bytes() const { return width * element_size(type); }
  };

  void add_header(const std::string& name) {
    header_ += (header_.empty() ? "" : ",") + field(name);
  }

  void write_complete_rows() {
    std::size_t rows = SIZE_MAX;
    for (const Column& column : columns_)
      rows = std::min(rows, column.pending.size() / column.row_bytes());
    if (rows == 0) return;
    std::string text;
    if (!header_.empty()) text = std::exchange(header_, "") + "\r\n";
    for (std::size_t row = 0; row < rows; ++row) {
      for (const Column& column : columns_) add_fields(text, column, row);
      text.back() = '\r';  // replaces the last comma
      text += '\n';
    }
    file_.write(text);
    for (Column& column : columns_)
      column.pending.erase(
          column.pending.begin(),
          column.pending.begin() + static_cast<std::ptrdiff_t>(rows * column.row_bytes()));
  }

  /// Appends the fields of a row, each followed by a comma.
  static void add_fields(std::string& text, const Column& column, std::size_t row) {
    std::size_t at = row * column.row_bytes();
    if (column.text) {
      const std::string_view padded = text_of(column.pending).substr(at, column.width);
      text += field(padded.substr(0, padded.find('\0'))) + ",";
      return;
    }
    for (std::size_t k = 0; k < column.width; ++k, at += element_size(column.type)) {
      const Bytes bytes = column.pending;
      if (column.type == ElementType::i32) {
        text += fmt::format("{},", number_at<std::int32_t>(bytes, at));
      } else if (column.type == ElementType::i64) {
        text += fmt::format("{},", number_at<std::int64_t>(bytes, at));
      } else {
        const auto value = number_at<float>(bytes, at);
        text += (std::isnan(value) ? "" : shortest(value)) + ",";
      }
    }
  }

  AtomicFile file_;
  std::vector<Column> columns_;
  std::string header_;  ///< header line; empty once it is written
};

}  // namespace

bool is_csv(const std::filesystem::path& path) {
  return has_extension(path, ".csv");
}

std::unique_ptr<ArrayFile> create_csv_file(const std::filesystem::path& path) {
  return std::make_unique<CsvFile>(path);
}

}  // namespace wellspring
