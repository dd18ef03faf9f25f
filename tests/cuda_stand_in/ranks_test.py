"""Runs of several ranks with a GPU each, on the stand-in and its NCCL.

Usage: ranks_test.py WELLSPRING NCCL_FOLDER
"""

import os
import pathlib
import signal
import socket
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
plain = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "VIRTUAL_ENV")}
environment = dict(plain, LD_LIBRARY_PATH=sys.argv[2])


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

    def train(out, ranks, settings, seed=0):
        """Seed 0 runs the device's work as late as allowed; other seeds run it in a random order that events allow."""
        done = subprocess.run(
            command(ranks, out, *settings),
            cwd=folder,
            env=dict(environment, WELLSPRING_STAND_IN_SEED=str(seed)),
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, f"{out}: {done.stderr}"
        return weights(folder / out)

    results = {}
    for out, ranks, settings in (
        ("one", 1, ["precision=f32"]),
        ("two", 2, ["precision=f32"]),
        ("again", 2, ["precision=f32"]),
        ("eager", 2, ["precision=f32", "train.graph=off"]),
        ("three", 3, ["precision=f32"]),
        ("bf16", 2, ["precision=bf16"]),
    ):
        results[out] = train(out, ranks, settings)
    assert results["two"] == results["again"] == results["eager"], "runs of two ranks differ"
    # Gradients of 12 rows: sums in a different order differ by at most 12 u of the largest partial sum, in 12 steps
    # with a rate of 0.01. Partial sums of this network are below 100.
    bound = 12 * 12 * 0.01 * 100 * 2**-24
    for out in ("two", "three"):
        worst = max(abs(a - b) for a, b in zip(results["one"], results[out]))
        assert 0 < worst < bound, f"{out}: {worst} against {bound}"

    # The library in the place of PyPI's wheel, and one in the current folder, which is never used. A file that is no
    # library hides one of the system.
    wheel = folder / "venv/lib/python3.12/site-packages/nvidia/nccl/lib"
    for place in (wheel, folder / "hidden"):
        place.mkdir(parents=True)
    for place in (wheel, folder):
        (place / "libnccl.so.2").symlink_to(pathlib.Path(sys.argv[2]) / "libnccl.so.2")
    (folder / "hidden/libnccl.so.2").write_text("no library")
    hidden = dict(plain, LD_LIBRARY_PATH=str(folder / "hidden"), WELLSPRING_STAND_IN_SEED="0")
    for name, virtual_env, code in (("wheel", str(folder / "venv"), 0), ("none", "venv", 4)):
        done = subprocess.run(
            command(2, name, "precision=f32"),
            cwd=folder,
            env=dict(hidden, VIRTUAL_ENV=virtual_env),
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == code, f"{name}: {done.returncode} {done.stderr}"
    assert weights(folder / "wheel") == results["two"], "the wheel's library gives other weights"
    assert "NCCL, which several GPUs need, cannot be opened" in done.stderr, done.stderr

    # Nodes with different versions.
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nodes = [
        subprocess.Popen(
            [wellspring, "train", "ranks.yaml", "out=versions"],
            cwd=folder,
            env=dict(
                environment,
                WELLSPRING_STAND_IN_NCCL=("22807", "22907")[rank],
                RANK=str(rank),
                WORLD_SIZE="2",
                LOCAL_RANK="0",
                LOCAL_WORLD_SIZE="1",
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(port),
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for node in nodes:
        _, errors = node.communicate(timeout=100)
        assert node.returncode == 4, errors
        assert "different versions of NCCL" in errors and "rank 0 has 22807, rank 1 has 22907" in errors, errors

    # Matrices in buckets of 1 and 1.5 MiB, summed on a branch of the step. Gradients are clipped by their total norm.
    model = "model={name: mlp, widths: [512, 512]}"
    common = ["train.batch=32", "train.keep=9", "train.clip=0.1"]
    resumed = ["--resume", "f32-0/checkpoints/step-8"]
    passes = ["train.accumulate=2", "data.views=2", "data.augment=[flip_x: 0.5]", "train.recompute_blocks=1"]
    passes.append("optimizer.parameters=[{match: layer0*, unfreeze_at: 6}]")
    batch_norm = ["model={name: resnet20}", "train.sync_batch_norm=true"]
    for name, settings, variants in (
        ("f32", [model, "precision=f32"], ([], ["train.graph=check"], ["train.steps_per_launch=4"], resumed)),
        ("bf16", [model, "precision=bf16"], ([], [])),
        ("passes", [model, "precision=f32", *passes], ([], [])),
        ("synchronised", ["precision=f32", *batch_norm], ([], [])),
    ):
        ends = [train(f"{name}-{i}", 2, [*common, *settings, *more], i) for i, more in enumerate(variants)]
        assert all(end == ends[0] for end in ends), f"{name}: the order of the device's work changes the weights"

    # After a rank is killed, the others end within 9 s, although their devices may wait for its part of a sum. The
    # process that started the ranks would end them only later.
    for i in range(6):
        run = subprocess.Popen(
            command(3, f"killed{i}", "train.steps=1000000", f"train.graph={'on' if i % 2 else 'off'}"),
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
