"""Runs of several ranks with a GPU each, on the stand-in and its NCCL.

Usage: ranks_test.py WELLSPRING NCCL_FOLDER
"""

import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

CONFIG = """name: ranks
device: cuda
threads: 1
data: {size: 16, sources: [{name: shapes, generator: shapes}]}
model: {name: mlp, widths: [8]}
optimizer: {kind: sgd, lr: 0.01}
train: {batch: 12, steps: 12, log_every: 4, checkpoint_every: 4}
"""

wellspring = sys.argv[1]
environment = dict(os.environ, LD_LIBRARY_PATH=sys.argv[2])


def weights(run):
    """The tensors of the last checkpoint."""
    data = (run / "checkpoints/step-12/model.safetensors").read_bytes()
    values = data[8 + struct.unpack("<Q", data[:8])[0] :]
    return struct.unpack(f"<{len(values) // 4}f", values)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "ranks.yaml").write_text(CONFIG)

    def command(ranks, out, *settings):
        return [wellspring, "train", "ranks.yaml", f"--ranks={ranks}", f"out={out}", *settings]

    results = {}
    for out, ranks, settings in (
        ("one", 1, ["precision=f32"]),
        ("two", 2, ["precision=f32"]),
        ("again", 2, ["precision=f32"]),
        ("eager", 2, ["precision=f32", "train.graph=off"]),
        ("three", 3, ["precision=f32"]),
        ("bf16", 2, ["precision=bf16"]),
    ):
        done = subprocess.run(
            command(ranks, out, *settings), cwd=folder, env=environment, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, f"{out}: {done.stderr}"
        results[out] = weights(folder / out)
    assert results["two"] == results["again"] == results["eager"], "runs of two ranks differ"
    # Gradients of 12 rows: sums in a different order differ by at most 12 u of their largest partial sum, in 12 steps
    # with a rate of 0.01. Partial sums of this network stay below 100.
    bound = 12 * 12 * 0.01 * 100 * 2**-24
    for out in ("two", "three"):
        worst = max(abs(a - b) for a, b in zip(results["one"], results[out]))
        assert 0 < worst < bound, f"{out}: {worst} against {bound}"

    # A killed rank ends the others, although their devices may wait for its part of a sum: within 9 s, before the
    # process that started them does it.
    for i in range(6):
        run = subprocess.Popen(
            command(3, f"killed{i}", "train.steps=1000000"),
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while run.poll() is None and not (folder / f"killed{i}/checkpoints").exists():
            time.sleep(0.02)
        time.sleep(0.037 * i)
        ranks = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()
        os.kill(int(ranks[1]), signal.SIGKILL)
        _, errors = run.communicate(timeout=9)
        assert run.returncode == 128 + signal.SIGKILL, errors
        assert "rank 1 ended without reporting an error" in errors, errors
assert not list(pathlib.Path("/dev/shm").glob("wellspring-nccl-*")), "shared memory is left"
