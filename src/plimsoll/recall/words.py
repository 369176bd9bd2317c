"""The search terms of a text: stems of words, parts of compound names, and characters in scripts without spaces."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from operator import add

from plimsoll.light.regex import regex
from plimsoll.recall.kinds import KINDS, NAMED_KINDS

_IRREGULAR = """
beat beaten; begin began begun; bend bent; bleed bled; blow blew blown
break broke broken; bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; creep crept
deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten
fall fell fallen; feed fed; fight fought; flee fled; fly flew flown; forbid forbade forbidden
forget forgot forgotten; forgive forgave forgiven; freeze froze frozen
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; lay laid; lead led
leap leapt; learn learnt; lend lent; light lit; lose lost; meet met; pay paid
ride rode ridden; ring rang rung; run ran; seek sought; sell sold; send sent; sew sewn
shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat
sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen; stick stuck; sting stung
strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung; teach taught; tear tore torn
throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven
weep wept; win won; write wrote written
man men; woman women; child children; person people; foot feet; tooth teeth; mouse mice; life lives; wife wives; half halves
knife knives; wolf wolves; shelf shelves
"""

_ALIKE = """
kid child son daughter toddler baby; mom mother mum; dad father; grandma grandmother; grandpa grandfather; sibling brother sister
spouse husband wife partner marry; family kid relative parent; friend buddy pal; boss manager; colleague coworker teammate
job work career profession; employer company; trip travel vacation holiday journey visit; movie film; show series; picture photo
photograph pic image; painting drawing art; bike bicycle cycle; car vehicle; phone mobile; house home apartment; city town
country nation; shop store; doctor physician clinic; ill sick disease; injury hurt accident; dog puppy pet; cat kitten pet
animal pet; food meal dish cook recipe; dessert cake cookie; book novel read; author writer; music song band; concert festival
sport game; workout exercise gym fitness; run jog race; hike trail; hobby interest activity enjoy; event party meeting festival
class course lesson workshop; school college university; exam test; prize award; contest competition tournament; gift present
buy purchase get; receive get; begin start; end finish complete; quit stop; fix repair; choose pick select; like love enjoy prefer
favourite favorite love; dislike hate; fear afraid scare; happy glad joy; sad upset; angry mad; tired exhausted; stress destress
relax; worry anxious; big large huge; small little tiny; smart clever; beautiful pretty; live reside; move relocate; born birth
birthday; die death; old age; young youth; money cash fund; price cost; cheap affordable; talk chat speak discuss; say tell mention
think believe opinion; help support assist volunteer; advice suggestion recommend suggest; plan intend; goal dream aim; learn study
teach mentor; make create build craft; join attend participate; lose miss; need require; allergy allergic; symptom pain
identity gender; relationship date single; charity donate fundraise; shelter homeless; church faith religion; nature outdoor
error exception failure fail; bug defect; function method; folder directory; delete remove; config configuration setting
database db; repository repo; environment env; documentation docs; authentication auth login; message msg; request req
parameter param argument; update upgrade; version release; test spec; command cmd; fix patch; crash panic; slow latency
"""


def _groups(text: str) -> list[tuple[str, ...]]:
    return [tuple(group.split()) for line in text.splitlines() for group in line.split(";") if group.strip()]


IRREGULAR = {form: base for base, *forms in _groups(_IRREGULAR) for form in forms}
"""A form of a word -> the word."""

ALIKE = _groups(_ALIKE)
"""Words of which one may stand for another in an answer."""


UNSPACED = (
    "\u0900-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts without spaces between words (Chinese, Japanese, Thai, Khmer, Burmese), or whose words change by marks and endings
(those of India, Korean). Their terms are characters and pairs of characters."""

_PICTURES = "\u2600-\u27bf\u2b50-\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
"""Emoji and dingbats, each a word, without the marks that only colour or join them."""

WORD_CHARS_MAX = 64
"""Only this many characters of a word are indexed: longer ones are data."""

_MEMO_WORDS_MAX = 1 << 16

_ASCII_WORD = regex(r"[A-Za-z0-9_]+")
_WORD = regex(
    rf"[{UNSPACED}]+|[\U0001f1e6-\U0001f1ff]{{2}}|[{_PICTURES}]|[^\W{UNSPACED}]+(?:[\u0300-\u036f]+[^\W{UNSPACED}]*)*"
)
_RUN = regex(rf"[{UNSPACED}]")
_COMPOUND = regex(r"_|[a-z][A-Z]|[A-Za-z][0-9]|[A-Z]{2}[a-z]")
_PART = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CODE = regex(r"[0-9][A-Za-z]")
"""A digit before a letter, as in a hash or a code, whose parts have no meaning."""


def words(text: str) -> list[str]:
    """The words of a text, unchanged; a run of a script without spaces is one word, and so is an emoji. Linear."""
    return (_ASCII_WORD if text.isascii() else _WORD).findall(text)


class Terms:
    """Computes the terms of texts, with a cache by word. An index and its queries share one."""

    __slots__ = ("_memo",)

    def __init__(self) -> None:
        self._memo = _Memo()

    def of(self, text: str) -> set[str]:
        """All terms of a text. Linear."""
        return set().union(*map(self._memo.__getitem__, words(text)))


class _Memo(dict[str, tuple[str, ...]]):
    """The terms of words; those of runs of a script without spaces are not held."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if _RUN.match(word):
            return pairs(word)
        terms = terms_of(word)
        if len(self) >= _MEMO_WORDS_MAX:
            self.clear()
        self[word] = terms
        return terms


def pairs(run: str) -> tuple[str, ...]:
    """The characters of a run of a script without spaces, and each pair of neighbours."""
    return (*run, *map(add, run, run[1:]))


def terms_of(word: str) -> tuple[str, ...]:
    """The terms of one word: its stem; for a compound name, the name and its parts."""
    word = word[:WORD_CHARS_MAX]
    if not word.isascii():
        return (stem(_folded(word)),)
    if not _COMPOUND.search(word):
        return (stem(word.lower()),)
    name = word.lower().strip("_")
    if _CODE.search(word):
        parts = [part.lower() for part in word.split("_")]
    else:
        parts = [stem(part.lower()) for part in _PART.findall(word)]
    return tuple(dict.fromkeys(term for term in (name, *parts) if len(term) > 1 or term == name)) if name else ()


def _folded(word: str) -> str:
    """The word in lower case without accents and compatibility forms such as full-width letters: `café` gives `cafe`."""
    folded = unicodedata.normalize("NFKD", word).casefold()
    return "".join(char for char in folded if not "\u0300" <= char <= "\u036f") or word


def stem(word: str) -> str:
    """The stem of a lower-case English word: without plural, -ing, -ed, -ly and a final -e."""
    word = IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("s"):
        word = _singular(word)
    for ending, least in (("ing", 6), ("ed", 5), ("ly", 6)):
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 2 else word


def _singular(word: str) -> str:
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1]


_COMMON = (
    "the a an and or of to in on for is are was were be been it its this that these those with as at by from i you we he she "
    "they my your our me his her their do does did has have had not but so if then than what which who whom when where how why "
    "there here will would can could should about into any some "
    "的 了 是 在 吗 呢 吧 啊 呀 么 什 有 和 也 就 都 你 我 他 她 它 们"
)

STOP = frozenset(map(stem, _COMMON.split()))
"""Stop words as terms. They are dropped from a query that has other terms."""


def _alike() -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for group in ALIKE:
        terms = set(map(stem, group))
        for term in terms:
            found.setdefault(term, set()).update(terms)
    return {term: tuple(others - {term}) for term, others in found.items()}


def _examples(kinds: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {stem(kind): tuple(map(stem, examples)) for kind, examples in kinds.items()}


EXAMPLE_TERMS = _examples(KINDS)
"""Terms that are examples of what a term names."""

NAMED_EXAMPLE_TERMS = _examples(NAMED_KINDS)
"""The same of terms that name a kind only where a question asks which."""

ALIKE_TERMS = _alike()
"""Terms that may stand for a term."""

ALIKE_WEIGHT, EXAMPLE_WEIGHT = 0.4, 0.7
"""Weight of a word that may stand for one of a question, and of an example of what one names."""


def alike_terms(asked: frozenset[str], named: frozenset[str]) -> list[tuple[str, float]]:
    """The terms that may stand for terms of a question, with their weights: those alike, and examples of what one names."""
    examples = {other for term in asked for other in EXAMPLE_TERMS.get(term, ())}
    examples |= {other for term in asked & named for other in NAMED_EXAMPLE_TERMS.get(term, ())}
    alike = {other for term in asked for other in ALIKE_TERMS.get(term, ())}
    shares = {**dict.fromkeys(examples, EXAMPLE_WEIGHT), **dict.fromkeys(alike, ALIKE_WEIGHT)}
    return sorted((term, share) for term, share in shares.items() if term not in asked)
