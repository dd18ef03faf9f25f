"""The report. It is written after every check, so nothing is lost when time runs out."""

import collections
import io
import json
import re
import tarfile
import time

WORDS = {True: "passed", False: "**failed**", None: "not run"}


class Report:
    """Checks by section, rates and records, as NAME.json and NAME.md in a folder; logs in NAME-logs.tar."""

    def __init__(self, machine, folder, name):
        self.machine, self.folder, self.name = machine, folder, name
        self.checks, self.rates, self.records = [], [], {}  # records: {name: rows as the program wrote them}
        self.lost = ""  # why the last write failed

    def add(self, section, name, passed, detail, seconds):
        self.checks.append({"section": section, "name": name, "passed": passed, "detail": detail,
                            "seconds": round(seconds, 2)})  # fmt: skip
        print(f"  {WORDS[passed]:10} {name}: {detail.partition(chr(10))[0]}", flush=True)
        self.write()

    def summary(self):
        counts = collections.Counter(check["passed"] for check in self.checks)
        words = f"{counts[True]} of {len(self.checks)} checks passed"
        return words + "".join(f", {counts[c]} {w}" for c, w in ((False, "failed"), (None, "not run")) if counts[c])

    def path(self, suffix):
        return self.folder / (self.name + suffix)

    def write(self):
        """Writes the files. If that fails (full disk), the next check tries again."""
        content = {key: getattr(self, key) for key in ("machine", "checks", "rates", "records")}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for suffix, text in ((".json", json.dumps(content, indent=2) + "\n"), (".md", self.as_markdown())):
                temporary = self.path(suffix + ".tmp")  # readers see a complete file: the old or the new one
                temporary.write_text(text)
                temporary.replace(self.path(suffix))
            self.lost = ""
        except OSError as error:
            self.lost = str(error)

    def keep_log(self, name, text):
        data = text.encode(errors="backslashreplace")
        member = tarfile.TarInfo(f"{len(self.checks):03}-{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}.txt")
        member.size, member.mtime = len(data), int(time.time())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tarfile.open(self.path("-logs.tar"), "a") as tar:
                tar.addfile(member, io.BytesIO(data))
        except (OSError, tarfile.TarError) as error:
            self.lost = str(error)

    def as_markdown(self):
        lines = [f"# GPU check: {self.machine['gpu']}, {self.machine['date']}", ""]
        lines += [f"- {key}: {value}" for key, value in self.machine.items() if key != "doctor"]
        lines += ["", f"{self.summary()}.", ""]
        for section in dict.fromkeys(check["section"] for check in self.checks):
            checks = [check for check in self.checks if check["section"] == section]
            rows = [(c["name"], WORDS[c["passed"]], c["detail"], c["seconds"]) for c in checks]
            lines += [f"## {section}", "", *table(("check", "result", "seen", "s"), rows)]
        if self.rates:
            heads = ("what", "rate", "spread", "unit", "ceiling")
            lines += ["## Rates", "", *table(heads, map(rate_cells, self.rates))]
        return "\n".join([*lines, "## wellspring doctor", "", "```", self.machine["doctor"].strip(), "```", ""])


def table(heads, rows):
    for row in (heads, ["---"] * len(heads), *rows):
        cells = (str(cell).replace("|", r"\|").replace("\n", "<br>") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def rate_cells(row):
    seen, ceiling = "", row.get("ceiling")
    if ceiling:
        share = f"{ceiling.get('share', row['rate'] / ceiling['rate']):.1%}"
        share = "inconclusive" if ceiling.get("verdict") in ("contradicts", "scattered") else share
        seen = f"{ceiling['what']}: {ceiling['rate']:.4g} ({share})"
    return row["name"], f"{row['rate']:.4g}", f"{row['spread']:.2g}", row["unit"], seen
