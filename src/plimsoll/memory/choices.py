"""Words of which a person chooses one at a time, such as tabs or spaces. Each has one spelling here, in both languages."""

from __future__ import annotations

from types import MappingProxyType

_CHOICES: dict[str, tuple[str, ...]] = {
    "indentation": ("tab=tabs=制表符=tab键", "space=spaces=空格"),
    "theme": ("light=浅色=亮色", "dark=深色=暗色"),
    "quotes": ("single=单引号", "double=双引号"),
    "length": ("short=brief=concise=terse=简短=简洁", "long=detailed=verbose=详细=冗长"),
    "manner": ("formal=正式", "informal=casual=随意=非正式"),
    "units": ("metric=公制", "imperial=英制"),
    "clock": ("12h=12-hour=十二小时制", "24h=24-hour=二十四小时制"),
    "spelling": ("british=英式", "american=美式"),
    "names": ("camelcase=驼峰", "snake_case=snakecase=下划线", "kebab-case"),
    "history": ("merge=合并", "rebase=变基", "squash"),
    "node packages": ("npm", "yarn", "pnpm", "bun"),
    "python packages": ("pip", "poetry", "uv", "pipenv", "conda"),
    "editor": ("vim", "emacs", "nano", "vscode", "neovim"),
    "python tests": ("pytest", "unittest", "nose"),
    "javascript tests": ("jest", "vitest", "mocha"),
    "web framework": ("react", "vue", "angular", "svelte"),
    "written script": ("simplified=简体", "traditional=繁体"),
}
"""Choices by what they are about. `=` joins spellings of one choice."""

_ABOUT = tuple(
    (
        "indent indents indenting indentation 缩进 theme themes mode 主题 模式 quote quotes 引号 answer answers reply replies "
        "response responses explanation explanations 回答 回复 解释 unit units 单位 format formatting 格式 style 风格 "
        "spelling 拼写 naming 命名 name names manager database 数据库 editor 编辑器"
    ).split()
)
"""Words beside a choice that only say what it is about."""

_SPELLINGS = [
    (group, spelling, choice.partition("=")[0])
    for group, choices in _CHOICES.items()
    for choice in choices
    for spelling in choice.split("=")
]

GROUP_OF = MappingProxyType({first: group for group, _, first in _SPELLINGS})
"""What a choice is about, by its first spelling."""

ABOUT = "about"
"""Stands for each word that only says what a choice is about."""

GROUP_WORDS = MappingProxyType(
    {**dict.fromkeys(_ABOUT, ABOUT), **{spelling: first for _, spelling, first in _SPELLINGS}}
)
"""The first spelling of a choice by each of its spellings; and words that only say what a choice is about."""
