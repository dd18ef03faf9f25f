"""Checks that samples made on the device have the same bytes as samples made on the host."""

import ast
import bisect
import itertools
import json
import pathlib
import re
import struct
import tempfile
import zipfile
from array import array

from gpu_check.running import Check, Failed

FAR = 2**40  # sample ids beyond a 32-bit counter
# For --quick: faster settings of the slowest generators.
QUICK_SETTINGS = {
    "gray_scott": ["warm_up=20"], "ifs3d": ["categories=4"], "ising": ["rounds=4"], "rcdb": ["orbits_high=20"],
    "visual_atom": ["orbits_high=20"], "xy": ["rounds=4"],
}  # fmt: skip
# Every kind of training sample: augmented images, events, sets, targets.
AUGMENTED = "data.augment=[flip_x: 0.5, shift: 0.2, rotate: 15, brightness: 0.3, blur]"
CONFIGURATIONS = ("quickstart", "ee_mumu", "ginkgo", "gaussian_linear", "two_moons", "ising", "ginkgo_images",
                  "lund_quark_gluon", "nu_telescope", "pde")  # fmt: skip
CODES = {"<f4": ("f", "I"), "<i4": ("i", "i"), "<i8": ("q", "q"), "<u8": ("Q", "Q")}  # value, bits


def digest(context, name, arguments, seconds):
    result = context.run(f"digest {name}", [context.program, "digest", *arguments], seconds)
    try:
        return json.loads(result.stdout)["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"not a digest ({error})\n{result.tail()}") from error


def compare(context, name, host, device, seconds):
    """Compares the digests of host and device. `host` and `device` are the arguments of digest and export."""
    key = ("digest", *map(str, host))
    if key not in context.known:
        context.known[key] = digest(context, f"{name}, host", host, seconds)
    expected, seen = context.known[key], digest(context, f"{name}, device", device, seconds)
    detail = f"host {expected[:16]} device {seen[:16]}"
    if seen != expected:
        raise Failed(f"{detail}\n{difference(context, name, host, device, seconds)}")
    return detail


def difference(context, name, host, device, seconds):
    """Exports the same samples on both and describes the first difference."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / "host.npz", pathlib.Path(folder) / "device.npz"]
        for arguments, file in zip((host, device), files):
            command = [context.program, "export", *arguments, "--out", file]
            result = context.run(f"export {name}", command, seconds, must_pass=False)
            if result.returncode != 0:
                return "cannot export the samples to compare them: " + result.tail(3)
        return first_difference(*files) or "exports of the same samples are equal"


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


def first_difference(host, device):
    """For each array that differs: number of differing values; sample id, index and both values of the first one."""
    one, other = read_arrays(host), read_arrays(device)
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
        different = [i for i, (x, y) in enumerate(zip(a, b)) if x != y]
        at = different[0]
        row, *index = next(itertools.islice(itertools.product(*map(range, shape)), at, None))
        if name == "x" and offsets:  # rows of sets are items: find the sample of the item
            row = bisect.bisect_right(offsets, row) - 1
        values = f"host {array(code, expected)[at]!r}, device {array(code, seen)[at]!r}"
        ulps = f", {abs(ordered(a[at]) - ordered(b[at]))} ulp" if code == "f" else ""
        words.append(f"{name}: {len(different)} of {len(a)} values differ, first in sample "
                     f"{ids[row] if row < len(ids) else row}{f' at {index}' if index else ''}: {values}{ulps}")  # fmt: skip
    return "; ".join(words)


def ordered(bits):
    """Maps consecutive floats to consecutive integers."""
    return -(bits & 0x7FFFFFFF) if bits & 0x80000000 else bits


def smoke(context):
    def first_steps(seconds):
        with tempfile.TemporaryDirectory() as folder:
            command = [context.program, "train", context.configs / "quickstart.yaml", f"out={folder}/run",
                       f"device={context.device}", "train.steps=20", "eval.samples=128"]  # fmt: skip
            return context.run("train the first steps", command, seconds).tail(3)

    sides = [["noise", "--count", 1, "--device", device] for device in ("cpu", context.device)]
    yield Check("the first sample", compare, context, "the first", *sides, seconds=120)
    yield Check("the first 20 steps of the quickstart", first_steps, seconds=120)


def generators(context):
    """Generator names and whether they have dense labels, from `wellspring list` and `describe`."""
    listing = context.run("list", [context.program, "list", "generators"], 60)
    names = re.findall(r"^  (\w+) ", listing.stdout, re.MULTILINE)
    if not names:
        raise Failed("no generator is listed: " + listing.tail())
    for name in names:
        described = context.run(f"describe {name}", [context.program, "describe", name, "--json"], 60, must_pass=False)
        yield name, bool(re.search(r'"plane": *\{', described.stdout))


def digests(context):
    """Every generator at small and large ids with two batch sizes, then augmented configurations."""
    count = 40 if context.quick else 1000
    for generator, dense in generators(context):
        near = (f"first {count}", ["--count", count])
        far = ("ids from 2^40", ["--count", 50, "--first", FAR, "--seed", 7])
        cases = [(f"{ids}, batch {batch}", chosen, batch) for ids, chosen in (near, far) for batch in (64, 7)]
        cases += [("dense labels", ["--count", count // 4, "--plane"], 64)] if dense else []
        for case, chosen, batch in cases:
            host = [generator, *(QUICK_SETTINGS.get(generator, []) if context.quick else []), *chosen, "--device"]
            device, name = [*host, context.device, "--batch", batch], f"{generator}, {case}"
            yield Check(name, compare, context, name, [*host, "cpu"], device)
    for name in CONFIGURATIONS:
        arguments = [context.configs / f"{name}.yaml", *([AUGMENTED] if name == "quickstart" else []),
                     "eval.sources=[]", "--count", 128 if context.quick else 512]  # fmt: skip
        sides = [[*arguments, f"device={device}"] for device in ("cpu", context.device)]
        yield Check(f"{name}.yaml", compare, context, f"{name}.yaml", *sides)
