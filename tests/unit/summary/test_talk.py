"""A summary of talk: what it was about, what the user asked and insisted on, what the assistant concluded, each apart."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
from plimsoll.formats.registry import decode_all
from plimsoll.message import text_message
from plimsoll.summary import dense
from plimsoll.summary.item import Item
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.reread import reread
from plimsoll.summary.rules import RuleSummary, render
from plimsoll.summary.talk import _by_name

CODE = "```rust\nfn main() { moor(17); }\n```"
ENGLISH = [
    message
    for number in range(20)
    for message in (
        f"Please change module {number} so that it listens on port {8000 + number}. Never touch the database.",
        f"Sure. I decided to move module {number} to port {8000 + number} because the old one is taken.\n\n{CODE}\nAnything else?",
    )
]
CHINESE = [
    message
    for number in range(20)
    for message in (
        f"请帮我修改第{number}个模块的配置，把端口改成{8000 + number}，不要动数据库。",
        f"好的。我决定把第{number}个模块的端口改为{8000 + number}。\n{CODE}",
    )
]
PEERS = [
    message
    for number in range(12)
    for message in (
        f"I moved to Porto {number} on {number + 1} May and bought a boat called Sula{number}.",
        f"My cousin Lena{number} sails there too, she won the regatta of 19{number + 50}.",
    )
]
PEERS_ZH = [
    message
    for number in range(12)
    for message in (
        f"码头{number}号仓库建于19{number + 50}年，里面存着{number + 3}吨茶叶。",
        f"码头{number}号仓库的电话是010-6540{number:02}12，旁边是灯塔公园{number}号门。",
    )
]
TALKS = {"en": ENGLISH, "zh": CHINESE, "peers": PEERS, "peers_zh": PEERS_ZH}
TITLES = {
    "en": (
        "Topics: ",
        "User requests",
        "User constraints",
        "Said by the user:",
        "Conclusions (assistant):",
        "Messages (",
    ),
    "zh": ("讨论主题：", "用户请求", "用户约束", "用户所述：", "关键结论（助手）：", "消息（"),
}


def wires(texts: list[str]) -> list[dict[str, Any]]:
    """The texts as messages, user and assistant in turn."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]


def shown(texts: list[str], tokens_max: int, counter: Any) -> RuleSummary:
    """Their summary."""
    ledger = extend(Ledger.empty(), decode_all(wires(texts), "openai-chat")[1], 0)
    return render(ledger, tokens_max=tokens_max, counter=counter)


def sections(text: str) -> dict[str, list[str]]:
    """The lines of a summary by their title."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.split("\n"):
        title = next((known for known in (*TITLES["en"], *TITLES["zh"]) if line.startswith(known)), title)
        found.setdefault(title, []).append(line.removeprefix(title))
    return found


@pytest.mark.spec("S2-12", "W2-06")
@pytest.mark.parametrize(("name", "about"), [("en", ["module", "port"]), ("zh", ["模块", "数据库"])])
@pytest.mark.parametrize("tokens_max", [400, 900, 3_000])
def test_topics_are_named_on_one_line(name: str, about: list[str], tokens_max: int, counter: Any) -> None:
    """The words users come back to, joined by semicolons under their label, and no sentence of theirs (S2-12, W2-06)."""
    (line,) = sections(shown(TALKS[name], tokens_max, counter).text)[TITLES[name][0]]
    topics = line.split("; ")

    assert [word for word in about if not any(word in topic for topic in topics)] == []
    assert all(len(topic) <= 40 for topic in topics)
    assert not [text for text in TALKS[name] if text in line]


def test_topics_are_of_users_not_of_answers(counter: Any) -> None:
    """What only the assistant speaks of is no topic."""
    text = shown(
        ["How deep is the quay at low tide?", "14 metres. By the way, the zeppelin museum is open."], 800, counter
    ).text

    assert "quay" in sections(text)["Topics: "][0]
    assert "zeppelin" not in sections(text)["Topics: "][0]


@pytest.mark.spec("S2-13", "S2-15", "S2-27")
@pytest.mark.parametrize("tokens_max", [150, 300, 900, 3_000])
@pytest.mark.parametrize("name", ["en", "zh"])
def test_requests_constraints_and_conclusions_stand_apart(name: str, tokens_max: int, counter: Any) -> None:
    """Each has a title that says whose it is, and nothing of one stands under another (S2-13)."""
    found = sections(shown(TALKS[name], tokens_max, counter).text)
    _, asked, insisted, told, concluded, counted = TITLES[name]
    wanted = {"en": "Please change module", "zh": "请帮我修改"}[name]
    forbidden = {"en": "Never touch the database", "zh": "不要动数据库"}[name]
    decided = {"en": "decided to move module", "zh": "我决定把"}[name]

    assert all(wanted in line for line in found[asked][1:])
    assert wanted in "".join(found[asked])
    assert found[insisted][1:] == [f"- {forbidden}." if name == "en" else f"- {forbidden}"]
    assert len(found[concluded]) > 1
    assert all(line.startswith("- ") and decided in line for line in found[concluded][1:])
    assert decided not in "".join(found[asked] + found[insisted] + found.get(told, []))
    assert wanted not in "".join(found[concluded] + found[insisted])
    assert "20" in found[counted][0]


@pytest.mark.parametrize("tokens_max", [60, 150, 300, 900, 3_000])
@pytest.mark.parametrize("name", ["en", "zh"])
def test_code_is_mentioned_not_quoted(name: str, tokens_max: int, counter: Any) -> None:
    """Of a fenced block only its language is told."""
    text = shown(TALKS[name], tokens_max, counter).text

    assert not [part for part in ("```", "fn main", "moor") if part in text]
    assert ("rust." in text) == (tokens_max >= 150)


@pytest.mark.parametrize("name", ["en", "zh"])
def test_nothing_is_said_twice(name: str, counter: Any) -> None:
    """A request that is shown is not told again, and what all of them forbid is said once."""
    text = shown(TALKS[name], 3_000, counter).text

    assert [number for number in range(20) if text.count(str(8000 + number)) != 2] == []
    assert text.count({"en": "database.", "zh": "不要动数据库"}[name]) == 1


def test_peers_are_told_apart_line_by_line(counter: Any) -> None:
    """Where both tell and neither serves, the order of the talk stays, and every line says who spoke."""
    lines = shown(PEERS, 3_000, counter).text.split("\n")
    told = lines[lines.index("Said by user and assistant:") + 1 : -1]

    assert [line.partition(": ")[0] for line in told[:4]] == ["assistant", "user", "assistant", "user"]
    assert all("boat" in line for line in told[1::2])


def test_chinese_peers_are_told_apart_within_a_line(counter: Any) -> None:
    """Facts stand by what they are about, and what the user said of it behind a sign that the title explains."""
    text = shown(PEERS_ZH, 3_000, counter).text
    lines = [line for line in text.split("\n") if line.startswith("- ") and "吨茶叶" in line]

    assert "对话中的事实（“>”后是用户说的）：" in text
    assert lines
    assert all(">" in line and line.index(">") < line.index("吨茶叶") for line in lines[1:])
    assert all("电话" not in line or line.index("电话") < line.index(">") for line in lines[1:])


PLACES_ZH = [
    "你好，知道白石灯塔吗？",
    "知道呀，是海边最老的一座灯塔。",
    "那它的电话是多少呢？",
    "电话我知道，是0571-2846193，你有地址吗？",
    "有，在滨海市长堤路17号。附近还有什么好玩的地方吗？",
    "有呀，有青松渔港。",
    "那里门票要多少钱？",
    "25元，开放时间你知道吗？",
    "8:30-17:45，听说周一不开。",
    "谢谢，对了，你看过《潮声》吗？",
    "看过，导演是林听海。",
    "他是哪年出生的？",
    "1968年4月2日。",
    "这部电影的片长呢？",
    "117分钟。",
]


def test_chinese_answers_stand_under_what_they_are_about(counter: Any) -> None:
    """A value has the noun that its question asked for, under what the talk had come to, whatever pronoun stood for it."""
    text = shown(PLACES_ZH, 600, counter).text
    lines = {line.removeprefix("- ").partition("：")[0]: line for line in text.split("\n") if line.startswith("- ")}

    assert "电话0571-2846193。" in lines["白石灯塔"]
    assert "地址滨海市长堤路17号。" in lines["白石灯塔"]
    assert "门票25元。" in lines["青松渔港"]
    assert "时间8:30-17:45" in lines["青松渔港"]
    assert "117分钟" in lines["潮声"]
    assert "1968年4月2日" in lines["林听海"]
    assert "8:30" not in lines["白石灯塔"]


DAYS_ZH = [
    "[2024年3月2日]\n昨天我和表妹阿岚去了青石镇，住在一家旧磨坊改的民宿。",
    "听起来真不错，出去走走对身心都有好处。",
    "我在那里弄丢了蓝色的围巾，花了320元重新买了一条。",
    "别难过，新的围巾一定也很好看。",
    "[2024年4月18日]\n下个月我要考驾照的科目三，教练姓覃。",
    "加油，你一定可以的，记得放松心情。",
    "我养的乌龟豆包从冬眠里醒来了。",
    "真可爱，每个人看到都会开心的。",
]


def test_chinese_people_with_names_are_told_apart_line_by_line(counter: Any) -> None:
    """Whose family has eleven tables is asked later: each statement stands behind who said it."""
    said = [
        "子衿：我们家10桌，留2桌备用。",
        "阿岳：酒水我让我表哥弄，358元一瓶。",
        "子衿：伴娘我叫了2个。",
        "阿岳：我家11桌。",
    ]
    lines = shown(said * 2, 300, counter).text.split("\n")
    again = render(reread("\n".join(lines)), tokens_max=300, counter=counter).text

    assert "阿岳: 酒水我让我表哥弄，358元一瓶" in lines
    assert "阿岳: 我家11桌" in again.split("\n")


def test_chinese_talk_of_days_keeps_its_order_and_its_days(counter: Any) -> None:
    """Where headings date what is told, it stands under its day, with who said it and the days it means."""
    lines = shown(DAYS_ZH, 500, counter).text.split("\n")
    at = lines.index("对话中的事实：")
    again = render(reread("\n".join(lines)), tokens_max=500, counter=counter).text

    assert "阿岚" in "".join(lines[:at])
    assert lines[at + 1] == "[2024-3-2]"
    assert "user: 我在那里弄丢了蓝色的围巾，花了320元重新买了一条" in lines
    under = lines[lines.index("[4-18]") + 1 : -1]
    assert [line.partition(": ")[0] for line in under] == ["user", "assistant"]
    assert under[0] == "user: 5月我要考驾照的科目三，教练姓覃; 我养的乌龟豆包从冬眠里醒来"
    assert again.split("\n")[at + 1 : -1] == lines[at + 1 : -1]


@pytest.mark.parametrize(
    "heading",
    [
        "[2024/05/12 (Sun) 02:21]",
        "(12 May 2024)",
        "Session date: 2024/05/12 (Sun) 02:21",
        "## 12 May 2024",
        "May 12th, 2024 -",
    ],
)
def test_a_day_in_the_first_line_of_a_message_dates_what_follows(heading: str, counter: Any) -> None:
    """With and without brackets; a sentence with a day in it is none."""
    texts = [
        "Which trees grow by the sea?",
        "Pines do.",
        f"{heading}\nI bought a house in Aveiro yesterday. My brother Rui sold his on 3 June 2023.\nIt has four rooms.",
        "Good.",
    ]
    text = shown(texts, 600, counter).text

    assert "[12 May 2024]\n" in text
    assert "bought house in Aveiro 11 May" in text
    assert "2023]" not in text
    assert "02:21" not in text


def test_what_was_chosen_before_is_worth_more_than_it_says() -> None:
    """A statement that was read back has lost its `I` and the question that it answered: it is worth more than if said now."""
    body = "Said in the conversation:\n(A = Alice, B = Bruno)\n[12 March 2024]\nA: sold boat to Rui Sat 9 Mar"
    (recalled,) = reread(body).of("chat")
    (before,) = dense.clauses([recalled])
    (now,) = dense.clauses([recalled._replace(text="I sold my boat to Rui Sat 9 Mar.", state="")])

    assert before.text == now.text
    assert now.factor < before.factor < 2 * now.factor


def test_what_a_user_wants_to_do_herself_is_no_constraint(counter: Any) -> None:
    """It is told; what she wants of the answer, or insists on, is a constraint."""
    texts = [
        "Which boats are easy to sail?",
        "Dinghies are.",
        "I'd like to learn Portuguese before the trip. Now I need to pack. I want to keep the plan under 300 words. Never mention hotels.",
        "Fine.",
    ]
    found = sections(shown(texts, 600, counter).text)

    assert sorted(found["User constraints"][1:]) == [
        "- I want to keep the plan under 300 words.",
        "- Never mention hotels.",
    ]
    assert "learn Portuguese" in shown(texts, 600, counter).text


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("She said I have it from my aunt", "She said have it from aunt"),
        ("It has them, too", "has them"),
        ("I have two cats", "two cats"),
        ("I have been to Aveiro", "to Aveiro"),
    ],
)
def test_having_something_is_no_auxiliary(said: str, short: str) -> None:
    """A pronoun alone does not say that somebody has it; a name or a number does."""
    assert dense.shorten(said) == short


def test_a_short_answer_stands_behind_its_question(counter: Any) -> None:
    """`Seven years now` says nothing alone; an answer that names what was asked for needs no question."""
    texts = [
        "[Session 1, 5 May 2024]\nAna: Hey Ben! How long have you been sailing?",
        "Ben: Seven years now.",
        "Ana: Wow, that's great! What is your boat called?",
        "Ben: My boat is called Petrel, she was built in Aveiro in 1987.",
    ]
    text = shown(texts, 400, counter).text

    assert "(How long sailing?) Seven years" in text
    assert "boat called Petrel" in text
    assert "boat called?" not in text


def test_an_answer_that_leaves_its_verb_to_the_question_stands_behind_it(counter: Any) -> None:
    """Also of five words; and a question that asks only for a time is told with what it asks about."""
    texts = [
        "Ana: Who writes the safety briefing?",
        "Ben: I do, on Friday in the shed.",
        "Ana: You call Madame Kessler. By when?",
        "Ben: Before Thursday.",
    ]
    text = shown(texts, 400, counter).text

    assert "(Who writes safety briefing?) do, on Friday in shed" in text
    assert "(call Madame Kessler?) Before Thursday" in text


def test_what_a_request_without_room_says_is_left_to_the_statements(counter: Any) -> None:
    """A request that is not shown hides no statement of the user's, whatever room there is."""
    texts = [line for at in range(60) for line in (f"She likes the old harbour number {at}.", "Good.")]
    texts[10:10] = [
        "Update: I got 8.5 on Friday. The museum of Porto and its market hall are for the day after.",
        "Noted.",
    ]
    ledger = extend(Ledger.empty(), decode_all(wires(texts), "openai-chat")[1], 2)
    told = {size: render(ledger, tokens_max=size, counter=counter).text for size in range(120, 500, 10)}

    assert [size for size, text in told.items() if "got 8.5 on Friday" not in text] == []


@pytest.mark.parametrize("said", ["(x-5)² - 4, the vertex is 7 and 9", "(3, -4)", "[0] is where it begins"])
def test_brackets_of_a_formula_are_no_heading(said: str) -> None:
    """A heading has a word, a time or a date."""
    told = extend(Ledger.empty(), [text_message("user", said)], 0)

    assert not told.of("heading")
    assert told.of("chat")[0].text == said


@pytest.mark.parametrize("label", ["Conclusion", "Budget", "结论"])
def test_a_label_in_front_is_no_name(label: str, counter: Any) -> None:
    """A word with a colon is a speaker's name only where both sides have names."""
    texts = [
        f"Please check quay {n // 2}." if n % 2 == 0 else f"{label}: {n * 100} EUR for quay {n // 2}."
        for n in range(12)
    ]
    text = shown(texts, 2_000, counter).text

    assert f"{label}: 100 EUR" in text
    assert "Said in the conversation" not in text


@pytest.mark.slow
@pytest.mark.parametrize("tokens_max", [100, 150, 300, 900, 3_000])
@pytest.mark.parametrize("name", TALKS)
def test_a_summary_of_talk_is_read_back_into_the_same_facts(name: str, tokens_max: int, counter: Any) -> None:
    """Rendered again in the same room it says the same, whoever said it, and no words are left over."""
    first = shown(TALKS[name], tokens_max, counter).text
    ledger = reread(first)
    again = render(ledger, tokens_max=tokens_max, counter=counter).text
    lasting = render(reread(again), tokens_max=tokens_max, counter=counter).text

    def facts(text: str) -> set[str]:
        bare = [line.removeprefix("- ") for line in text.split("\n") if not line.startswith(("Topics", "讨论主题"))]
        return {part.strip(" 。") for line in bare for part in line.replace("。", "; ").split("; ")}

    assert ledger.words == ""
    assert facts(first) - facts(again) == set()
    assert lasting == again


@pytest.mark.slow
@pytest.mark.spec("W2-05", "S2-28")
@pytest.mark.parametrize("format", ["openai-chat", "anthropic", "openai-responses", "ui-parts"])
@pytest.mark.parametrize("name", ["en", "zh"])
def test_a_chain_of_fits_keeps_what_was_concluded(name: str, format: Any) -> None:
    """Talk of twenty turns, fitted after each: the first request and the constraint are there, conclusions are the assistant's."""
    view: list[dict[str, Any]] = []
    compactions = 0
    for at in range(0, 40, 2):
        new = plimsoll.convert(wires(TALKS[name])[at : at + 2], to=format, format="openai-chat").messages
        fitted = plimsoll.fit([*view, *new], max_tokens=900, policy="fill", format=format)
        view, compactions = fitted.messages, compactions + (fitted.report.stage == "rules")
    text = fitted.report.summary or ""
    found = sections(text)

    assert compactions > 3
    assert {"en": "module 0 so that it listens on port 8000", "zh": "第0个模块的配置，把端口改成8000"}[name] in str(
        view
    )
    assert {"en": "Never touch the database", "zh": "不要动数据库"}[name] in "".join(found[TITLES[name][2]])
    assert len(found[TITLES[name][4]]) > 2
    assert "```" not in text


@pytest.mark.spec("S2-11", "S2-17")
def test_the_chinese_frame_holds_the_labels_of_a_dialogue() -> None:
    """The frame of other systems with topics, requests, conclusions and counts in it, within what the policy allows."""
    policy = plimsoll.Policy.named("fill", summary_frame="chinese", summary_tokens_max=400)
    fitted = plimsoll.fit(wires(CHINESE), max_tokens=900, policy=policy)
    (message,) = (m["content"] for m in fitted.messages if m["content"].startswith("[以下是之前对话的摘要]"))

    assert [title for title in TITLES["zh"] if title.strip("（") not in message and title != "用户所述："] == []
    assert plimsoll.count_tokens(message) <= 400


def test_what_an_agent_concluded_before_it_only_talked_stays(counter: Any) -> None:
    """A run with tools that turns into talk keeps the findings of the run among the assistant's conclusions."""
    found = "Conclusions (assistant):\n- The root cause is that rope 17 was never moored."
    run = reread(f"{found}\nMessages (1 user, 2 assistant, 3 tool).")
    talk = [text_message(("user", "assistant")[n % 2], f"Berth {n} is {n * 3} m deep.") for n in range(60)]
    text = render(extend(run, talk, 0), tokens_max=1_500, counter=counter).text

    assert "assistant: root cause that rope 17 never moored" in text


@pytest.mark.parametrize("tokens_max", [240, 300, 360])
def test_the_last_line_is_whole(tokens_max: int, counter: Any) -> None:
    """What is dropped because the text was too long is not taken again: the text is never cut instead."""
    assert shown(TALKS["peers"], tokens_max, counter).text.endswith(".")


GOODS = "lantern rope anchor bell compass sail winch buoy oar mast kettle stove chart flare paddle tiller".split()


@pytest.mark.parametrize("tokens_max", [250, 400, 600])
def test_a_value_of_what_a_pronoun_stands_for_has_its_name(tokens_max: int, counter: Any) -> None:
    """`It cost £42` tells nothing where no line before it names what did: the sentence before stands in front of it."""
    texts: list[str] = []
    for at, good in enumerate(GOODS):
        order = f"order {7_000 + at * 13}"
        texts.append(f"We looked at the {good} by the quay once more. It cost £{42 + 7 * at} at Tern & Sons, {order}.")
        texts.append(f"The {good} is by the quay, and the quay is open on Monday.")
    text = shown(texts, tokens_max, counter).text
    told = [at for at in range(1, len(GOODS)) if f"£{42 + 7 * at} " in text]

    assert len(told) >= 3
    assert [at for at in told if f"{GOODS[at]} by quay once more; cost £{42 + 7 * at} " not in text] == []


def test_a_legend_names_the_speakers_that_are_shown_and_only_where_it_is_shorter() -> None:
    """In a small summary of many speakers it would cost more than it saves."""
    names = {"A": "Alice Ferrante", "B": "Bruno", "C": "Carla"}
    items = [Item("chat", "sold boat", 0.0, (at,), "", label) for at, label in enumerate("ABABAB")]

    assert _by_name(names, items[:2]) == "Alice Ferrante: sold boat\nBruno: sold boat"
    assert _by_name(names, items).startswith("(A = Alice Ferrante, B = Bruno)\nA: sold boat\nB: sold boat\n")
