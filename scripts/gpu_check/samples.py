"""Checks that samples made on the device have the same bytes as samples made on the host."""

import ast
import bisect
import itertools
import json
import math
import re
import struct
import zipfile
from array import array

from gpu_check.running import Check, Failed

FAR = 2**40  # sample ids beyond a 32-bit counter
# For --quick: faster settings of the slowest generators.
QUICK_SETTINGS = {
    "gray_scott": ["cells=64", "warm_up=20"], "ifs3d": ["categories=4"], "ising": ["rounds=4"],
    "rcdb": ["orbits_high=20"], "visual_atom": ["orbits_high=20"], "xy": ["rounds=4"],
}  # fmt: skip
CANVASES = ("ifs", "ifs3d", "ising", "rcdb", "visual_atom")  # their large images exceed a team's scratch
# Every kind of training sample: augmented images, events, sets, targets.
AUGMENTED = "data.augment=[flip_x: 0.5, shift: 0.2, rotate: 15, brightness: 0.3, blur]"
CONFIGURATIONS = ("quickstart", "ee_mumu", "ginkgo", "gaussian_linear", "two_moons", "ising", "ginkgo_images",
                  "lund_quark_gluon", "nu_telescope", "pde")  # fmt: skip
CODES = {"<f4": ("f", "I"), "<i4": ("i", "i"), "<i8": ("q", "q"), "<u8": ("Q", "Q")}  # value, bits


def same_digest(context, name, host, device, seconds=300):
    """Checks that two digests are equal. `host` and `device`: arguments of digest and export."""

    def judge(result):
        seen = json.loads(result.output())["sha256"]
        if tuple(host) not in context.known:
            own = context.run([context.program, "digest", *host], "host")
            context.known[tuple(host)] = json.loads(own.output())["sha256"]
        expected = context.known[tuple(host)]
        detail = f"host {expected[:16]} device {seen[:16]}"
        if seen != expected:
            raise Failed(f"{detail}\n{difference(context, host, device)}")
        return detail

    return Check(name, [context.program, "digest", *device], judge, seconds)


def difference(context, host, device):
    """Exports the same samples on both devices. For each array that differs, describes the number of different values,
    and the sample id, index and both values of the first one."""
    files = context.folder / "host.npz", context.folder / "device.npz"
    for arguments, file in zip((host, device), files):
        if context.run([context.program, "export", *arguments, "--out", file], "export").returncode != 0:
            return "cannot export the samples to compare them: " + context.last.tail(3)
    one, other = map(read_arrays, files)
    ids, offsets = (array("q", one[name][2]) if name in one else () for name in ("sample", "offsets"))
    words = []
    for name, (kind, shape, expected) in one.items():
        seen = other[name][2]
        if expected == seen or kind not in CODES:
            continue
        if len(expected) != len(seen):
            words.append(f"{name}: {len(expected)} bytes on the host, {len(seen)} on the device")
            continue
        code, bits = CODES[kind]
        a, b = array(bits, expected), array(bits, seen)
        different = [i for i in range(len(a)) if a[i] != b[i]]
        at = different[0]
        row, *index = next(itertools.islice(itertools.product(*map(range, shape)), at, None))
        if name == "x" and offsets:  # rows of sets are items: find the item's sample
            row = bisect.bisect_right(offsets, row) - 1
        sample = f"{ids[row] if row < len(ids) else row}{f' at {index}' if index else ''}"
        x, y = array(code, expected)[at], array(code, seen)[at]
        spacing = max(2**29 * math.ulp(x), 2**-149)  # spacing of f32; math.ulp is the spacing of f64
        ulps = f", {abs(x - y) / spacing:.0f} ulp" if code == "f" else ""
        words.append(f"{name}: {len(different)} of {len(a)} values differ, first in sample {sample}: "
                     f"host {x!r}, device {y!r}{ulps}")  # fmt: skip
    return "; ".join(words) or "exports of the same samples are equal"


def read_arrays(path):
    """{name: (type, shape, bytes)} from NumPy's format 1.0. Does not need NumPy."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            data = archive.read(member)
            end = 10 + struct.unpack_from("<H", data, 8)[0]
            header = ast.literal_eval(data[10:end].decode("latin1"))
            arrays[member.removesuffix(".npy")] = header["descr"], header["shape"], data[end:]
    return arrays


def smoke(context):
    one = ["noise", "--count", 1, "--device"]
    yield same_digest(context, "the first sample", [*one, "cpu"], [*one, context.device], seconds=120)
    steps = context.train("quickstart.yaml", "train.steps=20", "eval.samples=128")
    yield Check("the first 20 steps of the quickstart", steps, seconds=120)


def digests(context):
    """Every generator at small and large ids with two batch sizes, then augmented configurations."""
    count, far_count = (16, 8) if context.quick else (1000, 50)
    near, far = ["--count", count], ["--count", far_count, "--first", FAR, "--seed", 7]
    listing = context.run([context.program, "list", "generators"]).output()
    generators = re.findall(r"^  (\w+) ", listing, re.MULTILINE)
    if not generators:
        raise ValueError("no generator is listed")
    for generator in generators:
        cases = [(f"first {count}, batch 64", near, 64), (f"first {count}, batch 7", near, 7),
                 ("ids from 2^40, batch 64", far, 64), ("ids from 2^40, batch 7", far, 7)]  # fmt: skip
        if context.quick:
            cases = cases[1:3]
        described = context.run([context.program, "describe", generator, "--json"]).output()
        if json.loads(described)["plane"]:
            cases.append(("dense labels", ["--count", count // 4, "--plane"], 64))
        if generator in CANVASES:
            cases.append(("512 pixels", ["--size", 512, "--count", 1 if context.quick else 20], 64))
        settings = QUICK_SETTINGS.get(generator, []) if context.quick else []
        for case, ids, batch in cases:
            host = [generator, *settings, *ids, "--device", "cpu"]
            device = [generator, *settings, *ids, "--device", context.device, "--batch", batch]
            yield same_digest(context, f"{generator}, {case}", host, device)
    for name in CONFIGURATIONS:
        for more in ([AUGMENTED], ["data.augment=[augmix]"]) if name == "quickstart" else ([],):
            samples = [context.configs / f"{name}.yaml", "eval.sources=[]", *more, "--count",
                       64 if context.quick else 512]
            yield same_digest(context, f"{name}.yaml {' '.join(more)}".strip(), [*samples, "device=cpu"],
                              [*samples, f"device={context.device}"])
