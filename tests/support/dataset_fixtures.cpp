#include "tests/support/dataset_fixtures.h"

#include "core/io/npy.h"
#include "tests/support/npz_fixtures.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>

#include <span>

namespace wellspring::test {
namespace {

std::string names_text(const LabelledImages& images) {
  std::string text;
  for (const std::string& name : images.classes) text += name + "\n";
  return text;
}

std::string file_name(const LabelledImages& images, std::size_t i) {
  return fmt::format("{}/{:04}.png", images.classes[static_cast<std::size_t>(images.label[i])], i);
}

}  // namespace

LabelledImages labelled_noise(int classes, int per_class, int side) {
  LabelledImages images;
  images.side = side;
  for (int c = 0; c < classes; ++c) {
    images.classes.push_back(fmt::format("class{}", c));
    for (int i = 0; i < per_class; ++i) {
      images.rgb.push_back(noise_rgb(side, side, static_cast<std::uint32_t>(1000 * c + i)));
      images.label.push_back(c);
    }
  }
  return images;
}

void write_as_folder(const std::filesystem::path& folder, const LabelledImages& images) {
  for (std::size_t i = 0; i < images.rgb.size(); ++i) {
    write_bytes(folder / file_name(images, i), encode_png(images.rgb[i], images.side, images.side));
  }
}

void write_as_tar(const std::filesystem::path& path, const LabelledImages& images) {
  TarWriter tar;
  for (std::size_t i = 0; i < images.rgb.size(); ++i) {
    tar.add(file_name(images, i), encode_png(images.rgb[i], images.side, images.side));
  }
  write_bytes(path, tar.finish());
}

void write_as_shard(const std::filesystem::path& path, const LabelledImages& images) {
  TarWriter tar;
  for (std::size_t i = 0; i < images.rgb.size(); ++i) {
    const std::string label = std::to_string(images.label[i]), name = std::to_string(i);
    tar.add(name + ".png", encode_png(images.rgb[i], images.side, images.side));
    tar.add(name + ".cls", {label.begin(), label.end()});
  }
  write_bytes(path, tar.finish());
}

void write_as_zip(const std::filesystem::path& path, const LabelledImages& images) {
  std::vector<std::pair<std::string, std::string>> members;
  for (std::size_t i = 0; i < images.rgb.size(); ++i) {
    const Bytes png = encode_png(images.rgb[i], images.side, images.side);
    members.emplace_back(file_name(images, i), std::string(png.begin(), png.end()));
  }
  write_zip(path, members, zip::kDeflated);
}

void write_as_npy(const std::filesystem::path& folder, const LabelledImages& images) {
  std::filesystem::create_directories(folder);
  const auto rows = static_cast<std::int64_t>(images.rgb.size());
  Bytes all;
  for (const Bytes& rgb : images.rgb) all.insert(all.end(), rgb.begin(), rgb.end());
  write_npy(folder / "x.npy", {ElementType::u8, {rows, images.side, images.side, 3}},
            std::as_bytes(std::span(all)));
  const std::vector<std::int64_t> labels(images.label.begin(), images.label.end());
  write_npy(folder / "y.npy", {ElementType::i64, {rows}}, std::as_bytes(std::span(labels)));
  spill(folder / "classes.txt", names_text(images));
}

void write_as_cifar(const std::filesystem::path& folder, const LabelledImages& images, int files) {
  std::filesystem::create_directories(folder);
  const std::size_t plane = 32 * 32, count = images.rgb.size();
  const auto parts = static_cast<std::size_t>(files);
  for (std::size_t f = 0; f < parts; ++f) {
    Bytes bytes;
    for (std::size_t i = f * count / parts; i < (f + 1) * count / parts; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(images.label[i]));
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t p = 0; p < plane; ++p) bytes.push_back(images.rgb[i][3 * p + c]);
      }
    }
    write_bytes(folder / fmt::format("data_batch_{}.bin", f + 1), bytes);
  }
  spill(folder / "batches.meta.txt", names_text(images) + "\n");
}

}  // namespace wellspring::test
