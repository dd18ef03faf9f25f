// Ranks on two nodes, one of which loses its network.
#include "tests/cli/train_testing.h"

namespace wellspring::test {
namespace {

// The nodes are two network namespaces, joined by a cable, with a rank on each. After the first
// checkpoint, the second node's end of the cable goes down, while both processes live.
constexpr const char* kLoseNode = R"bash(set -euo pipefail
trap 'kill -KILL $(jobs -p)' EXIT
unshare --net sleep 300 &
node=/proc/$!/ns/net
until [[ $(readlink $node) != "$(readlink /proc/self/ns/net)" ]]; do sleep 0.05; done
ip link add left type veth peer name right netns $!
ip address add 10.0.0.1/24 dev left
ip link set left up
nsenter --net=$node ip address add 10.0.0.2/24 dev right
nsenter --net=$node ip link set right up
start() {  # NETWORK RANK
  RANK=$2 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 \
    exec nsenter --net="$1" "$WELLSPRING" train small.yaml threads=1 --rank-timeout 60 \
    train.steps=1000000 train.checkpoint_every=5 >"out.$2" 2>"err.$2"
}
start /proc/self/ns/net 0 & first=$!
start $node 1 & second=$!
for _ in {1..600}; do
  if compgen -G 'runs/small/checkpoints/step-*' >/dev/null; then break; fi
  sleep 0.1
done
compgen -G 'runs/small/checkpoints/step-*' >/dev/null || { echo "no checkpoint after 60 s"; exit 1; }
nsenter --net=$node ip link set right down
for rank in $first $second; do
  code=0; wait "$rank" || code=$?
  echo "exit code $code"
done
)bash";

class LostNode : public Train {};

/// Each rank's error names the other. Keep-alive probes (train/ranks/socket.cpp) end a connection
/// after about 30 s; without them, the error is that a rank has done nothing for 60 s. A rank that
/// only sends relies on TCP_USER_TIMEOUT, which this test does not reach.
TEST_F(LostNode, EndsTheRunsOfBothSides) {
  const Outcome probe =
      shell("unshare --map-root-user --net ip link add left type veth peer name right");
  if (probe.exit_code != 0)
    GTEST_SKIP() << "no network namespaces (Debian: iproute2; needs the right to create them)";
  const Outcome outcome = Process({"unshare", "--map-root-user", "--net", "bash", "-c", kLoseNode},
                                  folder(), {{"WELLSPRING", wellspring_path()}})
                              .wait();
  EXPECT_EQ(outcome.out, "exit code 1\nexit code 1\n") << outcome.err;
  expect_parts(slurp(folder() / "err.0"),
               {"rank 1 ended without reporting an error", "continues from its newest checkpoint"});
  expect_parts(slurp(folder() / "err.1"), {"rank 0 ended without reporting an error"});
}

}  // namespace
}  // namespace wellspring::test
