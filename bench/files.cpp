// Rates of reading data sets with one thread: JPEG images compared with libjpeg-turbo itself, rows
// of .npy files, and of their caches, with a copy in memory. The files are in the page cache.
#include "core/io/files.h"

#include "bench/measure.h"
#include "core/error.h"
#include "core/io/npy.h"
#include "core/io/scratch_folder.h"
#include "core/text/text.h"
#include "kernels/random/random_memory.h"
#include "sources/datasets/cached_rows.h"
#include "sources/files/format.h"

#include <fmt/format.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wellspring::bench {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

constexpr int kPhotoSide = 224;  ///< pixels, the usual size of ImageNet's training images
constexpr int kImages = 256;     ///< 37 MiB of pixels, more than most caches hold
constexpr int kQuality = 90;     ///< JPEG quality
constexpr std::size_t kPixelBytes = std::size_t{kPhotoSide} * kPhotoSide * 3;

ScratchFolder scratch_folder() {
  return {fs::temp_directory_path() / "wellspring-bench-",
          [](const fs::path& path, const std::string& reason) {
            fail(ErrorKind::runtime,
                 {path.string() + ": cannot create this folder", reason, "set TMPDIR"});
          }};
}

/// Waves of colour with some noise. At this quality a file has 0.2 bytes per value.
Bytes picture(int number) {
  const std::vector<std::uint16_t> noise =
      ordinary_numbers(2 * kPixelBytes, static_cast<std::uint64_t>(number));
  Bytes pixels(kPixelBytes);
  for (int y = 0; y < kPhotoSide; ++y)
    for (int x = 0; x < kPhotoSide; ++x)
      for (int c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>((y * kPhotoSide + x) * 3 + c);
        const double wave =
            std::sin(0.05 * (c + 1) * x + number) + std::cos(0.04 * (3 - c) * y + 2 * number);
        pixels[at] = static_cast<std::uint8_t>(120 + 50 * wave + noise[at] % 16);
      }
  return pixels;
}

[[noreturn]] void fail_jpeg(tjhandle handle) {
  fail(ErrorKind::runtime, {"libjpeg-turbo failed", tjGetErrorStr2(handle), ""});
}

Bytes jpeg(const Bytes& pixels) {
  const std::unique_ptr<void, decltype(&tjDestroy)> handle(tjInitCompress(), &tjDestroy);
  unsigned char* encoded = nullptr;
  unsigned long size = 0;
  if (tjCompress2(handle.get(), pixels.data(), kPhotoSide, 0, kPhotoSide, TJPF_RGB, &encoded, &size,
                  TJSAMP_420, kQuality, 0) != 0)
    fail_jpeg(handle.get());
  Bytes bytes(encoded, encoded + size);
  tjFree(encoded);
  return bytes;
}

/// Work on the images one after another, in images.
template <class Each>
Work per_image(Each each) {
  return {[each, next = std::int64_t{0}]() mutable { each(next++ % kImages); }, 1};
}

void bench_jpeg(Report& report, const Filter& filter) {
  const std::string decoding = fmt::format("JPEG {0}x{0}, decoding, one thread", kPhotoSide);
  const std::string reading =
      fmt::format("JPEG {0}x{0}, reading and decoding, one thread", kPhotoSide);
  if (!filter.matches(decoding) && !filter.matches(reading)) return;
  const ScratchFolder folder = scratch_folder();
  fs::create_directories(folder.path() / "images");
  std::vector<Bytes> files;
  for (int i = 0; i < kImages; ++i) {
    files.push_back(jpeg(picture(i)));
    OutputFile file(folder.path() / "images" / fmt::format("{:03}.jpg", i),
                    OutputFile::Mode::replace);
    file.write(std::string(files.back().begin(), files.back().end()));
    file.finish();
  }
  const auto rows = open_dataset({.path = folder.path(), .threads = 1});
  const auto reader = rows->reader();
  Bytes pixels(kPixelBytes);
  const std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), &tjDestroy);
  // The flags of sources/files/image_codec.cpp: exact inverse DCT.
  const Work bound = per_image([&](std::int64_t i) {
    const Bytes& file = files[static_cast<std::size_t>(i)];
    if (tjDecompress2(decoder.get(), file.data(), file.size(), pixels.data(), kPhotoSide, 0,
                      kPhotoSide, TJPF_RGB, TJFLAG_ACCURATEDCT) != 0)
      fail_jpeg(decoder.get());
  });
  const auto add = [&](const std::string& name, const Work& work) {
    if (filter.matches(name))
      report.add(measure(name, "images/s", work, {"libjpeg-turbo alone, in memory", bound},
                         report.repeats));
  };
  add(decoding, per_image([&](std::int64_t i) {
        reader->decode(i, files[static_cast<std::size_t>(i)], pixels.data());
      }));
  add(reading, per_image([&](std::int64_t i) { reader->read(i, pixels.data()); }));
}

void bench_npy(Report& report, const Filter& filter) {
  const std::string shape = fmt::format("{0}x{0}x3 u8, one thread", kPhotoSide);
  struct Case {
    std::string name;
    std::optional<CacheMedium> cache;
  };
  const std::vector<Case> cases = {{"npy " + shape, std::nullopt},
                                   {"npy in host memory " + shape, CacheMedium::ram},
                                   {"npy in /dev/shm " + shape, CacheMedium::shm}};
  if (std::ranges::none_of(cases, [&](const Case& c) { return filter.matches(c.name); })) return;
  const ScratchFolder folder = scratch_folder();
  Bytes all;
  for (int i = 0; i < kImages; ++i) {
    const Bytes pixels = picture(i);
    all.insert(all.end(), pixels.begin(), pixels.end());
  }
  const fs::path path = folder.path() / "x.npy";
  write_npy(path, {ElementType::u8, {kImages, kPhotoSide, kPhotoSide, 3}},
            std::as_bytes(std::span(all)));
  for (const Case& c : cases) {
    if (!filter.matches(c.name)) continue;
    std::unique_ptr<Dataset> rows = open_dataset({.path = path, .threads = 1, .labelled = false});
    std::vector<std::byte> memory;
    if (c.cache) {
      rows = std::make_unique<CachedRows>(
          std::move(rows), CachedRows::Options{.tiers = {{.medium = *c.cache}},
                                               .where = c.name,
                                               .node = {.job = folder.path().string()},
                                               .key = "x"});
      memory.resize(static_cast<std::size_t>(rows->held_bytes()));
      rows->hold(memory);
    }
    const auto reader = rows->reader();
    Bytes pixels(kPixelBytes);
    report.add(measure(
        c.name, "images/s", per_image([&](std::int64_t i) { reader->read(i, pixels.data()); }),
        {"a copy in memory", per_image([&](std::int64_t i) {
           std::memcpy(pixels.data(), all.data() + static_cast<std::size_t>(i) * kPixelBytes,
                       kPixelBytes);
         })},
        report.repeats));
  }
}

}  // namespace

void bench_files(Report& report, const Filter& filter) {
  bench_jpeg(report, filter);
  bench_npy(report, filter);
}

}  // namespace wellspring::bench
