"""Writes the results of bench/peers/compare as one page, and prints it.

    python bench/peers/report.py FOLDER OUT.md     FOLDER: wellspring.json, pytorch.json, pytorch-resnet18.json, jax.json,
                                                   generate-SIDE.json and load.json
"""

import json
import pathlib
import sys


def table(heads, rows):
    lines = [" | ".join(heads), " | ".join("---" if i == 0 else "---:" for i in range(len(heads)))]
    lines += [" | ".join(row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def count(rate):
    return f"{rate:,.0f}"


def spread(run):
    return f"{count(run['images_per_second'])} ({count(run['lowest'])} to {count(run['highest'])})"


def steps(read):
    """Training steps: the peer's rate and ours on a resident batch, or with newly drawn images."""
    rows = {row["name"].split(" 32x32")[0]: row for row in read("wellspring")["rows"]}
    for network, file, batch in (
        ("three convolutions", "pytorch", "resident"),
        ("resnet18", "pytorch-resnet18", "resident"),
        ("three convolutions", "jax", "resident"),
        ("three convolutions", "jax", "generating"),
    ):
        seen, row = read(file), rows[network]
        rate = seen[batch]["images_per_second"]
        ours = row["rate"] if batch == "generating" else row["ceiling"]["rate"]
        drawn = "drawn in the step" if batch == "generating" else "resident"
        yield f"{network}, {drawn}", f"{seen['peer']} {seen['version']}", count(rate), count(ours), f"{ours / rate:.2f}"


def drawing(seen):
    ours = seen["wellspring"]
    for peer in seen["peers"]:
        ratio = ours["images_per_second"] / peer["images_per_second"]
        yield f"{peer['peer']} {peer['version']}", spread(peer), spread(ours), f"{ratio:.2f}"


def loading(seen):
    for row in seen["rows"]:
        theirs = row["pytorch"]
        yield row["format"], f"{spread(theirs)}, {theirs['workers']} workers", spread(row["wellspring"]), f"{row['ratio']:.2f}"


def page(read, folder):
    ours, load = read("wellspring"), read("load")
    text = f"""# Next to PyTorch, JAX, NumPy and Numba

`bench/peers/compare` writes this page. Machine: {ours["machine"]["processor"]}
({ours["machine"]["instruction_sets"]}), {load["processors"]} processors; commit {ours["commit"]}. Rates are images/s,
medians with the lowest and highest turn; programs take turns on the same processors.

## Training steps

32x32 images, f32; batches of 128 (`resnet18`: 32). The columns of one row were measured after each other.

{table(("network, batch", "peer", "peer's rate", "Wellspring", "ratio"), steps(read))}
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
"""
    return text


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    text = page(lambda name: json.loads((folder / f"{name}.json").read_text()), folder)
    out.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
