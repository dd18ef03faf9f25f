// Compares SHA-256, CRC-32C and base64 with their published vectors.
#include "core/io/base64.h"
#include "core/io/crc32c.h"
#include "core/io/sha256.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

std::string sha256(std::string_view text) {
  return Sha256().update(bytes_of(text)).hex();
}

TEST(Sha256, MatchesFips180Vectors) {  // FIPS 180-2, appendix B
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, HashesInPiecesAndContinuesAfterADigest) {
  Sha256 hash;
  for (const char c : std::string_view("ab")) hash.update(bytes_of(std::string_view(&c, 1)));
  EXPECT_EQ(hash.hex(), sha256("ab"));
  hash.update(bytes_of("c"));
  EXPECT_EQ(hash.hex(), sha256("abc"));
  EXPECT_EQ(hash.digest()[0], 0xba);
}

TEST(Crc32c, MatchesPublishedVectors) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8A9136AAu);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62A8AB43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(bytes_of(rising)), 0x46DD794Eu);
}

TEST(Crc32c, MasksByRotatingRight) {
  static_assert(masked_crc(0) == 0xa282ead8u);
  static_assert(masked_crc(0x00008000u) == 0xa282ead9u);  // bit 15 rotates to bit 0
}

TEST(Base64, MatchesRfc4648Vectors) {  // RFC 4648, section 10
  EXPECT_EQ(base64(bytes_of("")), "");
  EXPECT_EQ(base64(bytes_of("f")), "Zg==");
  EXPECT_EQ(base64(bytes_of("fo")), "Zm8=");
  EXPECT_EQ(base64(bytes_of("foo")), "Zm9v");
  EXPECT_EQ(base64(bytes_of("foob")), "Zm9vYg==");
  EXPECT_EQ(base64(bytes_of("fooba")), "Zm9vYmE=");
  EXPECT_EQ(base64(bytes_of("foobar")), "Zm9vYmFy");
  EXPECT_EQ(base64(bytes_of("\xff\xfe\xfd")), "//79");
}

}  // namespace
}  // namespace wellspring
