#include "train/ranks/tcp_communicator.h"

#include "core/expect.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace wellspring {
namespace {

/// Part `i` of n nearly equal parts of the values; i may be negative or beyond n.
template <class T>
std::span<T> part(std::span<T> values, int i, int n) {
  const auto at = static_cast<std::size_t>((i % n + n) % n), parts = static_cast<std::size_t>(n);
  const std::size_t begin = values.size() * at / parts, end = values.size() * (at + 1) / parts;
  return values.subspan(begin, end - begin);
}

/// First, every rank adds its values to the parts that pass through it, and so ends up with the
/// total of one part. Then the totals travel around the ring.
template <class T>
void sum_around(Ring& ring, RankCall call, std::span<T> values, std::vector<std::byte>& arriving) {
  const int n = ring.size(), rank = ring.rank();
  const std::size_t parts = static_cast<std::size_t>(n),
                    largest = (values.size() + parts - 1) / parts;
  if (arriving.size() < largest * sizeof(T)) arriving.resize(largest * sizeof(T));
  for (int step = 0; step < n - 1; ++step) {
    const std::span<T> own = part(values, rank - step - 1, n);
    const std::span<T> in = std::span(reinterpret_cast<T*>(arriving.data()), own.size());
    ring.exchange(call, std::as_bytes(part(values, rank - step, n)), std::as_writable_bytes(in));
    std::transform(in.begin(), in.end(), own.begin(), own.begin(), std::plus<T>());
  }
  for (int step = 0; step < n - 1; ++step)
    ring.exchange(call, std::as_bytes(part(values, rank - step + 1, n)),
                  std::as_writable_bytes(part(values, rank - step, n)));
}

}  // namespace

void TcpCommunicator::all_reduce(Stream& stream, float* values, std::int64_t count) {
  WS_EXPECT(stream.device().is_cpu());
  stream.run(NodeKind::kernel, "all reduce", [this, values, count] {
    sum_around(ring_, RankCall::all_reduce_f32, std::span(values, static_cast<std::size_t>(count)),
               arriving_);
  });
}

void TcpCommunicator::all_reduce(std::span<double> values) {
  sum_around(ring_, RankCall::all_reduce_f64, values, arriving_);
}

/// Every rank passes on one piece while it receives the next.
void TcpCommunicator::broadcast(std::span<std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    const std::span piece = bytes.subspan(begin, std::min(kPiece, bytes.size() - begin));
    if (rank() > 0) ring_.receive(RankCall::broadcast, piece);
    if (rank() + 1 < size()) ring_.send(RankCall::broadcast, piece);
  }
}

/// After n - 1 exchanges, every rank has heard from all others.
void TcpCommunicator::barrier() {
  for (int step = 0; step < size() - 1; ++step) ring_.exchange(RankCall::barrier, {}, {});
}

}  // namespace wellspring
