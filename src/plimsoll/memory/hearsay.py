"""The wording of text that its sender does not assert: questions, conditions, quotations, and what others wrote."""

from __future__ import annotations

import re

from plimsoll.regex import regex

NOT_SAID = regex(
    r"^(?:if|suppose|supposing|imagine|assume|assuming|pretend|what if|say i|let'?s say|unless|in case|as if|had i)\b"
    r"|\b(?:he|she|they|someone|somebody|who|people|users?|customers?|the (?:log|tool|output|file|page|"
    r"email|text|author|user|customer|website|readme|doc\w*|assistant|model|error|message))"
    r" (?:says?|said|writes?|wrote|claims?|claimed|tells?|told|reads?|states?|asked|asks|prints?|printed|replied)\b"
    r"|\b(?:for example|e\.g\.|hypothetically|for instance)\b|\b(?:do|does|did|should|could|would|can|shall|"
    r"may|am|is|are) (?:i|we) \w+.*\?"
    r"|\bi (?:wonder|guess|suppose|assume|doubt|thought)\b|\bas an? (?:ai|language model)\b"
    r"|^(?:如果|假如|要是|假设|假装|比如|例如|倘若)|(?:他|她|他们|别人|有人|客户|用户|日志|文档|文件|网页|"
    r"邮件)(?:说|写道|表示|声称|提到|问)",
    re.IGNORECASE,
)
"""A condition, a quotation, an example: nothing that the speaker asserts."""

PASTES = regex(
    r"\b(?:translate|rewrite|rephrase|paraphrase|proof ?read|correct|edit|summari[sz]e|shorten|polish|"
    r"improve|analy[sz]e|classify|extract|parse|continue"
    r"|following|below|here(?:'s| is| are)|this is (?:the|what)|(?:log|output|error|email|letter|text|"
    r"message|article|story|poem|transcript|document|file|page"
    r"|review|paragraph|result|response|comment|readme|it|he|she|they) (?:says?|said|reads?|is|was|wrote|"
    r"printed)|from the (?:log|file|docs?|page|email|tool)"
    r"|got (?:this|the following)|output|log|traceback|quote)\b[^\n]{0,120}[:：]\s*$"
    r"|(?:翻译|改写|润色|校对|总结|概括|分析|修改|以下|下面|如下|日志|输出|报错|邮件|原文|文章|内容|续写|"
    r"提取)[^\n]{0,40}[:：]\s*$",
    re.IGNORECASE,
)
"""A line after which a message holds somebody else's text."""

TASK = regex(
    r"(?:please |kindly |(?:can|could|would) you )*(?:translate|rewrite|rephrase|paraphrase|proof ?read|correct|edit|summari[sz]e|"
    r"shorten|polish|improve|analy[sz]e|classify) (?:this|these|the following)(?: \w{1,20})? (?:article|e-?mail|text|letter|"
    r"message|review|paragraph|story|post|transcript|passage|document|essay|abstract|comment|log|output)s?"
    r"(?: (?:for me|(?:in)?to [A-Za-z]{1,20}|in [A-Za-z]{1,20}))*\s*[.!?]?\s*|"
    r"(?:请|帮我|麻烦)*(?:把|将)?(?:翻译|改写|润色|校对|总结|概括)(?:一下)?(?:下面|以下|这)[^\n，,]{0,20}[。？]?\s*",
    re.IGNORECASE,
)
"""A line that asks for work on a text, which follows."""

MACHINE = regex(
    r"\s*(?:[\[(<*#]{0,2})(?:observation|tool[ _-](?:result|output|response|call|use)s?|"
    r"function[ _-](?:result|output|response|call)s?|tool(?=:)|command output|stdout|stderr|output|result"
    r"|search results?|retrieved|context|document|(?:file )?contents?|web ?page|api response|system (?:note|"
    r"message|reminder)|工具(?:结果|输出|返回)|观察|检索结果|执行结果)"
    r"(?:[\])>*]{0,2})\s?(?:\d{1,3}|(?:of|from|for) [^\n:：]{1,60})?\s*[:：\n>]",
    re.IGNORECASE,
)
"""How a tool's text begins that a host sends in the user's role."""

QUOTED = regex(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|«[^»\n]{1,400}»|"
    r"`[^`\n]{1,400}`|(?<!\w)'[^'\n]{1,400}'(?!\w)"
)
BLOCK = regex(r"<([A-Za-z][\w:-]{0,40})(?:\s[^<>\n]{0,300})?>.*?</\1\s*>|(\"\"\"|''')(?=\n).*?\n\s{0,8}\2", re.DOTALL)
"""A pair of tags or of triple quotation marks, between which stands somebody else's text."""

QUESTION = regex(
    r".*[?？]\W*$|^(?:so |and |but |ok,? )?(?:do|does|did|is|are|am|was|were|can|could|should|would|will|"
    r"shall|may|what|which|who|whose|when|where|why|how)\b"
    r"(?! (?:possible,))(?!ever)|.*(?:吗|呢|么)\W*$|.*(?:什么|怎么|为什么|哪[个里些]|是否|多少)",
    re.IGNORECASE | re.DOTALL,
)
