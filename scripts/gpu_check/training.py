"""Training on the device: replayed, streamed and resumed runs must give the same bytes as uninterrupted eager runs."""

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

from gpu_check.running import Check, Failed, NotMade

FILES = "cifar10_transfer.yaml"
TRAINING = ["quickstart.yaml", "ee_mumu.yaml", FILES]  # generated images, events, and a mixture with files
# A budget in GiB that is smaller than the artificial images, and the shortest ring, whose rows are reused at once.
STREAMED = ["data.sources.1.budget=0.0001", "data.sources.1.ahead=2"]
CENSUS = re.compile(r"step graph: (\d+) kernels?, .* on the device, (\d+) host transfers?")
SEEDS = (1, 2, 3)  # --quick takes only the first, and a few steps
STUDENT_T = 4.604  # two-sided 1 % of Student's t with 2 (3 - 1) = 4 degrees of freedom


def png(side, shade):
    """A colour image with a gradient (W3C PNG specification, 3rd edition)."""
    rows = b"".join(b"\0" + bytes((shade, 8 * y % 256, 0) * side) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n"
    for kind, chunk in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        data += struct.pack(">I", len(chunk)) + kind + chunk + struct.pack(">I", zlib.crc32(kind + chunk))
    return data


def image_set(context):
    """An artificial CIFAR-10 with the file names that the configuration expects; deleted with the context."""
    if "images" not in context.known:
        context.known["images"] = tempfile.TemporaryDirectory()
        for split in ("train", "test"):
            with tarfile.open(f"{context.known['images'].name}/cifar10-{split}.tar", "w") as tar:
                for label, number in itertools.product(range(10), range(20)):
                    data = png(32, 20 * label + number)
                    member = tarfile.TarInfo(f"{split}/class{label}/{number:04}.png")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return context.known["images"].name


class Run:
    """A training run in its own folder."""

    def __init__(self, context, config, overrides):
        self.context, self.config, self.overrides = context, config, overrides
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name) / "run"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def train(self, graph, seconds, resume="never"):
        context = self.context
        command = [context.program, "train", context.configs / self.config, f"out={self.folder}",
                   f"data.root={image_set(context)}", f"device={context.device}", *self.overrides,
                   "--graph", graph, "--resume", resume]  # fmt: skip
        return context.run(f"train {self.config} graph {graph}", command, seconds, lines=20)

    def tensors(self):
        """SHA-256 of the newest model's tensors, without the header, which contains the run's name."""
        models = sorted(self.folder.glob("checkpoints/step-*/model.safetensors"))
        if not models:
            raise Failed("the run left no checkpoint")
        data = models[-1].read_bytes()
        return hashlib.sha256(data[8 + int.from_bytes(data[:8], "little") :]).hexdigest()

    def accuracy(self):
        """The accuracy on the first source in the last evaluation."""
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines if '"evaluation"' in line][-1]["results"][0]["accuracy"]


def short(context, precision="bf16"):
    """Overrides for a run that only has to finish."""
    batch = [f"train.batch={context.batch}"] if context.batch else []
    return [f"train.steps={context.steps}", *batch, "eval.samples=512", f"precision={precision}"]


def graph(context):
    def check(config, precision, mode, seconds):
        with Run(context, config, short(context, precision)) as training:
            result = training.train(mode, seconds)
        census = CENSUS.search(result.stdout + result.stderr)
        if not census or int(census[1]) == 0 or int(census[2]) > 0:
            raise Failed(census[0] if census else result.tail(20))
        return census[0].removeprefix("step graph: ")

    for case in itertools.product(TRAINING, ("f32", "bf16"), ("check", "on")):
        yield Check("{} {}, --graph {}".format(*case), check, *case)


def streaming(context):
    def check(mode, seconds):
        if "resident" not in context.known:  # reference for the streamed runs
            with Run(context, FILES, short(context)) as training:
                training.train("on", seconds)
                context.known["resident"] = training.tensors()
        with Run(context, FILES, [*short(context), *STREAMED]) as training:
            result = training.train(mode, seconds)
            streamed = training.tensors()
        if "streamed by" not in result.stdout + result.stderr:
            raise Failed("the files were not streamed\n" + result.tail(20))
        return same_weights("resident", context.known["resident"], "streamed", streamed)

    for mode in ("on", "off", "check"):
        yield Check(f"{FILES} bf16, streamed, --graph {mode}", check, mode)


def same_weights(name, expected, other, seen):
    detail = f"{name} {expected[:16]} {other} {seen[:16]}"
    if expected != seen:
        raise Failed(detail)
    return detail


def resuming(context):
    """Resumes a run from the middle; its final weights must equal the weights of the uninterrupted run."""
    half = context.steps // 2

    def check(seconds):
        with Run(context, FILES, [*short(context), f"train.checkpoint_every={half}", "train.keep=9"]) as training:
            training.train("on", seconds)
            whole, checkpoints = training.tensors(), training.folder / "checkpoints"
            shutil.rmtree(checkpoints / f"step-{context.steps}", ignore_errors=True)
            if not (checkpoints / f"step-{half}").is_dir():
                raise Failed("the first run left no checkpoint halfway")
            training.train("on", seconds, "auto")
            return same_weights("uninterrupted", whole, "resumed", training.tensors())

    yield Check(f"{FILES} bf16, resumed halfway", check)


def accuracy(context):
    """Runs the whole quickstart in both precisions. The means of three seeds must not differ by more than chance
    allows in 99 of 100 cases."""
    seen = {"f32": [], "bf16": []}

    def train(seed, precision, seconds):
        few = short(context, precision) if context.quick else [f"precision={precision}"]
        with Run(context, "quickstart.yaml", [f"seed={seed}", *few]) as training:
            training.train("on", seconds)
            seen[precision].append(training.accuracy())
        return f"{seen[precision][-1]:.2%}"

    def compare(_):
        if any(len(values) < len(SEEDS) for values in seen.values()):
            raise NotMade("not all runs have an accuracy")
        # Student's t-test of equal means with pooled variance.
        variance = statistics.mean(map(statistics.variance, seen.values()))
        allowed = STUDENT_T * math.sqrt(2 * variance / len(SEEDS))
        f32, bf16 = map(statistics.mean, seen.values())
        detail = f"f32 {f32:.2%}, bf16 {bf16:.2%}: {bf16 - f32:+.2%}, {allowed:.2%} allowed by chance"
        if abs(bf16 - f32) > allowed:
            raise Failed(detail)
        return detail

    for case in itertools.product(SEEDS[: 1 if context.quick else None], seen):
        yield Check("quickstart {1}, seed {0}".format(*case), train, *case, seconds=120)
    yield Check("bf16 reaches the accuracy of f32", compare)
