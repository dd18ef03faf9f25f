// SHA-256 of a byte stream. Called by digests, checkpoints and tests; host only.
#pragma once

#include "core/io/bytes.h"

#include <array>
#include <memory>
#include <string>

namespace wellspring {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  Sha256& update(Bytes bytes);
  /// Digest of all bytes so far. More bytes may follow.
  Digest digest() const;
  /// The same as 64 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace wellspring
