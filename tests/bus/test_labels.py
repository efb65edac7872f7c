"""What a label may be, which are reserved, and that two never differ by letter case alone."""

import unicodedata
from pathlib import Path

import pytest

from restante import BusPolicy, MessageBus
from restante.errors import BadLabel
from restante.running.config import load_config
from restante.testing import ScriptedModel, says
from restante.turn import TurnOptions, run_turn
from tests.bus.policies import both
from tests.bus.seen import addresses
from tests.turn.playing import agent

RESERVED = ["everyone", "user", "person", "system", "bus"]
ANY_CASE = [spelling for name in RESERVED for spelling in (name, name.upper(), name.title())]


def refusal_of(policy: BusPolicy, label: str) -> str:
    """Why no reader opens with this label; nothing of it is on the roster."""
    bus = MessageBus(policy)
    for opening in (bus.open_entry, bus.open):
        with pytest.raises(BadLabel) as caught:
            opening(label)
    assert caught.value.code == "invalid_name"
    assert bus.roster() == ()
    return str(caught.value)


@both
@pytest.mark.rows("T051", "B51", "B153")
@pytest.mark.parametrize("label", ANY_CASE)
def test_no_reader_opens_with_a_reserved_label(policy: BusPolicy, label: str) -> None:
    words = refusal_of(policy, label)

    assert repr(label) in words
    assert "is reserved" in words


@both
@pytest.mark.rows("T051", "B51")
@pytest.mark.parametrize("label", ANY_CASE)
def test_a_bus_is_not_told_of_a_reserved_label_by_its_configuration(policy: BusPolicy, label: str) -> None:
    with pytest.raises(BadLabel, match=rf"{label!r} is reserved"):
        MessageBus(policy, labels=["assistant", label])


@pytest.mark.rows("T051", "B51")
@pytest.mark.parametrize("label", ANY_CASE)
def test_no_agent_of_a_file_has_a_reserved_name(tmp_path: Path, label: str) -> None:
    file = tmp_path / "restante.toml"
    file.write_text(f'entry = "{label}"\n[agents.{label}]\nmodel = "test:model"\n')

    with pytest.raises(BadLabel, match=f"Agent '{label}': .* is reserved") as caught:
        load_config(file)

    assert caught.value.code == "invalid_name"


@pytest.mark.anyio
@pytest.mark.rows("T051", "B51")
@pytest.mark.parametrize("options", [TurnOptions(label="Person"), TurnOptions(agents={"Person": agent(says("ok"))})])
async def test_no_turn_starts_with_an_agent_of_a_reserved_name(options: TurnOptions) -> None:
    assistant = agent(says("never"))

    with pytest.raises(BadLabel, match="'Person' is reserved"):
        await run_turn(assistant, "go", options)

    assert isinstance(assistant.model, ScriptedModel)
    assert assistant.model.prompts == []


@both
@pytest.mark.rows("T051", "B148", "B153")
@pytest.mark.parametrize("label", ["HumanOverseer", "parent", "you", "user-1"])
def test_a_name_that_sounds_like_authority_is_an_ordinary_label_and_gives_none(policy: BusPolicy, label: str) -> None:
    bus = MessageBus(policy)
    assistant, named = bus.open_entry("assistant"), bus.open(label)
    named.send("assistant", "you may")
    bus.send_person("you may not")

    agents, persons = assistant.drain()

    assert agents.prompt_text() == f"[message from {label}#1] you may"
    assert (agents.provenance()["origin"], agents.provenance()["sender"]) == ("agent", f"{label}#1")
    assert (persons.prompt_text(), persons.provenance()["origin"]) == ("you may not", "person")


@both
@pytest.mark.rows("T052")
@pytest.mark.parametrize("label", ["api.v2", "a_b-c", "x" * 64, "7", "\u0664\u0662", "e\u0302\u0323", "कि"])
def test_letters_marks_digits_hyphen_underscore_and_full_stop_make_a_label(policy: BusPolicy, label: str) -> None:
    label = unicodedata.normalize("NFC", label)

    assert MessageBus(policy).open(label).address == f"{label}#1"


BAD_CHARACTERS = [
    "#", "[", "]", ",", "@", " ", "\t", "\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029",
    "\0", "\x07", "\x7f", "\x9f", "😀", "\u202e", "\u200b", "\u00bd", "\u2163",
]  # fmt: skip
BAD_FIRST = ["-", "_", ".", "\u0301"]


@both
@pytest.mark.rows("T052", "B153")
@pytest.mark.parametrize(
    ("label", "character"),
    [
        *((f"user{character}1", character) for character in BAD_CHARACTERS),
        *((f"{character}user", character) for character in BAD_FIRST),
    ],
)
def test_a_label_with_any_other_character_is_refused_and_shown_its_code_point(
    policy: BusPolicy, label: str, character: str
) -> None:
    assert f"U+{ord(character):04X} at place {label.index(character)}" in refusal_of(policy, label)


@both
@pytest.mark.rows("T052")
@pytest.mark.parametrize(("label", "limit"), [("", "1 to 64"), ("x" * 65, "at most 64")])
def test_an_empty_or_too_long_label_is_refused_with_the_limit(policy: BusPolicy, label: str, limit: str) -> None:
    assert limit in refusal_of(policy, label)


@both
@pytest.mark.rows("T053", "B56")
def test_names_of_mixed_scripts_that_look_alike_are_labels_of_their_own(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    labels = ["admin", "\u0430dmin", "検索Agent"]

    readers = [bus.open(label) for label in labels]
    readers[0].send("\u0430dmin", "for the Cyrillic one")

    assert addresses(bus) == [f"{label}#1" for label in labels]
    assert [len(reader.drain()) for reader in readers] == [0, 1, 0]


@both
@pytest.mark.rows("T053", "B56")
def test_a_name_that_turns_the_direction_of_writing_is_refused_with_its_code_point(policy: BusPolicy) -> None:
    assert "U+202E" in refusal_of(policy, "admin\u202e")


@both
@pytest.mark.rows("T054", "B56")
@pytest.mark.parametrize(("known", "other"), [("researcher", "Researcher"), ("straße", "STRASSE")])
@pytest.mark.parametrize("configured", [True, False])
def test_a_label_that_differs_by_letter_case_alone_is_refused_with_both_names(
    policy: BusPolicy, known: str, other: str, configured: bool
) -> None:
    bus = MessageBus(policy, labels=[known] if configured else [])
    before = [] if configured else [bus.open(known).address]

    for opening in (bus.open, bus.open_entry):
        with pytest.raises(BadLabel) as caught:
            opening(other)
        assert repr(known) in str(caught.value)
        assert repr(other) in str(caught.value)

    assert addresses(bus) == before


@both
@pytest.mark.rows("T055", "B55")
def test_labels_of_any_script_are_kept_as_they_are(policy: BusPolicy) -> None:
    bus = MessageBus(policy)

    first, second = bus.open("研究员"), bus.open("审稿人")
    first.send("审稿人", "请看")

    assert addresses(bus) == ["研究员#1", "审稿人#1"]
    assert [delivery.prompt_text() for delivery in second.drain()] == ["[message from 研究员#1] 请看"]


@both
@pytest.mark.rows("T055")
@pytest.mark.parametrize("composed", ["café", "각", "Ångström"])
def test_a_decomposed_label_is_refused_with_its_composed_spelling(policy: BusPolicy, composed: str) -> None:
    decomposed = unicodedata.normalize("NFD", composed)
    assert decomposed != composed

    assert repr(composed) in refusal_of(policy, decomposed)
    assert MessageBus(policy).open(composed).address == f"{composed}#1"
