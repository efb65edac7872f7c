"""A faulty `restante.toml` is refused as a whole, with the line and what would have worked."""

from pathlib import Path

import pytest

from restante.errors import BadConfig
from restante.running.config import load_config

GOOD = """\
policy = "default"
entry = "assistant"
[limits]
rounds = 10
[models.local]
provider = "openai"
model = "qwen"
base_url = "http://localhost/v1"
api_key_env = "LOCAL_KEY"
[agents.assistant]
model = "local"
delegates_to = ["researcher"]
[agents.assistant.tools]
available = ["messaging"]
[agents.researcher]
model = "local"
"""
LINES = GOOD.splitlines()


def refusal(folder: Path, text: str) -> str:
    path = folder / "restante.toml"
    path.write_text(text)
    with pytest.raises(BadConfig) as caught:
        load_config(path)
    return caught.value.message


def with_line(number: int, line: str) -> str:
    """The good file with another line at `number`, counted from 1."""
    return "\n".join([*LINES[: number - 1], line, *LINES[number:]]) + "\n"


def test_the_good_file_is_good(tmp_path: Path) -> None:
    (tmp_path / "restante.toml").write_text(GOOD)

    assert load_config(tmp_path / "restante.toml").entry == "assistant"


@pytest.mark.parametrize(
    ("number", "line", "words"),
    [
        (1, 'polcy = "default"', ["'polcy'", "'policy'"]),
        (1, 'POLICY = "default"', ["'POLICY'", "'policy'"]),
        (4, "round = 10", ["'round'", "'rounds'"]),
        (6, 'providr = "openai"', ["'providr'", "'provider'"]),
        (12, 'delegate_to = ["researcher"]', ["'delegate_to'", "'delegates_to'"]),
        (14, 'availble = ["messaging"]', ["'availble'", "'available'"]),
        (4, 'entry = "assistant"', ["'entry'", "[limits]", "the top of the file"]),
        (11, 'provider = "openai"', ["'provider'", "[agents.assistant]", "[models.NAME]"]),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_the_nearest_known_one(
    tmp_path: Path, number: int, line: str, words: list[str]
) -> None:
    message = refusal(tmp_path, with_line(number, line))

    assert f"restante.toml:{number}: " in message
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("number", "line", "words"),
    [
        (1, 'policy = "strict"', ['"default" or "classic"', "'strict'"]),
        (1, "policy = 3", ["a text in quotes", "3"]),
        (2, "entry = true", ["a text in quotes", "true"]),
        (2, 'entry = "asistant"', ["'asistant'", "'assistant'"]),
        (4, "rounds = 0", ["rounds is 0", "from 1"]),
        (4, 'rounds = "10"', ["rounds is '10'", "a whole number"]),
        (4, "rounds = true", ["rounds is True", "a whole number"]),
        (4, "grace_s = nan", ["grace_s", "from 0"]),
        (4, "text_max = 100001", ["'text_max'", "from 1 to 100,000", "100001"]),
        (4, "text_max = 10.0", ["a whole number", "10.0"]),
        (4, "page_max = true", ["a whole number", "true"]),
        (4, "wait_seconds_max = 25.5", ["a number from 0 to 25", "25.5"]),
        (4, "turn_max = inf", ["from 10 to 86,400", "inf"]),
        (4, "turn_max = nan", ["from 10 to 86,400", "nan"]),
        (4, "page_max = 10", ["page_default is 30", "page_max, 10"]),
        (6, 'provider = ""', ["[models.local]", 'provider = "openai"']),
        (8, 'base_url = "localhost:11434"', ["'localhost:11434'", "http://"]),
        (11, "model = 5", ["a text in quotes"]),
        (11, 'model = "locl"', ["'locl'", "'local'", "scripted:FILE"]),
        (11, 'model = "scripted:none.toml"', ["none.toml", "relative to this file"]),
        (11, 'instructions_file = "none.md"', ["none.md", "No such file"]),
        (12, 'delegates_to = "researcher"', ["an array of texts"]),
        (12, 'delegates_to = ["researcher", 3]', ["an array of texts"]),
        (12, 'delegates_to = ["researcher", "researcher"]', ["'researcher' twice"]),
        (12, 'delegates_to = ["resercher"]', ["'assistant'", "'resercher'", "'researcher'"]),
        (12, "rounds = 0", ["'rounds'", "from 1"]),
        (14, 'available = ["mesaging"]', ["'assistant'", "'mesaging'", "messaging"]),
        (14, 'confirm = "send_message"', ["confirm", "array"]),
        (14, "[review]\nautomatic = 3", ["[review] has no model"]),
        (14, '[review]\nautomatic = 0\nmodel = "openai:gpt-5"', ["automatic", "1 to 1,000"]),
        (14, '[review]\nmodle = "gpt"', ["modle", "model"]),
        (14, 'confirm = []\n[agents.assistant.capabilities]\nfree_text_ask = "false"', ["true or false", "'false'"]),
        (14, "confirm = []\n[agents.assistant.capabilities]\nfree_text_ask = 0", ["true or false", "not 0"]),
        (
            14,
            "confirm = []\n[agents.assistant.capabilities]\nfree_text_ask = []",
            ["restante.toml:16: ", "true or false"],
        ),
        (15, '[agents."two words"]', ["U+0020", "'two words'"]),
        (15, "[agents.Person]", ["'Person'", "reserved"]),
        (15, '[agents."rese\u0061\u0301rcher"]', ["composed", "NFC"]),
        (15, "[agents.ASSISTANT]", ["'assistant'", "'ASSISTANT'", "letter case"]),
        (15, "[models.other]", ["[models.other]", 'provider = "openai"']),
        (15, '[models."a:b"]\nprovider = "x"', ["colon", "'a:b'"]),
    ],
)
def test_a_wrong_value_is_refused_with_its_line_and_what_would_have_worked(
    tmp_path: Path, number: int, line: str, words: list[str]
) -> None:
    text = with_line(number, line)
    if number == 12:
        text = text.replace('[agents.assistant]\nmodel = "local"', '[agents.assistant]\nmodel = "x:y"')
    message = refusal(tmp_path, text)

    assert "restante.toml:" in message
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (1, 'policy = "strict"'),
        (4, "text_max = 0"),
        (11, 'model = "locl"'),
        (12, "delegates_to = 1"),
        (14, "available=1"),
    ],
)
def test_the_line_is_that_of_the_key(tmp_path: Path, number: int, line: str) -> None:
    assert f"restante.toml:{number}: " in refusal(tmp_path, with_line(number, line))


def test_a_line_is_right_below_long_strings_arrays_and_inline_tables(tmp_path: Path) -> None:
    text = '''\
entry = "a" # [not.a.table] and key = 1
[agents]
b = {model = "x:y", rounds = 3}
[agents.a]
description = """
rounds = 0
[agents.c] \\"""
"""
instructions = \'\'\'it's
rounds = 0\'\'\'
model = "x:y"
delegates_to = [
  "b", # rounds = 0 ]
]
rounds = 0
'''

    assert "restante.toml:15: 'rounds' in [agents.a]" in refusal(tmp_path, text)


def test_a_wrong_value_in_an_inline_table_has_its_line_too(tmp_path: Path) -> None:
    text = 'entry = "a"\n[agents]\na = {model = "x:y",\ttools = {available = ["messaging", "nothing"]}}\n'

    assert "restante.toml:3: Agent 'a' names the toolset 'nothing'" in refusal(tmp_path, text)


@pytest.mark.parametrize("key", ["sk-0123456789abcdef", "https://key"])
def test_a_key_in_the_file_is_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    for line in (f'api_key = "{key}"', f'api_key_env = "{key}"'):
        message = refusal(tmp_path, with_line(9, line))

        assert "restante.toml:9: " in message
        assert 'api_key_env = "MY_KEY"' in message
        assert key not in message


@pytest.mark.rows("T339")
@pytest.mark.parametrize(
    ("ways", "cycle"),
    [
        ({"a": ["a"]}, "a -> a"),
        ({"a": ["b"], "b": ["a"]}, "a -> b -> a"),
        ({"a": ["b", "c"], "b": ["c"], "c": ["d"], "d": ["b"]}, "b -> c -> d -> b"),
    ],
)
def test_delegation_in_a_circle_is_refused_and_the_circle_named(
    tmp_path: Path, ways: dict[str, list[str]], cycle: str
) -> None:
    tables = [f'[agents.{name}]\nmodel = "x:y"\ndelegates_to = {targets}\n' for name, targets in ways.items()]

    assert f": {cycle}." in refusal(tmp_path, 'entry = "a"\n' + "".join(tables))


@pytest.mark.parametrize("key", ["instructions", "instructions_file", "model"])
def test_an_existing_agent_brings_its_own_words_and_model(tmp_path: Path, key: str) -> None:
    text = f'entry = "a"\n[agents.a]\nagent = "shop.agents:billing"\n{key} = "x:y"\n'

    message = refusal(tmp_path, text)

    assert "restante.toml:4: " in message
    assert "shop.agents:billing" in message


def test_an_import_path_names_a_module_and_an_attribute(tmp_path: Path) -> None:
    assert "shop.agents:billing" in refusal(tmp_path, 'entry = "a"\n[agents.a]\nagent = "shop/agents.py"\n')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no agent", "[agents.assistant]"]),
        ('[agents.a]\nmodel = "x:y"\n', ["entry is missing", 'entry = "a"']),
        ('entry = "a"\n[agents.a]\n', ["restante.toml:2: ", "[agents.a] has no model"]),
        ('entry = "a"\nagents = 3\n', ["restante.toml:2: ", "a table"]),
        ('entry = "a"\n[agents.a]\nmodel = "x:y"\ntools = ["messaging"]\n', ["restante.toml:4: ", "a table"]),
        ('entry = "a"\n[agents]\na = 3\n', ["restante.toml:3: ", "a table"]),
        ('entry = "a"\nentry = "b"\n', ["not TOML", "line 2"]),
        ('entry = "a', ["not TOML", "Unterminated"]),
    ],
)
def test_a_file_that_says_too_little_or_is_no_toml_is_refused(tmp_path: Path, text: str, words: list[str]) -> None:
    message = refusal(tmp_path, text)

    assert all(word in message for word in words), message


def test_instructions_come_from_one_place(tmp_path: Path) -> None:
    text = 'entry = "a"\n[agents.a]\nmodel = "x:y"\ninstructions = "x"\ninstructions_file = "y"\n'

    assert "not both" in refusal(tmp_path, text)


def test_a_file_that_is_not_there_names_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="restante init"):
        load_config(tmp_path / "restante.toml")


def test_a_file_that_is_no_utf_8_is_refused_with_the_byte(tmp_path: Path) -> None:
    (tmp_path / "restante.toml").write_bytes(b'entry = "\xff"')

    with pytest.raises(BadConfig, match="not UTF-8 at byte 9"):
        load_config(tmp_path / "restante.toml")


def test_a_refusal_is_the_callers_fault_with_the_exit_code_of_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as caught:
        load_config(tmp_path / "restante.toml")

    assert (caught.value.exit_code, caught.value.fault) == (2, "caller")
