"""Training on the device: replayed, streamed and resumed runs have the bytes of straight ones."""

import hashlib
import io
import itertools
import json
import math
import pathlib
import re
import shutil
import statistics
import struct
import tarfile
import tempfile
import zlib

from gpu_check.running import Check, Outcome

# Generated images, generated events, and a mixture with files (of a made-up set).
FILES = "cifar10_transfer.yaml"
TRAINING = ["quickstart.yaml", "ee_mumu.yaml", FILES]
# A budget in GiB that the made-up images exceed, and the shortest ring: its rows are in use again
# as soon as they can be.
STREAMED = ["data.sources.1.budget=0.0001", "data.sources.1.ahead=2"]
CENSUS = re.compile(
    r"step graph: (\d+) kernels?, (\d+) fills?, (\d+) cop(?:y|ies) on the device, (\d+) host transfers?"
)


def png(side, shade):
    """A colour image of one shade with a gradient, as PNG (W3C PNG specification, 3rd edition)."""

    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    rows = b"".join(b"\0" + bytes((shade, 8 * y % 256, 0) * side) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def write_image_set(folder, classes=10, images=20):
    """A stand-in for CIFAR-10 under the names that the configuration knows."""
    for split in ("train", "test"):
        with tarfile.open(pathlib.Path(folder) / f"cifar10-{split}.tar", "w") as tar:
            for label in range(classes):
                for number in range(images):
                    data = png(32, 20 * label + number % 20)
                    member = tarfile.TarInfo(f"{split}/class{label}/{number:04}.png")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def image_set(context):
    """Its folder, made when it is first asked for; gone when the context is."""
    if "images" not in context.known:
        context.known["images"] = tempfile.TemporaryDirectory()
        write_image_set(context.known["images"].name)
    return context.known["images"].name


class Run:
    """A training run in a folder of its own."""

    def __init__(self, context, config, overrides):
        self.context = context
        self.config = config
        self.overrides = overrides
        self.folder = pathlib.Path(tempfile.mkdtemp())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def train(self, graph, seconds, resume="never"):
        context = self.context
        return context.run(
            f"train {self.config} graph {graph}",
            [context.program, "train", context.installation.configs / self.config,
             f"out={self.folder}/run", f"data.root={image_set(context)}", f"device={context.device}",
             *self.overrides, "--graph", graph, "--resume", resume],
            seconds,
        )  # fmt: skip

    def tensors(self):
        """SHA-256 of the newest model's tensors; the header before them names the run."""
        models = sorted((self.folder / "run").glob("checkpoints/step-*/model.safetensors"))
        if not models:
            return None
        data = models[-1].read_bytes()
        return hashlib.sha256(data[8 + int.from_bytes(data[:8], "little") :]).hexdigest()

    def accuracy(self):
        """The last evaluation's, of its first source; None where there is none."""
        lines = (self.folder / "run/metrics.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines if '"evaluation"' in line]
        return found[-1]["results"][0].get("accuracy") if found else None


def short(context, precision="bf16"):
    """Overrides of a run that shows no more than that it runs."""
    batch = [f"train.batch={context.batch}"] if context.batch else []
    return [f"train.steps={context.steps}", *batch, "eval.samples=512", f"precision={precision}"]


def graph(context):
    for config, precision, mode in itertools.product(TRAINING, ("f32", "bf16"), ("check", "on")):

        def check(context, seconds, config=config, precision=precision, mode=mode):
            with Run(context, config, short(context, precision)) as training:
                result = training.train(mode, seconds)
            census = CENSUS.search(result.text)
            if result.returncode != 0 or census is None:
                return Outcome(False, result.tail(20))
            kernels, _, _, transfers = map(int, census.groups())
            seen = census.group().removeprefix("step graph: ")
            return Outcome(transfers == 0 and kernels > 0, seen)

        yield Check(f"{config} {precision}, --graph {mode}", check)


def resident_weights(context, seconds):
    """Of the run that streamed ones are compared with, once."""
    if "resident" not in context.known:
        with Run(context, FILES, short(context)) as training:
            result = training.train("on", seconds)
            context.known["resident"] = training.tensors() if result.returncode == 0 else None
    return context.known["resident"]


def streaming(_):
    for mode in ("on", "off", "check"):

        def check(context, seconds, mode=mode):
            resident = resident_weights(context, seconds)
            if resident is None:
                return Outcome(False, "the run on resident files failed, see the logs")
            with Run(context, FILES, [*short(context), *STREAMED]) as training:
                result = training.train(mode, seconds)
                streamed = training.tensors()
            if result.returncode != 0 or streamed is None:
                return Outcome(False, result.tail(20))
            if "streamed by" not in result.text:
                return Outcome(False, "the files were not streamed\n" + result.tail(20))
            detail = f"resident {resident[:16]} streamed {streamed[:16]}"
            return Outcome(streamed == resident, detail)

        yield Check(f"{FILES} bf16, streamed, --graph {mode}", check)


def resuming(context):
    """A run that goes on from its middle ends with the weights of the run that made it."""
    half, last = context.steps // 2, context.steps

    def check(context, seconds):
        overrides = [*short(context), f"train.checkpoint_every={half}", "train.keep=9"]
        with Run(context, FILES, overrides) as training:
            first = training.train("on", seconds)
            whole = training.tensors()
            checkpoints = training.folder / "run/checkpoints"
            shutil.rmtree(checkpoints / f"step-{last}", ignore_errors=True)
            if first.returncode != 0 or not (checkpoints / f"step-{half}").is_dir() or not whole:
                return Outcome(False, "the first run: " + first.tail(20))
            second = training.train("on", seconds, "auto")
            resumed = training.tensors()
        if second.returncode != 0 or not resumed:
            return Outcome(False, second.tail(20))
        return Outcome(whole == resumed, f"straight {whole[:16]} resumed {resumed[:16]}")

    yield Check(f"{FILES} bf16, resumed half way", check)


SEEDS = (1, 2, 3)  # with --quick the first alone, and a few steps
# Two-sided 1 % of Student's t with 2 (n - 1) = 4 degrees of freedom.
STUDENT_T = 4.604


def accuracy(context):
    """The quickstart, whole, in both precisions: means of three seeds that differ by more than chance
    allows in 1 of 100 cases are a failure."""
    seen = {"f32": [], "bf16": []}
    seeds = SEEDS[:1] if context.quick else SEEDS
    for seed, precision in itertools.product(seeds, seen):

        def train(context, seconds, seed=seed, precision=precision):
            few = short(context, precision) if context.quick else [f"precision={precision}"]
            overrides = [f"seed={seed}", *few]
            with Run(context, "quickstart.yaml", overrides) as training:
                result = training.train("on", seconds)
                if result.returncode != 0:
                    return Outcome(False, result.tail(20))
                value = training.accuracy()
            if value is None:
                return Outcome(False, "its metrics have no accuracy\n" + result.tail(20))
            seen[precision].append(value)
            return Outcome(True, f"{value:.2%}")

        yield Check(f"quickstart {precision}, seed {seed}", train, 120)

    def compare(*_):
        if any(len(values) < len(SEEDS) for values in seen.values()):
            return Outcome(None, "not all runs have an accuracy")
        return compare_means(seen["f32"], seen["bf16"])

    yield Check("bf16 reaches the accuracy of f32", compare)


def compare_means(one, other):
    """Student's test of equal means, with the variance of both together."""
    variance = (statistics.variance(one) + statistics.variance(other)) / 2
    allowed = STUDENT_T * math.sqrt(2 * variance / len(one))
    difference = statistics.mean(other) - statistics.mean(one)
    detail = (
        f"f32 {statistics.mean(one):.2%}, bf16 {statistics.mean(other):.2%}: "
        f"{difference:+.2%}, {allowed:.2%} are chance"
    )
    return Outcome(abs(difference) <= allowed, detail)
