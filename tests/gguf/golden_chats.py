"""Writes tests/golden/gguf/chats.json: templates, messages, and the texts that transformers makes.

    python tests/gguf/golden_chats.py

By hand, where transformers is installed. Not a test.
"""

from __future__ import annotations

import json
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "golden" / "gguf"
TEMPLATES = {
    "marks": """\
{% for message in messages %}
    {% if loop.first and message.role != 'system' %}
        {{- '<|im_start|>system\\nBe brief.<|im_end|>\\n' }}
    {% endif %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>\\n' }}
{% endfor %}
{% if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{% endif %}
""",
    "turns": """\
{{ bos_token }}{% for m in messages %}
{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('roles must alternate') }}
{% endif %}
{% if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]{% endif %}
{% if m['role'] != 'user' %} {{ m['content'] }}{{ eos_token }}{% endif %}
{% endfor %}""",
    "tools": """\
{%- set ns = namespace(count=0) %}
{%- for tool in tools or [] %}
{%- set ns.count = ns.count + 1 %}
{{ ns.count }}: {{ tool | tojson }} {{ tool | tojson(indent=2) }}
{%- if loop.index == 2 %}{% break %}{% endif %}
{%- endfor %}
{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join(', ') }}""",
}
MESSAGES = (
    [{"role": "user", "content": " Hello <b>you</b> "}],
    [
        {"role": "user", "content": "é & 'x'"},
        {"role": "assistant", "content": "yes\n"},
        {"role": "user", "content": "日本"},
    ],
    [{"role": "system", "content": "S"}, {"role": "user", "content": "u"}],
)
TOOLS = [{"name": "f", "about": "<é>"}, {"name": "g"}, {"name": "h"}]


def main() -> None:
    """Write the file."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    empty = Tokenizer(models.BPE({"<s>": 0, "</s>": 1}, []))
    theirs = PreTrainedTokenizerFast(tokenizer_object=empty, bos_token="<s>", eos_token="</s>")
    found = []
    for name in TEMPLATES:
        for number, messages in enumerate(MESSAGES):
            for prompt in (False, True):
                words = {"tools": TOOLS if name == "tools" else None, "tokenize": False}
                try:
                    text = theirs.apply_chat_template(
                        messages,
                        chat_template=TEMPLATES[name],
                        add_generation_prompt=prompt,
                        **words,
                    )
                except Exception:  # the template's own
                    text = None
                found.append([name, number, prompt, text])
    (GOLDEN / "chats.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
