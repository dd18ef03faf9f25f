#include "core/io/sha256.h"

#include "core/error.h"

#include <fmt/format.h>
#include <openssl/evp.h>

namespace wellspring {
namespace {

/// OpenSSL fails here only if SHA-256 is unavailable (a restricted provider).
void check(int result) {
  if (result != 1)
    fail(ErrorKind::runtime, {"cannot compute SHA-256", "OpenSSL does not provide it"});
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(handle); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->handle == nullptr) throw std::bad_alloc();
  check(EVP_DigestInit_ex(context_->handle, EVP_sha256(), nullptr));
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(Bytes bytes) {
  check(EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()));
  return *this;
}

Sha256::Digest Sha256::digest() const {
  Context copy;  // finishing ends a context, so finish a copy
  if (copy.handle == nullptr) throw std::bad_alloc();
  Digest digest{};
  check(EVP_MD_CTX_copy_ex(copy.handle, context_->handle));
  check(EVP_DigestFinal_ex(copy.handle, digest.data(), nullptr));
  return digest;
}

std::string Sha256::hex() const {
  std::string text;
  for (const std::uint8_t byte : digest()) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace wellspring
