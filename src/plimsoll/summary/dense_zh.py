"""Chinese statements said short and put under what they are about: answers keep their question's noun, fillers go."""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING, NamedTuple

from plimsoll.regex import regex
from plimsoll.summary.ledger.fact import is_recalled, topic_of
from plimsoll.summary.ledger.sentences import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plimsoll.summary.ledger import Fact

_CLAUSE = regex(r"[，。！？；!?;]+|(?<=[^\dA-Za-z]),|,(?=[^\dA-Za-z ])|\s{2,}")
_ASKS = regex(r"请(?!问)|帮我|麻烦你|给我")
"""A request stays whole: what is asked for and what with stand in different clauses."""

_OPENING = regex(
    r"(?:嗯+|哦+|噢|啊+|哎+|唉|哇+|哈+|嘿+|呵+|额|呃|是的|是呀|是啊|对的|对呀|对啊|对了|没错|当然|好的|好吧|好呀|好啊|可以|不错|确实|知道的?"
    r"|了解|听过|看过|那么?|而且|不过|但是|可是|其实|所以|因为|并且|另外|还有就是|然后|就是|我觉得|我认为|我想|我知道|我记得|据我所知|听说|原来"
    r"|你好|您好|谢谢|感谢|不客气|再见|拜拜|的确|反正|看来|应该|清楚|记得|晓得|有[啊呀的]?(?=[，,])|好像|大概|也是|也|它是|他是|她是|它|这里|那里|这个|嘛|呀|呢)+"
)
_TAIL = regex(r"(?:[呀啊呢吧哦嘛哈喔啦哟噢的了吗么]|来着|对吧|是吧|对吗|是吗)+\Z")
_QUESTION = regex(r"[？?]|[吗么呢]\s*\Z|什么|哪[里儿个些年位家]?|谁|多少|几[点个年月]|怎么|多久|多大|是否|啥|吗")
_NOISE = regex(
    r"[那它他她你您我们的了呢吗么呀啊吧是在有都还就也要个会能可以没不给这啥]|知道|请问|什么|多少|哪[里儿个些家年]?|谁|几|如何|怎[么样]"
    r"|具体|了解|告诉|一下|大概|需要|时候|记得|清楚|关于|里面|的话|多久|想问|你说"
)
_FUNCTION = "的了吗呢么吧呀啊哦这那你您我他她它们有是在都也很就还不谁什哪怎几多过对没想去被把和与给让从到个些"
_LONG_RUN = regex(r"[\u3400-\u9fff]{2,}")
_FACTUAL = regex(
    r"\d|[A-Za-z]{2,}|《|“|[省市区县路街号楼层]\w?|[一二三四五六七八九十百千万][年月日元届部座层个处米]|、"
)
_TITLE = regex(r"《([^《》]{1,30})》")
_LETTER = rf"[^\s，。！？,!?、；：:《》“”（）()0-9A-Za-z{_FUNCTION}]"
_NAME = rf"[^\s，。！？,!?、；：:《》“”（）()0-9{_FUNCTION}]{{2,16}}"
_INTRODUCED = regex(
    rf"(?:知道|了解|听过|听说过?|看过|去过|认识|喜欢|说到|提到|说起|说说|聊聊|聊到|关于|查一?下|介绍一?下|推荐|想去|游览|参观)"
    rf"(?:过|一下|一部|一首|一位|的|这个|这部)*《?({_NAME})》?(?=[吗么嘛吧呢这的是在，。？！,?!、》]|\Z)"
    rf"|(?:^|[，。！？])(?:那|对了|你好|那你)?[，]?《?({_NAME}?)》?(?:这个地方|这部电影|这首歌|这个人|这个景点)?(?:你|您)?(?:知道|了解|听过|听说过|看过|去过|认识|清楚)(?:吗|么|嘛|不)"
)
_BESIDE = regex(
    rf"(?:边上|旁边|附近|周边|隔壁|不远处)(?:还有|就是|就有|景点有|的景点有|有个|有|的景点|的|是)*({_NAME})(?=[，。？！,?!、这的]|\Z)"
)
_PLACE = regex(
    rf"(?:^|[，。！？、“（]|位于|去|到|在|逛|玩|游|览|叫|有|是|和|与|及|还|个|过|看|道)((?:{_LETTER}){{1,14}}?"
    r"(?:博物馆|美术馆|纪念馆|体验馆|展览馆|图书馆|天文馆|文化馆|艺术馆|水族馆|科技馆|蜡像馆|植物园|动物园|公园|庄园|花园|大学|学院|剧院|剧场|戏院|大戏楼"
    r"|广场|故居|大厦|酒店|餐厅|古镇|胡同|大街|斜街|教堂|天主堂|清真寺|乐队|乐团|组合|公司|集团|银行|医院|车站|机场|图书城|遗址|城墙|中心|书店"
    r"|[宫坛庙寺塔湖山陵祠阁巷殿]))"
)
_FOREIGN = regex(
    r"[\u4e00-\u9fff]{1,6}(?:[·•][\u4e00-\u9fffA-Z][\u4e00-\u9fffA-Za-z.]{0,7}){1,3}(?=[的是在，。！？、和与吗这]|\Z)"
)
_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜谢邹喻柏窦章苏潘葛范彭郎鲁韦昌马苗凤方俞任袁柳鲍史唐费薛雷贺倪汤滕殷罗毕郝邬安常"
    "乐于时傅皮齐康伍余元顾孟黄穆萧尹姚邵汪毛禹狄戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季贾路江童颜郭梅盛林钟徐邱骆高夏蔡田樊胡凌霍虞万柯管卢莫房丁邓洪崔龚程邢裴陆"
)
_PERSON = regex(
    rf"(?:^|[，。！？、》]|导演|演员|歌手|主演|作者|作家|由|叫|是|和|与|及|跟|像|道|欢|对了，|那)([{_SURNAMES}][^\W\d_{_FUNCTION}]{{1,2}})(?=[的是在，。！？、和与出也演导唱执饰生独吗这]|\Z)"
)
_PRAISE = regex(r"厉害|不错|喜欢|真好|好棒|值得|推荐|谢谢|有机会|有时间|一定去|想去|打算|去看看|期待|开心|佩服|羡慕")
_TOPIC_CHARS_MAX = 24
_ASKED_MIN = 3
"""Questions that ask for something before it counts as an attribute."""

_REPLY_CHARS_MAX = 70


class Statement(NamedTuple):
    """A candidate: its short form, what it is about, and its character pairs with what each is worth."""

    text: str
    topic: str
    order: tuple[int, ...]
    words: dict[str, float]
    factor: float


def statements(facts: Sequence[Fact]) -> list[Statement]:
    """The clauses of these chat facts that say something, in order, each short and under its topic."""
    whole = "\n".join(fact.text for fact in facts)
    known = topics(facts, whole)
    asked_for = attributes(facts, known, whole)
    found = list(_statements(facts, known, asked_for))
    spread: Counter[str] = Counter()
    for shown, _, _, _ in found:
        spread.update(set(pairs(shown)))
    total = len(found)
    return [
        Statement(shown, about, order, {pair: _worth(pair, spread[pair], total) for pair in pairs(shown)}, factor)
        for shown, about, order, factor in found
    ]


def _statements(
    facts: Sequence[Fact], known: Sequence[str], asked_for: Mapping[str, int]
) -> Iterator[tuple[str, str, tuple[int, ...], float]]:
    topic, noun, asker, about = "", "", -2, ""
    for place, fact in enumerate(facts):
        if is_recalled(fact):  # it is short and under its topic already
            answers = fact.text.partition(" ")[0] in _COMMON_ATTRIBUTES
            yield fact.text, topic_of(fact), (fact.position, place), _factor(fact.text, answers=answers)
            continue
        mentioned = _mentioned(fact.text, known)
        answers = 0 < fact.position - asker <= 1
        if not answers:
            noun = ""
        # The reply to a question is about what the question was about, whatever it names.
        about = about if answers and noun else (mentioned or topic)
        for clause, piece in enumerate(
            _pieces(fact.text, whole_replies=bool(noun) or _ASKS.search(fact.text) is not None)
        ):
            short = shorten(piece)
            if _QUESTION.search(piece) is not None or not _says_something(short) or short == about:
                continue
            label = noun if noun and not any(part in short for part in (noun, noun[-2:])) and len(short) <= 60 else ""
            yield (
                f"{label} {short}" if label else short,
                about,
                (fact.position, place, clause),
                _factor(short, answers=bool(noun)),
            )
        # A place named inside an address or a list is no change of topic; a reply that is a name is.
        if mentioned and (not (answers and noun) or len(mentioned) * 5 >= len(fact.text) * 2):
            topic = mentioned
        if fact.state == "question" or _QUESTION.search(fact.text):
            noun, asker, about = _attribute(_without(fact.text, known), asked_for), fact.position, topic


def attributes(facts: Sequence[Fact], names: Sequence[str], whole: str) -> dict[str, int]:
    """What questions ask for again and again: an address, a director.

    Found as what is left of questions without names and function words, when it also stands behind 的, as attributes do.
    """
    counted: Counter[str] = Counter(dict.fromkeys(_COMMON_ATTRIBUTES, _ASKED_MIN * 4))
    for fact in facts:
        for piece in _pieces(fact.text):
            if _QUESTION.search(piece):
                for run in _runs(_without(piece, names)):
                    counted.update({run[at : at + size] for size in (2, 3, 4) for at in range(len(run) - size + 1)})
    return {
        noun: count
        for noun, count in counted.items()
        if noun in _COMMON_ATTRIBUTES or (count >= _ASKED_MIN and whole.count(f"的{noun}") >= 2)
    }


def topics(facts: Sequence[Fact], whole: str) -> list[str]:
    """What the conversation is about, longest first.

    Titles, names that questions or directions introduce, places by their endings, people by their surnames.
    """
    named: Counter[str] = Counter()
    for fact in facts:
        for pattern, score in _SOURCES:
            for name in pattern.findall(fact.text):
                trimmed = _TRIM.sub("", "".join(name).strip())
                named[trimmed] += score + (score == 1 and len(trimmed) > 4)
    kept = [name for name, score in named.items() if score >= 2 and len(name) >= 2 and not _generic(name, score, whole)]
    return sorted(kept, key=len, reverse=True)[:800]


_SOURCES = ((_TITLE, 6), (_INTRODUCED, 3), (_BESIDE, 2), (_PLACE, 1), (_FOREIGN, 3), (_PERSON, 1))
"""Where names are found, and how much one find says. Below 2 in all a name is not taken for a topic."""

_TRIM = regex(
    r"^(?:我|你|也|就|又|还|只|着|下|的|演|知道|了解|听说|认识|喜欢|位于|坐落|包含|比如|例如|而且|并且|但是|因为|所以|由|于|是|像|含|集|以|近|把|离|从|和|与|及|去|逛|玩|看"
    r"|叫|做|到|在|属|为|改称|称为|建造|景点|第一|导演|演员|歌手|主演|通用|漫步|游览|参观|推荐|一(?=[个座家])|[个座家所处位])+(?=.{2})"
    r"|(?:玩玩|看看|走走|逛逛|溜达|转转|游玩|参观|游览|旅游|玩|景点|附近|周边|电话|地址|门票)+(?:一下)?$"
)


def shorten(piece: str) -> str:
    """A clause without opening fillers and closing particles."""
    piece = piece.strip(" 　。，！？,.!?…~")
    cut = _OPENING.match(piece)
    if cut is not None and len(piece) - cut.end() >= 2:
        piece = piece[cut.end() :].lstrip(" ，,")
    return _TAIL.sub("", piece).strip() if len(piece) > 4 else piece


def _pieces(text: str, *, whole_replies: bool = False) -> list[str]:
    """Its clauses. A short reply with particulars stays whole: opening hours and prices come with commas."""
    if whole_replies and len(text) <= _REPLY_CHARS_MAX and _FACTUAL.search(text) and not _QUESTION.search(text):
        return [text]
    return [piece for piece in _CLAUSE.split(text) if piece and piece.strip()]


def _mentioned(text: str, known: Sequence[str]) -> str:
    """The topic a message names: the known name that stands first in it, the longest of those; empty for none."""
    best, at = "", len(text)
    for name in known:
        found = text.find(name)
        if 0 <= found < at:
            best, at = name, found
    return best


def _attribute(question: str, asked_for: Mapping[str, int]) -> str:
    """What a question asks for: the longest of the strings that questions keep asking for, the commoner of equals."""
    found = ""
    for piece in _pieces(question):
        if _QUESTION.search(piece):
            for run in _runs(piece):
                for size in (4, 3, 2):
                    for at in range(len(run) - size + 1):
                        part = run[at : at + size]
                        if asked_for.get(part, 0) * (size - 1) > asked_for.get(found, 0) * (len(found) - 1):
                            found = part
    return found


def _runs(question: str) -> list[str]:
    """The runs of Chinese characters in a question once its function words are taken out."""
    return _LONG_RUN.findall(_NOISE.sub(" ", question))


def nouns(text: str, edges: str) -> list[str]:
    """The runs of characters in a text that may name something, without function words and `edges` around them."""
    runs = (part.strip(edges) for run in _runs(text) for part in re.split(f"[{_FUNCTION}]", run))
    kept = (run for run in runs if 2 <= len(run) <= 8 and run not in _COMMON_ATTRIBUTES)
    return [run for run in kept if _OPENING.fullmatch(run) is None and _PRAISE.search(run) is None]


def _worth(pair: str, spread: int, total: int) -> float:
    rare = min(5.0, log((total + 1) / (spread or 1)))
    # A number or a foreign word is one pair here but as long, and as telling, as several.
    return rare + 0.9 * len(pair) if pair[0].isascii() and len(pair) > 1 else rare


def _says_something(short: str) -> bool:
    """Whether a clause is more than a greeting, a filler or short praise."""
    if len(short) < 2 or _OPENING.fullmatch(short) is not None:
        return False
    if _FACTUAL.search(short):
        return True
    return len(_NOISE.sub("", short)) >= 2 and not (len(short) <= 8 and (_PRAISE.search(short) or "你" in short))


def _factor(short: str, *, answers: bool) -> float:
    factor = 2.4 if answers else 1.0
    if _FACTUAL.search(short):
        factor *= 1.5
    if _PRAISE.search(short):
        factor *= 0.35
    if "你" in short:
        factor *= 0.5
    return factor


def _generic(name: str, score: int, whole: str) -> bool:
    """Whether a name is no topic: a connective, function words, or an attribute, which often stands behind 的."""
    if (
        len(name) > _TOPIC_CHARS_MAX
        or name[0] == name[1]
        or len(_NOISE.sub("", name)) < 2
        or _OPENING.fullmatch(name) is not None
    ):
        return True
    if score < 6 and set(name) & set("市区县号省"):
        return True
    if any(name.endswith(noun) and len(name) - len(noun) <= 2 for noun in _COMMON_ATTRIBUTES):
        return True
    if len(name) == 2 and score < 6 and name[1] not in "宫坛庙寺塔湖山陵祠阁巷殿" and name[0] not in _SURNAMES:
        return True
    seen = whole.count(name)
    return whole.count(f"的{name}") >= max(2, seen // 8)


_COMMON_ATTRIBUTES = frozenset(
    """
    地址 位置 地方 电话 号码 邮箱 网址 门票 票价 价格 费用 时间 时长 日期 生日 年龄 年纪 身高 体重 星座 血型 国籍 民族 籍贯
    祖籍 职业 学校 院校 专业 公司 导演 编剧 主演 演员 主角 制片人 作者 歌手 作词 作曲 制作人 专辑 歌曲 作品 代表作 奖项 成就
    评分 类型 风格 语言 版本 名字 外文名 别名 全名 景点 周边 特色 面积 人口 气候 首都 电影 音乐 出生 出生地 毕业 发行 上映
    成立 开放 营业 游玩 参观 建议 预算 数量 金额 地点 原因 目的 爱好 家庭 工作 景区 城市
    """.split()
)
"""Nouns that ask for a particular in everyday Chinese; others are learnt from the conversation's own questions."""


def _without(question: str, names: Sequence[str]) -> str:
    """The question without the names in it, so that what is left is what it asks for."""
    for name in names:
        if name in question:
            question = question.replace(name, " ")
    return question
