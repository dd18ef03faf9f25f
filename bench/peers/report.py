"""Writes the results of bench/peers/compare as one page, peers-MACHINE.md, and prints it.

    python bench/peers/report.py FOLDER OUT     FOLDER: wellspring-SIDE.json, steps.json, jax-SIDE.json,
                                                generate-SIDE.json, load.json and training.json; OUT: folder of the page

A part that is missing is named on the page, except wellspring-032.json, which describes the machine.
"""

import json
import pathlib
import re
import sys


# Goals for the ratios of steps.
GOALS = {"three convolutions": "3", "resnet18": "2", "resnet50": "1.3", "vit-tiny, patch 4": "1.5"}


def table(heads, rows):
    lines = [" | ".join(heads), " | ".join("---" if i == 0 else "---:" for i in range(len(heads)))]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def count(rate):
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def spread(run):
    """Median and extremes; of a single turn, its rate alone."""
    rate, lowest, highest = (count(run[name]) for name in ("images_per_second", "lowest", "highest"))
    return rate if run.get("turns") == 1 else f"{rate} ({lowest} to {highest})"


def counted(number, what):
    return f"{number} {what}{'' if number == 1 else 's'}"


def step_rows(seen):
    """Training steps on a resident batch."""
    for row in seen["rows"]:
        work = f"{row['network']}, {row['side']}x{row['side']}, batch {row['batch']}, {row['precision']}"
        eager, compiled, ours = ({**row[side], "turns": row["turns"]} for side in ("eager", "compiled", "wellspring"))
        both = [f"{spread(eager)}, {counted(eager['threads'], 'thread')}",
                f"{spread(compiled)}, {counted(compiled['threads'], 'thread')}" if "threads" in compiled else "-"]
        best = row["pytorch"]["kind"] == "compiled"
        both[best] = f"**{both[best]}**"
        yield work, *both, spread(ours), f"{row['ratio']:.2f}", GOALS[row["network"]]


def not_compiled(seen):
    reasons = {row["compiled"]["why"] for row in seen["rows"] if "why" in row["compiled"]}
    return "".join(f"\ntorch.compile does not work here: {reason}.\n" for reason in sorted(reasons))


def jax_rows(theirs, ours):
    """The step of three convolutions on a resident batch, and with newly drawn images."""
    row = next(row for row in ours["rows"] if row["name"].startswith("three convolutions"))
    for batch, rate in ("resident", row["ceiling"]["rate"]), ("generating", row["rate"]):
        peer = theirs[batch]["images_per_second"]
        drawn = "drawn in the step" if batch == "generating" else "resident"
        work = f"{theirs['side']}x{theirs['side']}, batch {theirs['batch']}, {drawn}"
        yield work, count(peer), count(rate), f"{rate / peer:.2g}"


def drawing_rows(seen):
    ours = seen["wellspring"]
    for peer in seen["peers"]:
        ratio = ours["images_per_second"] / peer["images_per_second"]
        yield f"{peer['peer']} {peer['version']}", spread(peer), spread(ours), f"{ratio:.2f}"


def loading_rows(seen):
    for row in seen["rows"]:
        theirs = row["pytorch"]
        rate = f"{spread(theirs)}, {counted(theirs['workers'], 'worker')}"
        yield row["format"], rate, spread(row["wellspring"]), f"{row['ratio']:.2f}"


def training_rows(seen):
    for row in seen["rows"]:
        yield row["images"], row["by"], spread(row), f"{row['accuracy']:.1%}"


def other_loaders(seen):
    """The lines below the table of loaders."""
    lines = ["FFCV 1.0.2 is missing: pip builds it from source, which needs the headers of OpenCV 4."]
    if "no_dali" in seen:
        lines.append(f"DALI is missing ({seen['no_dali']}): bench/peers/requirements-dali.txt installs it.")
    for row in seen["rows"]:
        if theirs := row.get("dali"):
            lines.append(f"DALI {theirs['version']} on the CPU, {row['format']}: {spread(theirs)}, ratio "
                         f"{theirs['ratio']:.2f}.")
        if why := row.get("dali_failed"):
            lines.append(f"DALI does not work here: {why}.")
    return "\n".join(lines)


def steps(read):
    seen = read("steps")
    f32, bf16 = (count(seen["products"][name] / 1e9) for name in ("f32", "bf16"))
    return f"""
## Training steps

On a resident batch, next to PyTorch {seen["version"]} (channels_last; bf16: autocast), eagerly with its best number of
threads and with torch.compile. The ratio is to the faster one (bold), the median over the turns. Slow networks have a
single turn, without extremes. In the same run, PyTorch multiplied 2048x2048 matrices with {f32} GFLOP/s in f32 and {bf16}
in bf16.

{table(("network", "eager", "compiled", "Wellspring", "ratio", "goal"), step_rows(seen))}
{not_compiled(seen)}"""


def steps_of_jax(read, sides):
    theirs = [(read(f"jax-{side}"), read(f"wellspring-{side}")) for side in sides]
    rows = [row for pair in theirs for row in jax_rows(*pair)]
    return f"""
## Drawing and training in one compiled program

Three convolutions, f32, next to JAX {theirs[0][0]["version"]}, which compiles drawing and step into one program. The
columns were measured one after the other, so a ratio is good to about 20 %.

{table(("images", "JAX", "Wellspring", "ratio"), rows)}
"""


def drawing(read, side):
    seen = read(f"generate-{side}")
    absent = "".join(f"\n{name} is missing: {why}.\n" for name, why in seen["absent"].items())
    return f"""
## Drawing images of {int(side)} pixels

{seen["work"]}.

{table(("peer", "peer's rate", "Wellspring", "ratio"), drawing_rows(seen))}
{absent}"""


def loading(read):
    seen = read("load")
    versions = seen["versions"]
    return f"""
## Loading files

{seen["work"]}, in random order, from the page cache; PyTorch {versions["torch"]} with its best
number of workers, webdataset {versions["webdataset"]}, h5py {versions["h5py"]}. Ratios are medians over the turns.

{table(("format", "DataLoader", "Wellspring", "ratio"), loading_rows(seen))}

{other_loaders(seen)}
"""


def training(read):
    seen = read("training")
    absent = "".join(f"\n{way} is missing: {why}.\n" for way, why in seen["absent"].items())
    return f"""
## Training in PyTorch

{seen["work"]}.
PyTorch {seen["version"]}; {counted(seen["turns"], "turn")}.

{table(("images", "made by", "images/s", "accuracy"), training_rows(seen))}
{absent}"""


def page(read):
    ours = read("wellspring-032")
    machine = ours["machine"]
    text = f"""# Next to PyTorch, JAX, NumPy and Numba

`bench/peers/compare` writes this page. Machine: {machine["processor"]}
({machine["instruction_sets"]}), {machine["threads"]} processors; commit {ours["commit"]}. Rates are images/s,
medians with the lowest and highest turn; programs take turns on the same processors.
"""
    parts = {"Training steps": steps, "JAX": lambda read: steps_of_jax(read, ("032", "224")),
             "Drawing, 32 pixels": lambda read: drawing(read, "032"),
             "Drawing, 224 pixels": lambda read: drawing(read, "224"), "Loading files": loading,
             "Training in PyTorch": training}  # fmt: skip
    for name, write in parts.items():
        try:
            text += write(read)
        except (FileNotFoundError, json.JSONDecodeError):
            text += f"\n{name}: not measured.\n"
    return text


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    text = page(lambda name: json.loads((folder / f"{name}.json").read_text()))
    machine = json.loads((folder / "wellspring-032.json").read_text())["machine"]
    widest = next((name for name in ("avx512f", "avx2") if name in machine["instruction_sets"].split()), "")
    name = f"{machine['processor']} {widest} {counted(machine['threads'], 'core')}".lower()
    name = re.sub("[^a-z0-9]+", "-", name).strip("-")
    (out / f"peers-{name}.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
