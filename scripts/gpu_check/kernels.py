"""Checks with the programs of bench/gpu: kernel launches, launch bounds, cuDNN plans, the kernels of a step."""

import collections
import json
import pathlib
import statistics
import tempfile

from gpu_check.lines import positive, read_lines
from gpu_check.running import Check, Failed, NotMade

# Configurations with convolutions, the most informative first.
NETWORKS = ("quickstart.yaml", "cifar10_scratch.yaml", "cifar10_transfer.yaml", "ginkgo_images.yaml", "pde.yaml")
FASTER = 1.05  # minimum speed-up at which the report names another plan or launch bound
FEW_BOUNDS = ["--size", 32, "--batch", 8, "shapes", "visual_atom"]  # with --quick
TRACER = "libkernel_trace.so"
NAMED = 12  # number of kernels in the report's text; its JSON has all of them


def tool(context, name):
    path = context.installation.tools / name
    if not path.is_file():
        raise NotMade(f"this build has no {name}")
    return path


def measure(context, name, arguments, key, words_of, seconds):
    """Runs a program and describes its rows, the objects with `key`; the report keeps the rows under the name."""
    result = context.run(name, [tool(context, name), *arguments], seconds)
    rows, others, last = read_lines(result.stdout, key)
    words = words_of(rows, others, last)
    if not rows:
        raise Failed("no rows\n" + result.tail())
    context.report.records[name] = rows
    return "\n".join(words)


def launches(context):
    arguments = ("launch_chain", [context.device], "name", launch_words)
    yield Check("a chain of empty kernels", measure, context, *arguments, seconds=60)


def launch_words(rows, *_):
    words = []
    for row in rows:
        keys = ("us_per_step", "us_per_step_alone", "host_us_per_step", "nodes_per_step")
        step, alone, host, nodes = positive(row, *keys)
        words.append(f"{row['name']}: {step:.1f} us per step ({step / nodes:.2f} per kernel), "
                     f"alone {alone:.1f}, on the host {host:.1f}")  # fmt: skip
    return words


def bounds(context):
    chosen = ["--device", context.device, *(FEW_BOUNDS if context.quick else [])]
    arguments = ("launch_bounds", chosen, "generator", bound_words)
    yield Check("kernels under other launch bounds", measure, context, *arguments, seconds=150)


def bound_words(rows, *_):
    """For each generator, the rate of the program's kernel and, if it is faster, the best variant."""
    words, generators = [], collections.defaultdict(list)
    for row in rows:
        positive(row, "us", "samples")
        generators[row["generator"]].append(row)
    for name, variants in generators.items():
        own = next((row for row in variants if row["shipped"]), None)
        if own is None:
            raise ValueError(f"no row of {name} is the program's kernel")
        best = min(variants, key=lambda row: row["us"])
        line = f"{name}: {1e6 * own['samples'] / own['us']:.0f} samples/s"
        if own["us"] > FASTER * best["us"]:
            line += f"; {own['us'] / best['us']:.2f} times as many with {best['blocks']} blocks per multiprocessor"
            line += f", teams of {best['members']}" if best["members"] else ""
            line += f", bands of {best['band_pixels']} pixels" if best["band_pixels"] else ""
        words.append(line)
    return words


def plans(context):
    def words_of(rows, others, last):
        words = plan_words(rows) + [f"no plan: {line['unplanned']}" for line in others if "unplanned" in line]
        words[0] += f"; {last['left']} convolutions were not reached" if last.get("left") else ""
        described = next(line["device_properties"] for line in others if "device_properties" in line)
        context.report.keep_log("cudnn-device-properties", json.dumps(described, indent=2) + "\n")
        positive(described, "multiProcessorCount")
        return words

    def check(seconds):
        configs = [context.configs / name for name in NETWORKS[: 1 if context.quick else None]]
        arguments = ["--device", context.device, "--seconds", int(0.7 * seconds), *configs]
        return measure(context, "conv_plans", arguments, "plan", words_of, seconds)

    yield Check("all plans of cuDNN", check, seconds=150)


def plan_words(rows):
    """The number of plans, and the passes for which another plan is faster than cuDNN's choice."""
    graphs = collections.defaultdict(list)
    for row in rows:
        graphs[row["convolution"], row["bias"], row["relu"], row["pass"]].append(row)
    timed, slower = 0, []
    for (convolution, _, _, name), plans_of_it in graphs.items():
        times = {row["engine"]: positive(row, "us")[0] for row in plans_of_it if "refused" not in row}
        timed += len(times)
        chosen = next((row["engine"] for row in plans_of_it if row.get("chosen")), None)
        if chosen is None:
            raise ValueError(f"no plan of {name} of {convolution} is the chosen one")
        best = min(times, key=times.get)
        if times[chosen] > FASTER * times[best]:
            slower.append(f"{name} of {convolution}: {chosen} {times[chosen]:.1f} us, {best} {times[best]:.1f} us")
    head = f"{len(graphs)} passes, {len(rows)} plans, {timed} timed; {len(slower)} with a faster plan than cuDNN's choice"
    return [head, *slower]


def nodes(context):
    """The kernels of a step by name and time, as recorded by CUPTI (bench/gpu/kernel_trace.cpp)."""

    def check(config, seconds):
        tracer = tool(context, TRACER)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.jsonl"
            command = [context.program, "train", context.configs / config, f"out={folder}/run",
                       f"device={context.device}", "train.steps=64", "eval.sources=[]", "--graph", "on"]  # fmt: skip
            tracing = {"CUDA_INJECTION64_PATH": str(tracer), "WELLSPRING_TRACE": str(path)}
            result = context.run(f"trace {config}", command, seconds, **tracing)
            text = path.read_text(errors="replace") if path.is_file() else ""
        context.report.keep_log(f"trace of {config}", text)
        if not text:
            raise Failed(f"the driver did not load {TRACER}\n{result.tail()}")
        context.report.records[f"nodes of {config}"] = step = read_trace(text)
        return "\n".join(step_words(step))

    for config in ("quickstart.yaml", "ee_mumu.yaml"):
        yield Check(f"{config}, the kernels of a step", check, config, seconds=90)


def read_trace(text):
    """The summary of a step."""
    last_line = (text.splitlines() or [""])[-1]
    if last_line.startswith('{"unavailable"'):  # alone, or after the line with CUPTI's version
        raise NotMade(f"CUPTI cannot be used here: {json.loads(last_line)['unavailable']}")
    records, _, last = read_lines(text, "kind")
    if last.get("dropped") != 0:
        raise ValueError(f"{last.get('dropped')} records were dropped")
    return summary(steps_of(records))


def steps_of(records):
    """Replays of the graph with the most records, each in time order; a repeated node starts the next replay. Drops the
    first half as warm-up."""
    graphs = collections.Counter(record["graph"] for record in records if record["graph"])
    if not graphs:
        raise ValueError("no graph launched anything")
    graph, steps, seen = graphs.most_common(1)[0][0], [], set()
    for record in sorted((r for r in records if r["graph"] == graph), key=lambda r: r["start"]):
        positive(record, "start", "end")
        if record["end"] < record["start"]:
            raise ValueError(f"a kernel ends before it begins: {record}")
        if not steps or record["node"] in seen:
            steps.append([])
            seen = set()
        steps[-1].append(record)
        seen.add(record["node"])
    usual = statistics.mode(map(len, steps))
    whole = [step for step in steps if len(step) == usual]
    return whole[len(whole) // 2 :]


def busy_and_gaps(step):
    """Nanoseconds during which something ran (records may overlap), and the gaps between."""
    busy, gaps, until = 0, [], step[0]["start"]
    for record in step:
        gaps.append(max(0, record["start"] - until))
        busy += max(0, record["end"] - max(record["start"], until))
        until = max(until, record["end"])
    return busy, gaps[1:]


def summary(steps):
    """Medians over steps, in microseconds; kernels by name, the longest first."""

    def median(values):
        return statistics.median(values) / 1e3

    busy, gaps = zip(*map(busy_and_gaps, steps))
    kernels = []
    for name, count in collections.Counter(record["name"] for record in steps[-1]).items():
        times = [sum(r["end"] - r["start"] for r in step if r["name"] == name) for step in steps]
        kernels.append({"name": name, "count": count, "us": median(times)})
    return {
        "steps": len(steps),
        "nodes": len(steps[0]),
        "us": median(max(r["end"] for r in step) - step[0]["start"] for step in steps),
        "us_busy": median(busy),
        "us_to_next": median(b[0]["start"] - a[0]["start"] for a, b in zip(steps, steps[1:])) if steps[1:] else None,
        "gaps_us": [median(values) for values in zip(*gaps)],
        "kernels": sorted(kernels, key=lambda kernel: -kernel["us"]),
    }


def step_words(step):
    gaps = step["gaps_us"] or [0]
    period = f", the next one starts after {step['us_to_next']:.1f}" if step["us_to_next"] else ""
    yield (f"{step['nodes']} nodes in {step['us']:.1f} us, busy {step['us_busy'] / step['us']:.0%}; "
           f"gaps of {statistics.mean(gaps):.2f} us on average, the longest {max(gaps):.2f}{period}")  # fmt: skip
    for kernel in step["kernels"][:NAMED]:
        yield f"{kernel['us']:.2f} us in {kernel['count']}: {kernel['name'][:120]}"
