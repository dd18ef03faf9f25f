"""Training on the device: replayed, streamed and resumed runs must give the same bytes as uninterrupted eager runs."""

import hashlib
import itertools
import json
import math
import re
import shutil
import statistics

from gpu_check.running import Check, Failed, NotMade

FILES = "cifar10_transfer.yaml"
TRAINING = ["quickstart.yaml", "ee_mumu.yaml", FILES]  # generated images, events, and a mixture with files
NETWORKS = ["lund_jets.yaml", "shapes_segmentation.yaml"]  # a transformer, and an encoder with a decoder
# A memory budget (GiB) below the size of the artificial images, and the shortest ring, whose rows are reused at once.
STREAMED = ["data.sources.1.budget=0.0001", "data.sources.1.ahead=2"]
CENSUS = re.compile(r"step graph: ((\d+) kernels?, .* on the device, (\d+) host transfers?)")
SEEDS = (1, 2, 3)  # --quick uses only the first one, for a few steps
STUDENT_T = 4.604  # two-sided 1 % of Student's t with 2 (3 - 1) = 4 degrees of freedom


def image_set(context):
    """Folders of artificial images with the names that FILES expects for CIFAR-10."""
    root = context.folder.parent / "images"
    for split, label in itertools.product(("train", "test"), range(10) if not root.is_dir() else ()):
        folder = root / f"cifar10-{split}.tar/{split}/class{label}"
        folder.mkdir(parents=True)
        for number in range(20):
            pixels = b"".join(bytes((20 * label + number, 8 * y, 0)) * 32 for y in range(32))
            (folder / f"{number:02}.ppm").write_bytes(b"P6 32 32 255\n" + pixels)
    return root


def short(context, precision="bf16"):
    """Settings for a run that only has to finish."""
    return [f"train.steps={context.steps}", f"eval.samples={64 if context.quick else 512}", f"precision={precision}",
            f"data.root={image_set(context)}"]  # fmt: skip


def weights(context):
    """SHA-256 of the newest model's tensors, without the header, which contains the run's name."""
    models = sorted(context.folder.glob("run/checkpoints/step-*/model.safetensors"))
    if not models:
        raise Failed("the run left no checkpoint")
    data = models[-1].read_bytes()
    return hashlib.sha256(data[8 + int.from_bytes(data[:8], "little") :]).hexdigest()


def same(name, expected, other, seen):
    detail = f"{name} {expected[:16]} {other} {seen[:16]}"
    if expected != seen:
        raise Failed(detail)
    return detail


def without_transfers(result):
    result.output()
    census = CENSUS.search(result.stdout + result.stderr)
    if not census or int(census[2]) == 0 or int(census[3]) > 0:
        raise Failed(census[0] if census else result.tail())
    return census[1]


def graph(context):
    runs = itertools.product(TRAINING, ("f32", "bf16"), ("check", "on"))
    for config, precision, mode in (*runs, *((config, "bf16", "check") for config in NETWORKS)):
        command = context.train(config, *short(context, precision), "--graph", mode)
        yield Check(f"{config} {precision}, --graph {mode}", command, without_transfers)


def streaming(context):
    def like_resident(result):
        result.output()
        if "streamed by" not in result.stdout + result.stderr:
            raise Failed("the files were not streamed\n" + result.tail())
        streamed = weights(context)
        if "resident" not in context.known:
            shutil.rmtree(context.folder / "run")
            context.run(context.train(FILES, *short(context)), "resident").output()
            context.known["resident"] = weights(context)
        return same("resident", context.known["resident"], "streamed", streamed)

    for mode in ("on", "off", "check"):
        command = context.train(FILES, *short(context), *STREAMED, "--graph", mode)
        yield Check(f"{FILES} bf16, streamed, --graph {mode}", command, like_resident)


def resuming(context):
    """Resumes a run from the middle; its final weights must equal the weights of the uninterrupted run."""
    half = context.steps // 2
    command = context.train(FILES, *short(context), f"train.checkpoint_every={half}", "train.keep=9")

    def like_uninterrupted(result):
        result.output()
        whole, checkpoints = weights(context), context.folder / "run/checkpoints"
        shutil.rmtree(checkpoints / f"step-{context.steps}", ignore_errors=True)
        if not (checkpoints / f"step-{half}").is_dir():
            raise Failed("the first run left no checkpoint halfway")
        context.run([*command, "--resume", "auto"], "resumed").output()
        return same("uninterrupted", whole, "resumed", weights(context))

    yield Check(f"{FILES} bf16, resumed halfway", command, like_uninterrupted)


def accuracy(context):
    """Runs the whole quickstart in both precisions. The means of three seeds must differ by no more than chance
    explains in 99 of 100 cases."""
    seen = {"f32": [], "bf16": []}

    def keep(result):
        """Stores the accuracy on the first source in the last evaluation of the loop's current run."""
        result.output()
        lines = (context.folder / "run/metrics.jsonl").read_text().splitlines()
        last = [json.loads(line) for line in lines if '"evaluation"' in line][-1]
        seen[precision].append(last["results"][0]["accuracy"])
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

    for seed, precision in itertools.product(SEEDS[: 1 if context.quick else None], seen):
        settings = short(context, precision) if context.quick else [f"precision={precision}"]
        command = context.train("quickstart.yaml", f"seed={seed}", *settings)
        yield Check(f"quickstart {precision}, seed {seed}", command, keep, seconds=120)
    yield Check("bf16 reaches the accuracy of f32", [], compare)
