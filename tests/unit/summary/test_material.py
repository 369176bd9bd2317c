"""What a user says, apart from the documents that a program hands over in the user's role."""

from __future__ import annotations

import pytest

import plimsoll
from plimsoll.summary.ledger.material import own_words
from spent import cpu_s

_PAGE = "The harbour master must never leave the quay. Ships always wait for the tide. " * 20
_ASKED = "Which quay is free?"


@pytest.mark.parametrize(
    "text",
    [
        f"Context:\n{_PAGE}\n\nQuestion: {_ASKED}",
        f"### Retrieved documents ###\n[1] {_PAGE}\n\n[2] {_PAGE}\n\n## Question\n{_ASKED}",
        f"<documents>\n<document id='1'>{_PAGE}</document>\n</documents>\n\n{_ASKED}",
        f"<context>{_PAGE}</context>\n<context>{_PAGE}</context>\n{_ASKED}",
        f"{_ASKED}\n\nSearch results:\n{_PAGE}",
        f"Sources:\n{_PAGE}\n\n{_ASKED}",
        f"<open_files>\n{_PAGE}\n</open_files>\n<user_query>\n{_ASKED}\n</user_query>",
        f"<task>\n{_ASKED}\n</task>\n\n<environment_details>\n{_PAGE}\n</environment_details>",
        f"参考资料：\n{_PAGE}\n问题：{_ASKED}",
        f"OBSERVATION:\n{_PAGE}\nURL: https://quay.example\nOBJECTIVE: {_ASKED}",
    ],
)
def test_material_is_told_from_the_question(text: str) -> None:
    """Labels and tags around documents, in front of the question or behind it."""
    assert own_words(text) == _ASKED


@pytest.mark.parametrize(
    "text",
    [
        _ASKED,
        f"Context:\nWe move to quay 4. Never stop the ferry.\n\nTask: write the plan. {'It has steps. ' * 40}",
        f"Context:\n{_PAGE}",
        f"<task>\n{_ASKED}\n</task>\n{_PAGE} <unclosed>",
        f"The sources are below.\n<sources>\n{_PAGE}\n\n{_ASKED}",
        f"Implement this plan:\n\n# Plan\n\n## Context\n{_PAGE}\n\n## Steps\n{_PAGE}\n\nRun all tests.",
        f"I like the context: {_PAGE}",
        _PAGE,
    ],
)
def test_what_a_user_writes_is_whole(text: str) -> None:
    """Short texts, a context of few lines, a message that is nothing but material, a tag that is not closed, labels in sentences."""
    assert own_words(text) == text


def test_the_questions_of_a_chat_over_documents_stay() -> None:
    """Each message brings its documents; what is asked, answered and wanted is in the summary, the documents are not."""
    messages = []
    for turn in range(12):
        page = f"Quay {turn} must never be used at night. The harbour master decides. " * 40
        messages += [
            {
                "role": "user",
                "content": f"Context:\n[1] {page}\n\n[2] {page}\n\nQuestion: Who repairs crane K-{turn}7?",
            },
            {"role": "assistant", "content": f"Crane K-{turn}7 is repaired by Ana {turn} Lund."},
        ]
    fitted = plimsoll.fit(messages, max_tokens=2_500)
    (summary,) = [m["content"] for m in fitted.messages if "[Summary of" in m["content"]]

    assert [turn for turn in range(2, 10) if f"K-{turn}7" not in summary] == []
    assert "must never be used" not in summary


@pytest.mark.parametrize(
    "text",
    [
        "Context:\n" * 100_000,
        "I move quays.\nContext:\n" * 30_000,
        "<context>" * 100_000,
        "<task></task><a>" * 50_000,
        "Context:\nQuestion:\n" * 50_000,
        "\n\n" * 400_000,
    ],
)
def test_hostile_messages_take_linear_time(text: str) -> None:
    """Many labels, many tags that are not closed."""
    assert cpu_s(own_words, text) < 3
