// Checksums (CRC-32) of images resized and cropped with Pillow 12.3.0, printed by
// tests/truth/pillow_values.py.
#pragma once

#include <cstdint>

namespace wellspring::test {

struct ResizedByPillow {
  int width, height, side;
  std::uint32_t checksum;
};

// clang-format off
inline constexpr ResizedByPillow kResizedByPillow[] = {
    {50, 37, 16, 0xbd5b53cf},
    {20, 33, 48, 0x8888f378},
    {64, 64, 32, 0xa2958cc5},
    {100, 9, 7, 0x22e7eb5e},
    {31, 47, 30, 0x37f47409},
    {47, 31, 31, 0x298d8647},
    {500, 375, 224, 0x2a9292c6},
    {333, 500, 224, 0xdb9ceddf},
    {333, 501, 256, 0xaa54df13},
    {17, 18, 17, 0x51a9c4c0},
    {17, 20, 17, 0xe963f635},
    {5, 4, 33, 0xe324c1c4},
    {1, 7, 3, 0xfbaaa3aa},
    {640, 427, 1, 0x1c9bea0a},
    {35, 77, 32, 0x267a0254},
};
// clang-format on

}  // namespace wellspring::test
