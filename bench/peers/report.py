"""Writes the results of bench/peers/compare as one page, peers-MACHINE.md, and prints it.

    python bench/peers/report.py FOLDER OUT     FOLDER: wellspring.json, steps.json, jax.json, generate-SIDE.json and
                                                load.json; OUT: folder of the page
"""

import json
import pathlib
import re
import sys


def table(heads, rows):
    lines = [" | ".join(heads), " | ".join("---" if i == 0 else "---:" for i in range(len(heads)))]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def count(rate):
    return f"{rate:,.0f}"


def spread(run):
    return f"{count(run['images_per_second'])} ({count(run['lowest'])} to {count(run['highest'])})"


def steps(seen):
    """Training steps on a resident batch."""
    for row in seen["rows"]:
        work = f"{row['network']}, {row['side']}x{row['side']}, batch {row['batch']}, {row['precision']}"
        theirs = row["pytorch"]
        threads = f"{theirs['threads']} thread{'s' if theirs['threads'] > 1 else ''}"
        yield work, f"{spread(theirs)}, {threads}", spread(row["wellspring"]), f"{row['ratio']:.2f}"


def steps_of_jax(read):
    """The step of three convolutions on a resident batch, and with newly drawn images."""
    seen = read("jax")
    row = next(row for row in read("wellspring")["rows"] if row["name"].startswith("three convolutions"))
    for batch, ours in ("resident", row["ceiling"]["rate"]), ("generating", row["rate"]):
        rate = seen[batch]["images_per_second"]
        drawn = "drawn in the step" if batch == "generating" else "resident"
        yield f"three convolutions, {drawn}", count(rate), count(ours), f"{ours / rate:.2f}"


def drawing(seen):
    ours = seen["wellspring"]
    for peer in seen["peers"]:
        ratio = ours["images_per_second"] / peer["images_per_second"]
        yield f"{peer['peer']} {peer['version']}", spread(peer), spread(ours), f"{ratio:.2f}"


def loading(seen):
    for row in seen["rows"]:
        theirs = row["pytorch"]
        yield row["format"], f"{spread(theirs)}, {theirs['workers']} workers", spread(row["wellspring"]), f"{row['ratio']:.2f}"


def training(seen):
    for row in seen["rows"]:
        yield row["images"], row["by"], count(row["images_per_second"]), f"{row['accuracy']:.1%}"


NO_FFCV = "FFCV 1.0.2 is missing: pip builds it from source, which needs the headers of OpenCV 4."


def other_loaders(seen):
    """The lines below the table of loaders."""
    text = NO_FFCV
    for row in seen["rows"]:
        if theirs := row.get("dali"):
            text += f" DALI {theirs['version']} on the CPU, {row['format']}: {spread(theirs)}, ratio {theirs['ratio']:.2f}."
    return text


def page(read, folder):
    ours, peers, load = read("wellspring"), read("steps"), read("load")
    text = f"""# Next to PyTorch, JAX, NumPy and Numba

`bench/peers/compare` writes this page. Machine: {ours["machine"]["processor"]}
({ours["machine"]["instruction_sets"]}), {load["processors"]} processors; commit {ours["commit"]}. Rates are images/s,
medians with the lowest and highest turn; programs take turns on the same processors.

## Training steps

On a resident batch, next to PyTorch {peers["version"]} (channels_last, its best number of threads; bf16: autocast).

{table(("network", "PyTorch", "Wellspring", "ratio"), steps(peers))}

32x32 images, f32, batches of 128, next to JAX {read("jax")["version"]}. The columns were measured one after the other.

{table(("network, batch", "JAX", "Wellspring", "ratio"), steps_of_jax(read))}
"""
    for path in sorted(folder.glob("generate-*.json")):
        seen = json.loads(path.read_text())
        text += f"\n## Drawing images\n\n{seen['work']}.\n\n"
        text += table(("peer", "peer's rate", "Wellspring", "ratio"), drawing(seen)) + "\n"
        text += "".join(f"\n{name} is missing: {why}.\n" for name, why in seen["absent"].items())
    text += f"""
## Loading files

{load["work"]}, in random order, from the page cache; PyTorch {load["versions"]["torch"]} with its best number of workers,
webdataset {load["versions"]["webdataset"]}, h5py {load["versions"]["h5py"]}.

{table(("format", "DataLoader", "Wellspring", "ratio"), loading(load))}

{other_loaders(load)}
"""
    if (folder / "training.json").exists():
        seen = read("training")
        text += f"""
## Training in PyTorch

{seen["work"]}; PyTorch {seen["version"]}, one turn.

{table(("images", "made by", "images/s", "accuracy"), training(seen))}
"""
    return text


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    text = page(lambda name: json.loads((folder / f"{name}.json").read_text()), folder)
    machine = json.loads((folder / "wellspring.json").read_text())["machine"]["processor"]
    processors = json.loads((folder / "load.json").read_text())["processors"]
    name = re.sub("[^a-z0-9]+", "-", f"{machine} {processors} cores".lower()).strip("-")
    (out / f"peers-{name}.md").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
