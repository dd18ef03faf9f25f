// Philox4x32-10, the counter-based random number generator that all draws use. Host and device.
//
// key = 64-bit seed, counter = (draw, purpose tag, 64-bit sample id): sample i is a pure function
// of (seed, purpose, i), independent of batch, thread count and device. With draw_lo/draw_hi in
// words 0/1 and the sample in words 2/3, the words equal cuRAND's curand_init(seed, sample, 4 *
// draw).
//
// Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC'11; constants of Philox4x32 from its table 2.
#pragma once

#include "kernels/runtime/macros.h"

#include <cstddef>
#include <cstdint>

/// Debug and sanitizer builds count the blocks drawn by host code, so that tests can check
/// generators' draw budgets.
#if (!defined(NDEBUG) || defined(WELLSPRING_SANITIZED)) && !defined(__CUDACC__)
#define WS_COUNTS_DRAWS 1
#include <atomic>
#include <type_traits>
#else
#define WS_COUNTS_DRAWS 0
#endif

namespace wellspring {

#if WS_COUNTS_DRAWS
namespace detail {
inline std::atomic<std::uint64_t> blocks_drawn{0};  ///< by all threads of this process
}
#endif

struct Philox4 {
  std::uint32_t word[4];
};

/// Ten rounds of Philox4x32 on `counter` with `key`.
WS_INLINE constexpr Philox4 philox4x32(Philox4 counter, std::uint64_t key) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t c0 = counter.word[0], c1 = counter.word[1];
  std::uint32_t c2 = counter.word[2], c3 = counter.word[3];
  WS_UNROLL(10)
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Known answers published with the authors' reference implementation (Random123, kat_vectors).
namespace detail {
constexpr bool equal(Philox4 a, std::uint32_t w0, std::uint32_t w1, std::uint32_t w2,
                     std::uint32_t w3) {
  return a.word[0] == w0 && a.word[1] == w1 && a.word[2] == w2 && a.word[3] == w3;
}
}  // namespace detail
static_assert(detail::equal(philox4x32({{0, 0, 0, 0}}, 0), 0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu,
                            0x9b00dbd8u));
static_assert(detail::equal(philox4x32({{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}},
                                       0xffffffffffffffffull),
                            0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
static_assert(detail::equal(philox4x32({{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}},
                                       0x299f31d0a4093822ull),
                            0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));

/// The purpose of a draw, with one tag per use, so that adding a draw changes no other draws.
enum class Purpose : std::uint32_t {
  scene = 1,    ///< parameters of a sample
  texture = 2,  ///< per-element values of a sample
  noise = 3,    ///< additive noise
  label = 4,    ///< class of a sample
  augment = 5,  ///< warp and colour operations
  order = 6,    ///< permutations of data sets and slots
  init = 7,     ///< initial weights
  dropout = 8,
  mix = 9,      ///< mixup, cutmix
  key = 10,     ///< derived keys of components with the same seed
  colour = 11,  ///< colours, independent of the shapes that they fill
};

/// The key for `name` under `seed`: Philox of the name's 64-bit FNV-1a hash. Therefore, no two
/// generators or sources of a run share random words.
constexpr std::uint64_t named_key(std::uint64_t seed, const char* name, std::size_t length) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3u;
  }
  const Philox4 block =
      philox4x32({{0, static_cast<std::uint32_t>(Purpose::key), static_cast<std::uint32_t>(hash),
                   static_cast<std::uint32_t>(hash >> 32)}},
                 seed);
  return block.word[0] | std::uint64_t{block.word[1]} << 32;
}
/// The same for std::string, std::string_view or a literal.
template <class Text>
constexpr std::uint64_t named_key(std::uint64_t seed, const Text& name) {
  return named_key(seed, name.data(), name.size());
}
template <std::size_t N>
constexpr std::uint64_t named_key(std::uint64_t seed, const char (&name)[N]) {
  return named_key(seed, name, N - 1);
}

/// Uniform in [0, 1) with 24 bits: every value is a multiple of 2^-24, hence exact.
WS_INLINE constexpr float unit_float(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
}
/// Uniform in (0, 1], for logarithms.
WS_INLINE constexpr float unit_float_open(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>((word >> 8) + 1u)) * 0x1p-24f;
}
/// Uniform integer in [0, n), by multiplication; the bias is below n / 2^32.
WS_INLINE constexpr std::uint32_t below(std::uint32_t word, std::uint32_t n) {
  return static_cast<std::uint32_t>((std::uint64_t{word} * n) >> 32);
}

/// The random numbers of one sample, with random access by (purpose, draw). Stateless.
struct SampleRng {
  std::uint64_t seed = 0;
  std::uint64_t sample = 0;

  /// Block `draw` (four words) of the stream for `purpose`.
  WS_INLINE constexpr Philox4 block(Purpose purpose, std::uint32_t draw) const {
#if WS_COUNTS_DRAWS
    if (!std::is_constant_evaluated()) {
      detail::blocks_drawn.fetch_add(1, std::memory_order_relaxed);
    }
#endif
    return philox4x32(
        {{draw, static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(sample),
          static_cast<std::uint32_t>(sample >> 32)}},
        seed);
  }
};

/// Draws words in sequence from the stream of one purpose. Scenes use it to draw a few numbers in a
/// fixed order. The number of draws must not depend on the launch.
class RngStream {
 public:
  WS_INLINE constexpr RngStream(SampleRng rng, Purpose purpose) : rng_(rng), purpose_(purpose) {}

  WS_INLINE constexpr std::uint32_t next() {
    const std::uint32_t lane = used_ & 3u;
    if (lane == 0) block_ = rng_.block(purpose_, used_ >> 2);
    ++used_;
    return block_.word[lane];
  }
  WS_INLINE constexpr float uniform() { return unit_float(next()); }
  WS_INLINE constexpr float uniform(float low, float high) {
    return low + (high - low) * uniform();
  }
  WS_INLINE constexpr std::uint32_t integer(std::uint32_t n) { return below(next(), n); }

 private:
  SampleRng rng_;
  Purpose purpose_;
  Philox4 block_{};
  std::uint32_t used_ = 0;
};

}  // namespace wellspring
