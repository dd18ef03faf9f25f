// Writes and opens files for the tests of data sets. Tests only; host only.
#pragma once

#include "core/io/hdf5.h"
#include "core/io/npy.h"
#include "sources/files/format.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {

inline void write_hdf5(const std::filesystem::path& path,
                       const std::function<void(Hdf5Writer&)>& fill) {
  Hdf5Writer file(path);
  fill(file);
  file.commit();
}

/// Writes a whole array.
template <class T>
Hdf5Writer::Array add(Hdf5Writer& file, const std::string& name, ElementType type,
                      std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto array = file.open(name, {type, std::move(shape)});
  file.append(array, bytes_of(values));
  return array;
}

/// All numbers of an array as doubles, which is exact for f32 and for integers below 2^53.
inline std::vector<double> hdf5_values(const std::filesystem::path& path, const std::string& name) {
  const Hdf5File file(path);
  const Hdf5Array array = file.array(name);
  std::vector<double> all(static_cast<std::size_t>(array.shape()[0] * array.row_elements()));
  if (!all.empty()) array.read(0, array.shape()[0], all.data());
  return all;
}

/// Files in a temporary folder, opened as data sets.
class DatasetFiles : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  std::unique_ptr<Dataset> open(const std::string& name,
                                std::vector<ParamSetting> settings = {}) const {
    return open_dataset({.path = path(name), .settings = std::move(settings)});
  }
  /// Message of the error from opening the file.
  std::string refused(const std::string& name, std::vector<ParamSetting> settings = {}) const {
    return message_of(ErrorKind::data, [&] { open(name, std::move(settings)); });
  }
  void write(const std::string& name, const std::function<void(Hdf5Writer&)>& fill) const {
    write_hdf5(path(name), fill);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace wellspring::test
