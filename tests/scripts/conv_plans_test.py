"""Runs conv_plans for the description of an H200. cuDNN must have plans for every pass of the quickstart, and the
output must have the format that gpu-check reads.

usage: conv_plans_test.py CONV_PLANS SOURCE_DIR
"""

import collections
import json
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "scripts"))

from gpu_check.kernels import read_lines  # noqa: E402


def main():
    description = SOURCE / "tests/data/h200-cudnn-device-properties.json"
    result = subprocess.run(
        [sys.argv[1], "--described", description, SOURCE / "configs/quickstart.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    rows, others, last = read_lines(result.stdout, "plan")
    assert last["left"] == 0, last
    (described,) = (line["device_properties"] for line in others)
    assert described == json.loads(description.read_text()), described

    engines = collections.defaultdict(list)
    for row in rows:
        assert row["plan"] == len(engines[row["convolution"], row["pass"]]), row
        engines[row["convolution"], row["pass"]].append(row["engine"])
    assert all("eng" in engine for names in engines.values() for engine in names), engines
    # The network has three stages and a block of two equal convolutions. The first is also planned with its input
    # padded to 4 and to 8 channels, and without a gradient of the samples.
    passes = collections.Counter(name for _, name in engines)
    assert passes == {"forward": 6, "backward data": 3, "backward weights": 6}, engines.keys()
    print(f"{len(rows)} plans of {len(engines)} passes")


if __name__ == "__main__":
    main()
