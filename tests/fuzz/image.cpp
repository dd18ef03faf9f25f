// Headers and pixels of JPEG and PNG files. Images of more than a million pixels are not decoded:
// they take time and cover no new code.
#include "sources/files/image_codec.h"
#include "tests/fuzz/fuzz.h"

using namespace wellspring;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ImageDecoder decoder;
  const fuzz::Input encoded(data, size);
  try {
    (void)decoder.has_header(encoded);
    const ImageHeader header = decoder.header(encoded);
    fuzz::expect(header.width > 0 && header.height > 0, "an image has an extent");
    fuzz::expect(header.bits == 8 || header.bits == 16, "a channel has 8 or 16 bits");
    const auto pixels =
        static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height);
    if (pixels > 1'000'000) return 0;
    std::vector<std::uint8_t> rgb(pixels * 3);
    decoder.decode(encoded, header, rgb.data());
  } catch (const ImageError& error) {
    fuzz::expect(*error.what() != '\0', "a refusal says why");
  }
  return 0;
}
