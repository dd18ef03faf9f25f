"""The kernels of a step by name and time, as CUPTI sees them (bench/gpu/kernel_trace.cpp)."""

import collections
import pathlib
import statistics
import tempfile

from gpu_check.lines import positive, read_lines
from gpu_check.running import Check, Outcome
from gpu_check.tools import absent

TRACER = "libkernel_trace.so"
TRACED = ("quickstart.yaml", "ee_mumu.yaml")
STEPS = 64
NAMED = 12  # of the report's kernels; its JSON has all


def nodes(context):
    for config in TRACED:
        yield Check(f"{config}, the kernels of a step", trace_check(config), 90)


def trace_check(config):
    def check(context, seconds):
        problem = absent(context, TRACER)
        if problem:
            return problem
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.jsonl"
            result = context.run(
                f"trace {config}",
                [context.program, "train", context.installation.configs / config, f"out={folder}/run",
                 f"device={context.device}", f"train.steps={STEPS}", "eval.sources=[]", "--graph", "on"],
                seconds,
                {"CUDA_INJECTION64_PATH": str(context.installation.tool(TRACER)), "WELLSPRING_TRACE": str(path)},
            )  # fmt: skip
            text = path.read_text(errors="replace") if path.is_file() else ""
        context.report.keep_log(f"trace of {config}", text)
        if result.returncode != 0:
            return Outcome(False, result.tail())
        if not text:
            return Outcome(False, f"the driver did not load {TRACER}\n{result.tail()}")
        return outcome_of(context, config, text)

    return check


def outcome_of(context, config, text):
    try:
        first = read_unavailable(text)
        if first:
            return Outcome(None, f"CUPTI cannot be used here: {first}")
        records, _, last = read_lines(text, "kind")
        if last.get("dropped") != 0:
            raise ValueError(f"{last.get('dropped')} records were dropped")
        step = summary(steps_of(records))
    except (ValueError, KeyError, TypeError) as error:
        return Outcome(False, f"the trace is none ({error!r})")
    context.report.records[f"nodes of {config}"] = step
    return Outcome(True, "\n".join(words_of(step)))


def read_unavailable(text):
    """Why CUPTI could not be used, "" where it could."""
    try:
        _, others, _ = read_lines(text + '{"end": 0}\n', "kind")
    except ValueError:
        return ""
    return next((line["unavailable"] for line in others if "unavailable" in line), "")


def steps_of(records):
    """Replays of the graph that was replayed most, each in order of time: a node that comes again begins the
    next. The first half is left out: what is warm counts."""
    graphs = collections.Counter(record["graph"] for record in records if record["graph"])
    if not graphs:
        raise ValueError("nothing was launched by a graph")
    graph = graphs.most_common(1)[0][0]
    steps, seen = [], set()
    for record in sorted((r for r in records if r["graph"] == graph), key=lambda r: r["start"]):
        positive(record, "start", "end")
        if record["end"] < record["start"]:
            raise ValueError(f"a kernel ends before it begins: {record}")
        if not steps or record["node"] in seen:
            steps.append([])
            seen = set()
        steps[-1].append(record)
        seen.add(record["node"])
    usual = statistics.mode(len(step) for step in steps)
    whole = [step for step in steps if len(step) == usual]
    return whole[len(whole) // 2 :]


def busy(step):
    """Nanoseconds in which anything ran: records may overlap."""
    total, until = 0, 0
    for record in step:
        total += max(0, record["end"] - max(record["start"], until))
        until = max(until, record["end"])
    return total


def gaps(step):
    """Nanoseconds between what ran before and what comes next, in order."""
    found, until = [], step[0]["end"]
    for record in step[1:]:
        found.append(max(0, record["start"] - until))
        until = max(until, record["end"])
    return found


def summary(steps):
    """Medians over steps, in microseconds; kernels by name, the longest first."""

    def median(values):
        return statistics.median(values) / 1e3

    span = median(max(r["end"] for r in step) - step[0]["start"] for step in steps)
    times, counts = collections.defaultdict(list), {}
    for step in steps:
        of_step = collections.Counter()
        for record in step:
            of_step[record["name"]] += record["end"] - record["start"]
        counts = collections.Counter(record["name"] for record in step)
        for name, time in of_step.items():
            times[name].append(time)
    kernels = [{"name": name, "count": counts.get(name, 0), "us": median(values)} for name, values in times.items()]
    between = [median(values) for values in zip(*map(gaps, steps))]
    return {
        "steps": len(steps),
        "nodes": len(steps[0]),
        "us": span,
        "us_busy": median(map(busy, steps)),
        "us_to_next": median(b[0]["start"] - a[0]["start"] for a, b in zip(steps, steps[1:])) if steps[1:] else None,
        "gaps_us": between,
        "kernels": sorted(kernels, key=lambda kernel: -kernel["us"]),
    }


def words_of(step):
    wide = max(step["gaps_us"], default=0)
    mean = statistics.mean(step["gaps_us"]) if step["gaps_us"] else 0
    period = f", the next begins after {step['us_to_next']:.1f}" if step["us_to_next"] else ""
    yield (
        f"{step['nodes']} nodes in {step['us']:.1f} us, busy {step['us_busy'] / step['us']:.0%}; "
        f"gaps of {mean:.2f} us on average, the widest {wide:.2f}{period}"
    )
    for kernel in step["kernels"][:NAMED]:
        yield f"{kernel['us']:.2f} us in {kernel['count']}: {kernel['name'][:120]}"
