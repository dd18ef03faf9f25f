// Headers and pixels of image files, in sequences: "<next>" separates the files in an input, and
// one reader must decode them exactly as separate readers would. Images of more than a million
// pixels are not decoded, because they take time and cover no new code.
#include "sources/files/image_codec.h"
#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <optional>

using namespace wellspring;

namespace {

using Pixels = std::vector<std::uint8_t>;

/// Returns nothing for a refused file.
std::optional<Pixels> decoded(ImageDecoder& decoder, fuzz::Input encoded) {
  try {
    (void)decoder.has_header(encoded);
    const ImageHeader header = decoder.header(encoded);
    fuzz::expect(header.width > 0 && header.height > 0, "an image has an extent");
    fuzz::expect(header.bits == 8 || header.bits == 16, "a channel has 8 or 16 bits");
    const auto pixels =
        static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height);
    if (pixels > 1'000'000) return Pixels();
    Pixels rgb(pixels * 3);
    decoder.decode(encoded, header, rgb.data());
    return rgb;
  } catch (const ImageError& error) {
    fuzz::expect(*error.what() != '\0', "a refusal says why");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kNext = "<next>";
  ImageDecoder reader;
  fuzz::Input rest(data, size);
  for (bool more = true; more;) {
    const std::size_t length = std::min(fuzz::text_of(rest).find(kNext), rest.size());
    ImageDecoder fresh;
    fuzz::expect(decoded(reader, rest.first(length)) == decoded(fresh, rest.first(length)),
                 "an image does not depend on earlier ones");
    more = length < rest.size();
    if (more) rest = rest.subspan(length + kNext.size());
  }
  return 0;
}
