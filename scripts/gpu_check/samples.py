"""Samples of the device beside those of the host: the same bytes."""

import json
import pathlib
import re
import tempfile

from gpu_check.arrays import first_difference
from gpu_check.running import Check, Outcome

# Sample ids that a 32-bit counter would not reach.
FAR = 2**40
# With --quick: what takes most of the time of all digests, made smaller: a reaction from its beginning, the search
# for classes, chains, many orbits.
QUICK_SETTINGS = {
    "gray_scott": ["warm_up=20"],
    "ifs3d": ["categories=4"],
    "ising": ["rounds=4"],
    "rcdb": ["orbits_high=20"],
    "visual_atom": ["orbits_high=20"],
    "xy": ["rounds=4"],
}
# Every form of sample as training sees it: augmented images, events, sets, targets.
AUGMENTED = "data.augment=[flip_x: 0.5, shift: 0.2, rotate: 15, brightness: 0.3, blur]"
CONFIGURATIONS = {
    "quickstart.yaml": [AUGMENTED],
    "ee_mumu.yaml": [],
    "ginkgo.yaml": [],
    "gaussian_linear.yaml": [],
    "two_moons.yaml": [],
    "ising.yaml": [],
    "ginkgo_images.yaml": [],
    "lund_quark_gluon.yaml": [],
    "nu_telescope.yaml": [],
    "pde.yaml": [],
}


def generators(context):
    """Names from `wellspring list generators`: the first word of every indented line."""
    listing = context.run("list", [context.program, "list", "generators"], 60)
    names = re.findall(r"^  (\w+) ", listing.stdout, re.MULTILINE)
    if not names:
        raise RuntimeError("no generator is listed: " + listing.tail())
    return names


def has_plane(context, generator):
    described = context.run(f"describe {generator}", [context.program, "describe", generator, "--json"], 60)
    try:
        return json.loads(described.stdout)["plane"] is not None
    except (ValueError, KeyError, TypeError):
        return False


def digest(context, name, arguments, seconds):
    """(SHA-256, "") or (None, why there is none)."""
    result = context.run(f"digest {name}", [context.program, "digest", *arguments], seconds)
    if result.returncode != 0:
        return None, result.tail()
    try:
        return json.loads(result.stdout)["sha256"], ""
    except (ValueError, KeyError, TypeError) as error:
        return None, f"what it printed is no digest ({error})\n{result.tail()}"


def compare(context, name, host, device, seconds):
    """An Outcome; `host` and `device` are the arguments of digest and export on each."""
    key = ("digest", *map(str, host))
    if key not in context.known:
        context.known[key] = digest(context, f"{name}, host", host, seconds)
    expected, problem = context.known[key]
    if expected is None:
        return Outcome(False, problem)
    seen, problem = digest(context, f"{name}, device", device, seconds)
    if seen is None:
        return Outcome(False, problem)
    detail = f"host {expected[:16]} device {seen[:16]}"
    if seen != expected:
        detail += "\n" + where(context, name, host, device, seconds)
    return Outcome(seen == expected, detail)


def where(context, name, host, device, seconds):
    """In words, from exports of the same samples."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / "host.npz", pathlib.Path(folder) / "device.npz"]
        for arguments, file in zip((host, device), files):
            command = [context.program, "export", *arguments, "--out", file]
            result = context.run(f"export {name}", command, seconds)
            if result.returncode != 0:
                return "where they differ is not known: " + result.tail(3)
        return first_difference(*files) or "exports of the same samples are equal"


def smoke(context):
    """One sample, and a few steps of training."""

    def first_sample(context, seconds):
        count = ["noise", "--count", 1, "--device"]
        return compare(context, "the first", [*count, "cpu"], [*count, context.device], seconds)

    def first_steps(context, seconds):
        with tempfile.TemporaryDirectory() as folder:
            path = context.installation.configs / "quickstart.yaml"
            result = context.run(
                "train the first steps",
                [context.program, "train", path, f"out={folder}/run", f"device={context.device}",
                 "train.steps=20", "eval.samples=128"],
                seconds,
            )  # fmt: skip
            return Outcome(result.returncode == 0, result.tail(3))

    yield Check("the first sample", first_sample, 120)
    yield Check("the first 20 steps of the quickstart", first_steps, 120)


def digests(context):
    """Every generator, at small and at large ids, with batches of two sizes: a launch must leave no
    mark either; then configurations, augmented and all."""
    count = 40 if context.quick else 1000
    for generator in generators(context):
        settings = QUICK_SETTINGS.get(generator, []) if context.quick else []
        for ids, arguments in (
            (f"first {count}", ["--count", count]),
            ("ids from 2^40", ["--count", 50, "--first", FAR, "--seed", 7]),
        ):
            for batch in (64, 7):
                name = f"{generator}, {ids}, batch {batch}"
                yield Check(name, generator_check(name, generator, [*settings, *arguments], batch))
        if has_plane(context, generator):
            name = f"{generator}, planes of truth"
            arguments = ["--count", count // 4, "--plane"]
            yield Check(name, generator_check(name, generator, [*settings, *arguments], 64))
    for config, overrides in CONFIGURATIONS.items():
        yield Check(config, configuration_check(config, overrides))


def generator_check(name, generator, arguments, batch):
    host = [generator, *arguments, "--device", "cpu"]

    def check(context, seconds):
        device = [generator, *arguments, "--device", context.device, "--batch", batch]
        return compare(context, name, host, device, seconds)

    return check


def configuration_check(config, overrides):
    def check(context, seconds):
        path = context.installation.configs / config
        arguments = [path, *overrides, "eval.sources=[]", "--count", 128 if context.quick else 512]
        device = [*arguments, f"device={context.device}"]
        return compare(context, config, [*arguments, "device=cpu"], device, seconds)

    return check
