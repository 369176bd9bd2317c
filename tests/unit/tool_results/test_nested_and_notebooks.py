"""Settings and markup by their outline, notebooks by their cells, and folders listed with all that is in them."""

from __future__ import annotations

import base64
import json
import random

import pytest

import plimsoll
from plimsoll.truncation.tool_results.shapes import detect_lines

YAML = "---\n".join(
    f"kind: Deployment\nmetadata:\n  name: service-{n}\n  labels:\n    app: service-{n}\nspec:\n  replicas: 2\n  limits:\n"
    f"    memory: {'64Gi' if n == 23 else '512Mi'}\n    image: acme/service-{n}:1.{n}\n"
    for n in range(40)
)
TOML = '[project]\nname = "acme"\ndependencies = [\n' + "".join(f'    "dep{n}>={n}.0",\n' for n in range(90)) + "]\n\n" + "".join(
    f"[tool.part{n}]\nenabled = {'true' if n % 2 else 'false'}\nlevel = {n}\n\n" for n in range(60)
)  # fmt: skip
XML = "<project>\n  <artifactId>billing</artifactId>\n  <dependencies>\n" + "".join(
    f"    <dependency>\n      <artifactId>lib-{n}</artifactId>\n      <version>{n}.1</version>\n    </dependency>\n" for n in range(150)
) + "  </dependencies>\n  <build>\n    <plugin>surefire</plugin>\n  </build>\n</project>\n"  # fmt: skip


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (YAML, ["kind: Deployment", "  name: service-0", "64Gi"]),
        (TOML, ['name = "acme"', "dependencies", "[tool.part0]", "[tool.part1]"]),
        (XML, ["billing", "lib-0", "  </dependencies>", "surefire"]),
    ],
)
def test_settings_keep_their_outline_and_odd_values(content, wanted):
    """Outer keys, the first of each inner one, and a value that no other has."""
    shown = plimsoll.shrink("read_file", content, max_tokens=300).text

    assert detect_lines("", content) == "nested"
    assert [word for word in wanted if word not in shown] == []
    assert "at the top" in shown.splitlines()[0]


HEADERS = "Metadata-Version: 2.4\nName: acme\n" + "".join(
    f"Project-URL: Page {n}, https://acme.example/{n}\nClassifier: Programming Language :: Python :: 3.{n}\n" for n in range(20)
) + 'Description-Content-Type: text/markdown\n\n<p align="center">\n' + '  <a href="https://acme.example">\n    <img src="x.svg">\n  </a>\n' * 10 + "</p>\n\n"  # fmt: skip
PROSE = "Acme turns a list of orders into a plan for the day.\nIt knows nothing of prices.\n\n"
API = "".join(
    f"## call_{n}\n\n- `messages`: the messages of the conversation, in the order in which they came.\n- `limit`: how many\n\n"
    f"```python\ncall_{n}(\n    messages: list,\n    limit: int = 3,\n)\n```\nReturns: the messages.\n\n"
    for n in range(30)
)  # fmt: skip
COMMENTED = "".join(
    f"## @param part{n}.enabled Whether part {n} is there\n##\npart{n}:\n  enabled: true\n  # - an example\n  args:\n    - --port\n"
    for n in range(30)
)
UNITS = "".join(
    f"[Section{n}]\nDescription=Part {n}\nAfter=network.target\nExecStart=/usr/bin/part{n} --all\n\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("Note: it rained all day.\nAnn: we stayed at home.\n" * 40, "text"),
        ("layer1: Pull complete\nlayer2: Pull complete\n" * 40, "text"),
        ("- one thing\n- another thing\n  said twice\n" * 40, "text"),
        (HEADERS + PROSE * 90, "text"),
        ("---\ntitle: Acme\ntags:\n  - a\n  - b\n---\n\n# Acme\n\n" + PROSE * 30, "text"),
        (API, "text"),
        (API.replace("```python\n", "").replace("```\n", ""), "text"),
        (
            "# Changes\n\n"
            + "## 1.2\n\n- A call says at once what it could not do and why it could not be done.\n" * 40,
            "text",
        ),
        (COMMENTED, "nested"),
        (UNITS, "nested"),
        ("# Copyright 2026\n# Licensed for all\n" * 6 + YAML, "nested"),
    ],
)
def test_settings_are_told_from_prose_by_what_is_in_them(content, kind):
    """Lines with a colon that are not nested, lists, Markdown, and a header before prose are text; comments are part of settings."""
    assert detect_lines("read_file", content) == kind


def notebook(cells):
    """A notebook of these cells."""
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def cell(number, outputs=()):
    """A cell with code."""
    source = [
        f"frame_{number} = load('part_{number}.csv')\n",
        f"def clean_{number}(frame):\n",
        "    return frame.dropna()\n",
    ]
    return {"cell_type": "code", "execution_count": number, "metadata": {}, "source": source, "outputs": list(outputs)}


def test_a_notebook_becomes_its_cells(tmp_path):
    """Headings, code, what was printed and the error are lines; pictures are named with their size; the whole reads back."""
    picture = base64.b64encode(random.Random(1).randbytes(9_000)).decode()
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "## Load\n\nWords about it.\n" * 9},
        *map(cell, range(30)),
    ]
    cells[3]["outputs"] = [{"output_type": "display_data", "data": {"image/png": picture, "text/plain": ["<Figure>"]}}]
    cells[9]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["epoch 1: loss 0.5\n"] * 50}]
    trace = [
        "\x1b[0;31m------\x1b[0m",
        "\x1b[0;32m----> 3\x1b[0m frame['revenue']",
        "\x1b[0;31mKeyError\x1b[0m: 'revenue'",
    ]
    cells[17]["outputs"] = [{"output_type": "error", "ename": "KeyError", "evalue": "'revenue'", "traceback": trace}]
    content = notebook(cells)
    with plimsoll.open("s", store=tmp_path) as session:
        for tokens_max in (300, 1_000, 4_000):
            shrunk = plimsoll.shrink("read_file", content, max_tokens=tokens_max, store=session)
            assert all(word in shrunk.text for word in ("## Load", "KeyError: 'revenue'", "----> 3 frame['revenue']"))
            assert session.read(shrunk.reference) == content
            assert "notebook of 31 cells, 30 with code, 1 error" in shrunk.text.splitlines()[0]
    assert picture[:40] not in shrunk.text
    assert "image/png of 12,000 characters" in shrunk.text
    assert "clean_29" in plimsoll.shrink("read_file", content, max_tokens=300, query="clean_29").text


def test_what_an_output_holds_beside_its_text_is_named_with_its_size():
    """An object counts as its JSON, and what is empty is not named."""
    data = {
        "application/json": {"rows": [1, 2, 3]},
        "text/html": ["<b>", "</b>"],
        "image/svg+xml": "",
        "text/plain": "x",
    }
    cells = [cell(0, [{"output_type": "display_data", "data": data}]), *map(cell, range(1, 20))]

    shown = plimsoll.shrink("read_file", notebook(cells), max_tokens=1_200).text
    assert "[cell 0: output, application/json of 16 characters, text/html of 7 characters]" in shown


@pytest.mark.parametrize(
    "cells",
    [
        [3],
        [{}],
        [
            {
                "cell_type": 5,
                "source": {"a": 1},
                "outputs": [None, {"output_type": "error", "traceback": 7}, {"data": {"text/plain": 4}}],
            }
        ],
        [{"cell_type": "code", "source": [1, "x"], "outputs": {"a": "b"}}],
        [],
    ],
)
def test_damaged_notebooks_are_shrunk(cells):
    """Whatever their fields are."""
    shrunk = plimsoll.shrink("x", notebook([*cells, {"cell_type": "raw", "source": "word " * 2_000}]), max_tokens=120)

    assert 0 < shrunk.tokens_after <= 120


@pytest.mark.parametrize("is_long", [False, True])
def test_a_recursive_listing_is_shown_by_folders(is_long):
    """Folders with the names in them and their number, though the lines of names have no folder."""
    lines = []
    for folder in range(12):
        lines += [f"src/part{folder}:", *(["total 48"] if is_long else [])]
        lines += [
            f"{'-rw-r--r-- 1 root root  9444 Nov 22 20:38 ' if is_long else ''}module_{n}.py" for n in range(40)
        ] + [""]
    shown = plimsoll.shrink("bash", "\n".join(lines), max_tokens=500).text

    assert all(f"src/part{folder}/ (40): module_0.py module_1.py" in shown for folder in (0, 1, 2, 11))
    assert "480 paths in" in shown.splitlines()[0]
    assert "total 48" not in shown
