#include "kernels/ops/dropout.h"

#include "kernels/launch.h"

namespace wellspring::ops {

std::uint64_t dropout_key(std::uint64_t seed, std::string_view layer) {
  // FNV-1a, 64 bit (Fowler, Noll, Vo): the name as a sample id.
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : layer) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  const Philox4 block = SampleRng{seed, hash}.block(Purpose::dropout, 0);
  return block.word[0] | (std::uint64_t{block.word[1]} << 32);
}

void dropout(Stream& stream, const DropoutSpec& spec, const Slot* slots, const StepState* state,
             const void* x, void* y) {
  visit_float(spec.compute, [&]<class T>(T) {
    league(stream, "dropout", spec.rows * chunks(spec.columns), {kChunkTeam},
           DropoutApply<T>{static_cast<const T*>(x), static_cast<T*>(y), slots, state, spec.key,
                           spec.columns, chunks(spec.columns),
                           static_cast<std::uint32_t>(static_cast<double>(spec.rate) * 0x1p32),
                           1 / (1 - spec.rate)});
  });
}

}  // namespace wellspring::ops
