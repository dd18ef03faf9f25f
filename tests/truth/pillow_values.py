#!/usr/bin/env python3
"""Prints tests/sources/files/pillow_values.h: checksums of images from a formula, resized with Pillow.

torchvision's Resize and CenterCrop of a Pillow image call Pillow with the sizes and offsets below
(_compute_resized_output_size and center_crop in transforms/functional.py of torchvision). Only this script needs Pillow
(before 13), so the test reads the printed values. If the height shrinks much more than the width, as in the
last case, Pillow 13 resizes rows before columns, which changes some values by 1.
"""
import zlib

import PIL
from PIL import Image

CASES = [(50, 37, 16), (20, 33, 48), (64, 64, 32), (100, 9, 7), (31, 47, 30), (47, 31, 31), (500, 375, 224),
         (333, 500, 224), (333, 501, 256), (17, 18, 17), (17, 20, 17), (5, 4, 33), (1, 7, 3), (640, 427, 1), (35, 77, 32)]


def image(width, height):
    return Image.frombytes("RGB", (width, height), bytes((i * i * 7 + i * 13) % 251 for i in range(3 * width * height)))


def resized(source, side):
    width, height = source.size
    short, long = min(width, height), max(width, height)
    longer = int(side * long / short)
    source = source.resize((side, longer) if width <= height else (longer, side), Image.Resampling.BILINEAR)
    left, top = (int(round((length - side) / 2.0)) for length in source.size)
    return source.crop((left, top, left + side, top + side))


print(f"""// Checksums (CRC-32) of images resized and cropped with Pillow {PIL.__version__}, printed by
// tests/truth/pillow_values.py.
#pragma once

#include <cstdint>

namespace wellspring::test {{

struct ResizedByPillow {{
  int width, height, side;
  std::uint32_t checksum;
}};

// clang-format off
inline constexpr ResizedByPillow kResizedByPillow[] = {{""")
for width, height, side in CASES:
    checksum = zlib.crc32(resized(image(width, height), side).tobytes())
    print(f"    {{{width}, {height}, {side}, 0x{checksum:08x}}},")
print("""};
// clang-format on

}  // namespace wellspring::test""")
