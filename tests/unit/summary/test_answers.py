"""A model's answer: what in it is the summary, and what is none."""

import pytest

from plimsoll.summary.verify import Rejection, accept


@pytest.mark.parametrize(
    "answer",
    [
        "<think>They want `</think>` cut.</think> {}", "So I write it</think>\n\n{}", "Now, the facts.</think>\n{}",
        "Below is my record of the conversation so far:\n{}", "Certainly, here's a concise, updated summary.\n{}", "以下为对话摘要：\n{}",
        "{}\n\n*Feel free to ask for more details.*", "{}\n\n如果需要补充，请随时告知我。",
        "<think>The user wants\na summary.</think>\n\n{}", "Okay, so the user wants one.\n</think>\n{}", "<analysis>\nx\n</analysis>\n{}",
        "Here is the updated summary:\n\n{}", "Sure! I've updated the summary.\n{}", "好的，以下是更新后的摘要：\n{}", "```markdown\n{}\n```",
        "Here's the summary of the conversation:\n```\n{}\n```\nLet me know if you need anything else!", "{}\n\n如需更多细节，请告诉我。",
    ],
)  # fmt: skip
def test_what_a_model_says_around_its_summary_is_no_part_of_it(answer, counter):
    """Reasoning, an introduction, a fence around all of it, and an offer behind it; nothing of the summary itself."""
    summary = "Goal: port it.\n```\nx = 1\n```\nHere is the rule: never rename it."
    said = summary if answer.find("```") < 0 else "Goal: port it.\nHere is the rule: never rename it."
    assert accept(answer.format(said), tokens_max=80, input_tokens=150, counter=counter) == said


@pytest.mark.parametrize(
    "summary",
    [
        "User wants tags stripped: drop everything up to `</think>` in answers. Next: tests.",
        "Tags are cut in three places:\n- the first is `</think>`\n- the next is <think>x</think>\n- tests pass",
        "- the user: drop everything up to </think>\n- Next: tests.",
        "I've fixed the update handler in worker.py.\n- tests pass",
        "I have added retry jitter for webhooks; summary: 4821 rows moved.\n- tests pass",
        "The following is fixed in the update: PR 4821.\n- tests pass",
        "Here is the summary table moved to: PR 4821.\n- tests pass", "Certainly due: the summary of 4821.\n- tests pass",
        "The crane record.\n- tests pass", "The following is a record, in 4821.\n- tests pass",
        "This is the record label Northlight.\n- tests pass", "以下记录已删除：4821。\n- 测试通过", "以下是记录：4821。\n- 测试通过",
        "Goal: port it.\n- 如需回滚，运行 deploy.sh --rollback 4821", "Constraints:\n\n- Let me know if you rename it.",
        "Requests:\nLet me know if the crane is late.", "Goal: port it.\n\n如需回滚，运行 deploy.sh",
        "Open:\n\nLet me know if you see code 4821.",
    ],
)  # fmt: skip
def test_lines_that_only_resemble_words_to_the_reader_stay(summary, counter):
    """A tag that is quoted, an outcome that names a record, a last point with a condition: all are the summary's own."""
    assert accept(summary, tokens_max=80, input_tokens=150, counter=counter) == summary


def test_characters_that_json_escapes_come_back_as_they_are(counter):
    """A dash costs five characters less so; what is not printed stays escaped, and so does prose about such a thing."""
    said = '{"facts": ["May \\u2013 June", "\\u7801\\u5934", "\\u200b"]}'
    assert (
        accept(said, tokens_max=80, input_tokens=150, counter=counter) == '{"facts": ["May – June", "码头", "\\u200b"]}'
    )
    told = "The file has \\u2013 in it."
    assert accept(told, tokens_max=80, input_tokens=150, counter=counter) == told


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t—", "empty"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("I\u2019m sorry, but no.", "refusal"),
        ("抱歉，我无法总结这段对话。", "refusal"),
        ("很抱歉，我无法协助完成这个请求。", "refusal"),
        ("**I apologize**, but this is not possible.", "refusal"),
        ("Lo siento, pero no puedo ayudar con eso.", "refusal"),
        ("I'm sorry. I won't be able to process your request.", "refusal"),
        ("Unfortunately, I do not have access to the conversation.", "refusal"),
        ("I cannot fulfill that.", "refusal"),
        ("I'm sorry, I can't.", "refusal"),
        ("I cannot write a summary of this.", "refusal"),
        ("I'm unable to provide a summary.", "refusal"),
        ("Sorry, I can't do that.", "refusal"),
        ("As an AI language model, I hold no opinions.", "refusal"),
        ("There is no conversation here.", "refusal"),
        ("Please provide the messages to summarize.", "refusal"),
        ("对不起。我不能处理这些内容。", "refusal"),
        ("请提供对话内容。", "refusal"),
        ("申し訳ありませんが、お手伝いできません。", "refusal"),
        ("죄송합니다. 도와드릴 수 없습니다.", "refusal"),
        ("Je suis désolé, mais non.", "refusal"),
        ("Es tut mir leid, das geht nicht.", "refusal"),
        ("<think>First I go through the messages, one by", "empty"),
        ("<analysis>The port was moved.</analysis>", "empty"),
        ('{"error": {"message": "overloaded"}}', "error_text"),
        ("Summary so far:\n<data>\nThe port was moved.", "error_text"),
        ("<html><body>502 Bad Gateway</body></html>", "error_text"),
        ("word " * 200, "no_gain"),
        ("word " * 70, "too_long"),
    ],
)
def test_unusable_answers_are_refused_with_their_reason(text, reason, counter):
    """Empty, refusing, failing and bloated answers are not summaries."""
    verdict = accept(text, tokens_max=80, input_tokens=150, counter=counter)
    assert isinstance(verdict, Rejection)
    assert verdict.reason == reason


@pytest.mark.parametrize(
    "summary",
    [
        "I cannot reproduce the bug on Python 3.12; it occurs on 3.11 only.", "Unfortunately, I broke the build; fixed in 4821.",
        "Sorry, wrong branch: user asked to redo on dev.", "我没有找到配置文件；用户要求改用 env。",
        "I cannot open the help page on 3.12.", "Unfortunately, I deleted the messages table.", "我没有收到消息队列的报警。",
        "我没有处理 4821 号订单。",
        "Unfortunately, I killed the process. User cannot help.", "I don't have the crane list; the help text says why.",
        "I am sorry for the late crate, said Ana. Ben will provide another.", "Please provide the gate code: asked twice of Ana.",
        "请提供闸门代码：已问过两次。", "我不能登录港口系统；Ana 会处理。",
    ],
)  # fmt: skip
def test_a_summary_that_opens_as_a_refusal_is_one_only_if_it_refuses_the_task(summary, counter):
    """What somebody could not do, or is sorry for, is a fact."""
    assert accept(summary, tokens_max=80, input_tokens=150, counter=counter) == summary


def test_a_usable_answer_comes_back_clean(counter):
    """Control characters and outer space go, the words stay."""
    assert accept("  Goal:\x00port it. \n", tokens_max=80, input_tokens=150, counter=counter) == "Goal: port it."
