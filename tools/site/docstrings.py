"""Python's docstrings as Markdown: sections with bold titles, parameters as lists, examples as code. Theirs is NumPy's form
with words behind the colon where NumPy has a type, which its own reader takes for one."""

import re

import griffe

TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
ITEM = re.compile(r"^([\w*][\w*, ]*) : (.*(?:\n[ ]{2,}\S.*)*)", re.MULTILINE)
EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


def as_markdown(text: str) -> str:
    text = EXAMPLE.sub(lambda m: f"```python\n{m.group()}\n```", text)
    text = ITEM.sub(lambda m: f"- `{m.group(1)}`: {' '.join(m.group(2).split())}", text)
    return TITLE.sub(r"**\1**\n", text)


class Docstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
