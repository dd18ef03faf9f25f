"""The report: written after every check, so that whoever runs out of time keeps what was seen."""

import io
import json
import re
import tarfile
import time

WORDS = {True: "passed", False: "**failed**", None: "not made"}
MARKS = {True: "ok      ", False: "FAILED  ", None: "not made"}


class Report:
    """Checks of sections, rates and records, as NAME.json and NAME.md in a folder; logs in NAME-logs.tar."""

    def __init__(self, machine, folder, name):
        self.machine = machine
        self.folder = folder
        self.name = name
        self.checks = []
        self.rates = []
        self.records = {}  # what else was measured, by what it is: as the programs wrote it
        self.lost = ""  # why the last writing failed

    def add(self, section, name, outcome, seconds):
        self.checks.append(
            {
                "section": section,
                "name": name,
                "passed": outcome.passed,
                "detail": outcome.detail,
                "seconds": round(seconds, 2),
            }
        )
        first = outcome.detail.splitlines()[0] if outcome.detail else ""
        print(f"  {MARKS[outcome.passed]} {name}: {first}", flush=True)
        self.write()

    def having(self, passed):
        return [check for check in self.checks if check["passed"] is passed]

    def summary(self):
        """ "12 of 14 checks passed, 1 failed, 1 not made"."""
        words = f"{len(self.having(True))} of {len(self.checks)} checks passed"
        for passed, what in ((False, "failed"), (None, "not made")):
            if self.having(passed):
                words += f", {len(self.having(passed))} {what}"
        return words

    def path(self, suffix):
        return self.folder / (self.name + suffix)

    def write(self):
        """What cannot be written (a full disk) is tried again with the next check."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace(self.path(".json"), json.dumps(self.as_json(), indent=2) + "\n")
            replace(self.path(".md"), self.as_markdown())
            self.lost = ""
        except OSError as error:
            self.lost = str(error)

    def keep_log(self, name, text):
        """Beside the report; a log that cannot be kept is no reason to stop."""
        data = text.encode(errors="backslashreplace")
        member = tarfile.TarInfo(f"{len(self.checks):03}-{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}.txt")
        member.size, member.mtime = len(data), int(time.time())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tarfile.open(self.path("-logs.tar"), "a") as tar:
                tar.addfile(member, io.BytesIO(data))
        except (OSError, tarfile.TarError) as error:
            self.lost = str(error)

    def as_json(self):
        return {"machine": self.machine, "checks": self.checks, "rates": self.rates,
                "records": self.records}  # fmt: skip

    def as_markdown(self):
        lines = [f"# GPU check: {self.machine['gpu']}, {self.machine['date']}", ""]
        lines += [f"- {key}: {value}" for key, value in self.machine.items() if key != "doctor"]
        lines += ["", f"{self.summary()}.", ""]
        for section in dict.fromkeys(check["section"] for check in self.checks):
            lines += [f"## {section}", "", "| check | result | seen | s |"]
            lines += ["| --- | --- | --- | --- |"]
            for check in self.checks:
                if check["section"] == section:
                    cells = [cell(check["name"]), WORDS[check["passed"]], cell(check["detail"])]
                    lines.append(f"| {' | '.join(cells)} | {check['seconds']} |")
            lines.append("")
        if self.rates:
            lines += ["## Rates", "", "| what | rate | spread | unit | ceiling |"]
            lines += ["| --- | --- | --- | --- | --- |", *map(rate_row, self.rates), ""]
        lines += ["## wellspring doctor", "", "```", self.machine["doctor"].strip(), "```", ""]
        return "\n".join(lines)


def cell(text):
    """A text as one cell of a table."""
    return text.replace("|", "\\|").replace("\n", "<br>")


def replace(path, text):
    """Writes a file whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text)
    temporary.replace(path)


def rate_row(row):
    ceiling = row.get("ceiling") or {}
    seen = ""
    if ceiling:
        share = f"{ceiling.get('share', row['rate'] / ceiling['rate']):.1%}"
        if ceiling.get("verdict") in ("contradicts", "scattered"):
            share = "inconclusive"
        seen = f"{ceiling['what']}: {ceiling['rate']:.4g} ({share})"
    return f"| {row['name']} | {row['rate']:.4g} | {row['spread']:.2g} | {row['unit']} | {seen} |"
