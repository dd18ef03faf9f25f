// Writes HDF5 files for the tests of data sets. Tests only; host only.
#pragma once

#include "core/io/hdf5.h"
#include "core/io/npy.h"

#include <filesystem>
#include <functional>
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

}  // namespace wellspring::test
