// The same images as a folder, an archive, NumPy arrays and CIFAR files. Tests only; host only.
#pragma once

#include "tests/support/image_fixtures.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {

/// Labelled 8-bit images of shape [side, side, 3].
struct LabelledImages {
  int side = 0;
  std::vector<std::string> classes;
  std::vector<Bytes> rgb;
  std::vector<std::int32_t> label;
};

/// Noise images, sorted by class, which is the order in which folders are read.
LabelledImages labelled_noise(int classes, int per_class, int side);

/// Writes PNG files, with one folder per class.
void write_as_folder(const std::filesystem::path& folder, const LabelledImages& images);
/// A WebDataset shard with class indices.
void write_as_shard(const std::filesystem::path& path, const LabelledImages& images);
void write_as_tar(const std::filesystem::path& path, const LabelledImages& images);
void write_as_zip(const std::filesystem::path& path, const LabelledImages& images);
/// Writes x.npy, y.npy (int64) and classes.txt to `folder`.
void write_as_npy(const std::filesystem::path& folder, const LabelledImages& images);
/// Writes 32-pixel images as data_batch_1.bin, data_batch_2.bin..., and batches.meta.txt.
void write_as_cifar(const std::filesystem::path& folder, const LabelledImages& images,
                    int files = 2);

}  // namespace wellspring::test
