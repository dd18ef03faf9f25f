#include "export/array_file.h"

#include "core/error.h"
#include "core/io/hdf5.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace wellspring {
namespace {

class NpzFile final : public ArrayFile {
 public:
  explicit NpzFile(const std::filesystem::path& path) : file_(path) {}

  Array open(const std::string& name, const ArraySpec& spec, const ArrayMeaning&) override {
    names_.push_back(name);
    return file_.open(name, spec);
  }
  Array open_growing(const std::string& name, const ArraySpec& spec, const ArrayMeaning&) override {
    names_.push_back(name);
    return file_.open_growing(name, spec);
  }
  void append(Array array, Bytes rows) override { file_.append(array, rows); }
  std::vector<std::string> finish(const nlohmann::ordered_json& metadata) override {
    for (NpzWriter::Array array = 0; array < names_.size(); ++array) file_.close(array);
    file_.add_file("metadata.npy", bytes_of(npy_text(metadata.dump(2))));
    names_.push_back("metadata");
    file_.commit();
    return names_;
  }

 private:
  NpzWriter file_;
  std::vector<std::string> names_;
};

/// Also writes the metadata as attributes of the file, for readers that do not parse JSON. Numbers
/// and texts are stored directly, parameters as JSON.
class Hdf5ArrayFile final : public ArrayFile {
 public:
  Hdf5ArrayFile(const std::filesystem::path& path, const Compression& compression)
      : file_(path, compression) {}

  Array open(const std::string& name, const ArraySpec& spec, const ArrayMeaning& meaning) override {
    names_.push_back(name);
    return explain(file_.open(name, spec), meaning);
  }
  Array open_growing(const std::string& name, const ArraySpec& spec,
                     const ArrayMeaning& meaning) override {
    names_.push_back(name);
    return explain(file_.open_growing(name, spec), meaning);
  }
  void append(Array array, Bytes rows) override { file_.append(array, rows); }
  std::vector<std::string> finish(const nlohmann::ordered_json& metadata) override {
    for (const auto& [name, value] : metadata.items()) {
      if (value.is_number_integer()) {
        file_.set(name, value.get<std::int64_t>());
      } else if (value.is_number()) {
        file_.set(name, value.get<double>());
      } else if (!value.is_array()) {  // the list of sources is too long for an attribute
        set_text(name, value.is_string() ? value.get<std::string>() : value.dump());
      }
    }
    file_.add_text("metadata", metadata.dump(2));
    names_.push_back("metadata");
    file_.commit();
    return names_;
  }

 private:
  Array explain(Array array, const ArrayMeaning& meaning) {
    const auto set = [&](const char* name, const std::vector<std::string>& texts) {
      const std::string text = fmt::format("{}", fmt::join(texts, ", "));
      if (!texts.empty() && text.size() <= kLongestHdf5Attribute) file_.set(array, name, text);
    };
    set("columns", meaning.names);
    set("units", meaning.units);
    return array;
  }

  /// Text that is too long for an attribute is stored only in the metadata.
  void set_text(const std::string& name, const std::string& text) {
    if (text.size() <= kLongestHdf5Attribute) file_.set(name, text);
  }

  Hdf5Writer file_;
  std::vector<std::string> names_;
};

}  // namespace

bool has_extension(const std::filesystem::path& path, std::string_view extension) {
  return std::ranges::equal(path.extension().string(), extension, {},
                            [](unsigned char c) { return std::tolower(c); });
}

bool is_npz(const std::filesystem::path& path) {
  return has_extension(path, ".npz");
}

bool is_hdf5(const std::filesystem::path& path) {
  return has_extension(path, ".h5") || has_extension(path, ".hdf5");
}

std::unique_ptr<ArrayFile> create_array_file(const std::filesystem::path& path,
                                             const Compression& compression) {
  if (compression.on() && !is_hdf5(path))
    fail(ErrorKind::config, {fmt::format("--compress cannot be used with '{}'", path.string()),
                             "only the arrays of HDF5 files are compressed",
                             "use a name that ends in .h5 or .hdf5, or leave --compress out"});
  if (is_npz(path)) return std::make_unique<NpzFile>(path);
  if (is_hdf5(path)) return std::make_unique<Hdf5ArrayFile>(path, compression);
  const std::string ending = path.extension().string();
  fail(ErrorKind::config,
       {fmt::format("cannot export to '{}'", path.string()),
        ending.empty()
            ? "the extension selects the format, but the name has none"
            : fmt::format("the extension selects the format, and '{}' is unknown", ending),
        "use a name that ends in .npz, .h5 or .hdf5 (tracker hits: .trackml; event records: .lhe "
        "or .hepmc)"});
}

}  // namespace wellspring
