"""Writes a page with a picture of the samples of every generator.

    python python/examples/gallery.py gallery.html
    python python/examples/gallery.py gallery.html shapes tracks    only these
"""

import argparse
import base64
import html
import pathlib

import wellspring as ws


def section(name: str, summary: str, size: int) -> str:
    generator = ws.Generator(name, size=size)
    sample = generator.describe()["sample"]
    picture = ws.preview(name, size=size, count=16 if sample.startswith("image") else 2000)
    facts = f"{sample}; classes: {', '.join(generator.classes)}; latents: {', '.join(generator.latents) or 'none'}"
    return (f"<h2 id='{name}'>{name}</h2>\n<p>{html.escape(summary)}</p>\n"
            f"<img alt='samples of {name}' src='data:image/png;base64,{base64.b64encode(picture.png).decode()}'>\n"
            f"<p><small>{html.escape(facts)}</small></p>\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="default: all generators")
    parser.add_argument("--size", type=int, default=64, help="side of the images")
    arguments = parser.parse_args()
    known = ws.generators()
    sections = []
    for name in arguments.names or known:
        print(name, flush=True)
        sections.append(section(name, known[name], arguments.size))
    arguments.out.write_text("<!DOCTYPE html>\n<meta charset='utf-8'>\n<title>Generators</title>\n"
                             "<style>body{font-family:sans-serif;max-width:60em;margin:auto} img{max-width:100%}</style>\n"
                             "<h1>Generators</h1>\n" + "".join(sections))


if __name__ == "__main__":
    main()
