// Format `cifar`: CIFAR-10 and CIFAR-100, binary version. A record holds labels (CIFAR-10: one
// byte; CIFAR-100: coarse, then fine) and 32x32 pixels as three planes, red, green, blue. Source:
// A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009, and its web page.
#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/io/files.h"
#include "core/text/plural.h"
#include "sources/files/class_names.h"
#include "sources/files/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 32;
constexpr std::int64_t kPlane = kSide * kSide, kPixels = 3 * kPlane;
constexpr const char* kNames10 = "batches.meta.txt";
constexpr const char* kFineNames100 = "fine_label_names.txt";
constexpr const char* kCoarseNames100 = "coarse_label_names.txt";

enum class Split : std::uint8_t { train, test };
enum class Labels : std::uint8_t { fine, coarse };

struct CifarSettings {
  Split split = Split::train;
  Labels labels = Labels::fine;
};

const ParamTable<CifarSettings>& cifar_table() {
  static const auto table =
      ParamTable<CifarSettings>("cifar")
          .choice("split", &CifarSettings::split, {{"train", Split::train}, {"test", Split::test}},
                  "files to read from a folder: data_batch_*.bin or train.bin; test_batch.bin or "
                  "test.bin")
          .choice("labels", &CifarSettings::labels,
                  {{"fine", Labels::fine}, {"coarse", Labels::coarse}},
                  "CIFAR-100: 100 classes, or their 20 superclasses");
  return table;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& problem, const std::string& why,
                         const std::string& advice) {
  fail(ErrorKind::data, {path.string() + ": " + problem, why, advice});
}

fs::path batch_name(int number) {
  return fmt::format("data_batch_{}.bin", number);
}

/// Files of a split in a folder of either data set.
std::vector<fs::path> split_files(const fs::path& folder, Split split) {
  if (split == Split::test) {
    return {fs::exists(folder / "test.bin") ? folder / "test.bin" : folder / "test_batch.bin"};
  }
  if (fs::exists(folder / "train.bin")) return {folder / "train.bin"};
  int last = 1;  // files missing in between are reported by name
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    for (int number = 1; number <= 9; ++number) {
      if (entry.path().filename() == batch_name(number)) last = std::max(last, number);
    }
  }
  std::vector<fs::path> files;
  for (int number = 1; number <= last; ++number) files.push_back(folder / batch_name(number));
  return files;
}

/// Error for the Python version, whose files are pickles.
void refuse_pickles(const fs::path& folder) {
  for (const char* const name : {"data_batch_1", "test_batch", "train", "test"}) {
    const fs::path path = folder / name;
    if (!fs::is_regular_file(path) || file_kind(InputFile(path)) != FileKind::pickle) continue;
    refuse(path, "a Python pickle", "only the binary version is read",
           "fetch the binary version, or convert CIFAR-10's archive: scripts/fetch-cifar10 DIR "
           "--archive cifar-10-python.tar.gz");
  }
}

class CifarRows final : public Dataset {
 public:
  CifarRows(const DatasetRequest& request, const CifarSettings& settings)
      : path_(request.path), limit_(request.limit_per_class) {
    const bool is_folder = fs::is_directory(request.path);
    if (!is_folder) require_file(request.path);
    const fs::path folder = is_folder ? request.path : request.path.parent_path();
    if (is_folder && !fs::exists(folder / kNames10)) refuse_pickles(folder);
    const bool hundred = fs::exists(folder / kFineNames100) || fs::exists(folder / kCoarseNames100);
    label_bytes_ = hundred ? 2 : 1;
    const bool coarse = settings.labels == Labels::coarse;
    if (coarse && !hundred) {
      refuse(folder, "labels: coarse",
             "only CIFAR-100 has coarse labels, but there is no " + std::string(kCoarseNames100),
             "remove labels:");
    }
    const fs::path names =
        folder / (hundred ? (coarse ? kCoarseNames100 : kFineNames100) : kNames10);
    classes_ = read_class_names(names);
    for (const fs::path& file :
         is_folder ? split_files(folder, settings.split) : std::vector<fs::path>{request.path}) {
      add_file(file, names, hundred && !coarse ? 1 : 0);
    }
    rows_ = first_of_each_class(labels_, limit_);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  RowLayout layout() const override {
    return {SampleLayout::image(kSide, kSide, 3), ElementType::u8};
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::int64_t row) const override {
    return labels_[static_cast<std::size_t>(rows_[static_cast<std::size_t>(row)])];
  }
  std::string location(std::int64_t row) const override {
    const auto [file, record] = find(row);
    return fmt::format("{}: record {}", file->file.path().string(), record);
  }
  std::string place(std::int64_t row) const override {
    const auto [file, record] = find(row);
    return fmt::format("{}: record {}", file->canonical.string(), record);
  }
  std::string summary() const override {
    std::string text =
        fmt::format("{} of {}, {}x{}, from {}", counted(size(), "image"),
                    counted(classes_.size(), "class", "classes"), kSide, kSide, path_.string());
    if (files_.size() > 1) text += fmt::format(" ({} files)", files_.size());
    if (limit_ > 0) text += fmt::format(", first {} of each class", limit_);
    return text;
  }
  std::string size_advice(ImageSize /*size*/) const override {
    return fmt::format("set data.size: {}", kSide);
  }
  std::unique_ptr<RowReader> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const CifarRows& data) : data_(data) {}
    void check(std::int64_t /*row*/) override {}  // sizes and labels are checked when opening
    void read(std::int64_t row, std::uint8_t* out) override {
      const auto [file, record] = data_.find(row);
      const std::int64_t offset = record * data_.record_bytes() + data_.label_bytes_;
      file->file.read(static_cast<std::uint64_t>(offset),
                      std::as_writable_bytes(std::span(planes_)));
      for (std::size_t i = 0; i < kPlane; ++i) {
        for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = planes_[c * kPlane + i];
      }
    }

   private:
    const CifarRows& data_;
    std::array<std::uint8_t, kPixels> planes_;
  };

  struct File {
    InputFile file;
    fs::path canonical;
    std::int64_t first = 0;  ///< row of the file's first record
  };
  struct Record {
    const File* file;
    std::int64_t number;
  };

  std::int64_t record_bytes() const { return label_bytes_ + kPixels; }

  Record find(std::int64_t row) const {
    const std::int64_t stored = rows_[static_cast<std::size_t>(row)];
    const auto after =
        std::upper_bound(files_.begin(), files_.end(), stored,
                         [](std::int64_t value, const File& file) { return value < file.first; });
    const File& file = *(after - 1);
    return {&file, stored - file.first};
  }

  /// Checks a file and reads its labels from byte `label_at` of every record.
  void add_file(const fs::path& path, const fs::path& names, std::int64_t label_at) {
    require_file(path);
    InputFile file(path);
    const auto size = static_cast<std::int64_t>(file.size());
    if (size == 0 || size % record_bytes() != 0) {
      refuse(path, counted(size, "byte"),
             fmt::format("a record has {} bytes: {} and {} pixels", record_bytes(),
                         counted(label_bytes_, "label"), kPixels),
             "it is truncated or not CIFAR: copy or unpack it again");
    }
    const auto first = static_cast<std::int64_t>(labels_.size());
    constexpr std::int64_t kRecordsPerRead = 1024;
    std::vector<std::byte> bytes;
    for (std::int64_t begin = 0; begin < size; begin += std::ssize(bytes)) {
      bytes.resize(
          static_cast<std::size_t>(std::min(kRecordsPerRead * record_bytes(), size - begin)));
      file.read(static_cast<std::uint64_t>(begin), bytes);
      for (std::int64_t at = label_at; at < std::ssize(bytes); at += record_bytes())
        add_label(path, names, static_cast<std::int32_t>(bytes[static_cast<std::size_t>(at)]),
                  (begin + at) / record_bytes());
    }
    files_.push_back({std::move(file), fs::weakly_canonical(path), first});
  }

  void add_label(const fs::path& path, const fs::path& names, std::int32_t label,
                 std::int64_t record) {
    if (label >= static_cast<std::int32_t>(classes_.size())) {
      refuse(path, fmt::format("record {} has label {}", record, label),
             fmt::format("{} has {}, 0 to {}", names.string(),
                         counted(classes_.size(), "class", "classes"), classes_.size() - 1),
             "the file is damaged or not CIFAR: copy or unpack it again");
    }
    labels_.push_back(label);
  }

  fs::path path_;
  std::int64_t label_bytes_ = 1;
  std::vector<std::string> classes_;
  std::vector<File> files_;
  std::vector<std::int32_t> labels_;  ///< labels of all records
  std::vector<std::int64_t> rows_;    ///< indices of the records kept
  std::int64_t limit_ = 0;
};

bool is_cifar(const fs::path& path) {
  if (path.extension() == ".bin") return true;
  for (const char* const name :
       {"data_batch_1.bin", "test_batch.bin", "train.bin", "test.bin", "data_batch_1"}) {
    if (fs::exists(path / name)) return true;
  }
  return false;
}

}  // namespace

DatasetFormat cifar_format() {
  return {"cifar",
          "CIFAR-10 and CIFAR-100, binary version",
          "PATH is a folder with data_batch_1.bin to data_batch_5.bin, test_batch.bin and "
          "batches.meta.txt (CIFAR-10), or train.bin, test.bin, fine_label_names.txt and "
          "coarse_label_names.txt (CIFAR-100), or one .bin file next to the file of class names.",
          cifar_table().rows(),
          is_cifar,
          [](const DatasetRequest& request) -> std::unique_ptr<Dataset> {
            return std::make_unique<CifarRows>(request,
                                               cifar_table().read(request.settings, request.place));
          }};
}

}  // namespace wellspring
