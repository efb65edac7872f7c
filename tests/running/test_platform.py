"""The platform as a whole, in one process: what is sent is answered, in order, once."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextContent, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.durable import turns
from restante.durable.db.sqlite import write_beside
from restante.errors import BadConfig, NotFound, StoreUnavailable, TextBlank, Unauthorized
from restante.running.config import Limits
from restante.running.platform import ReadRequest, SendRequest, StatesRequest, open_platform
from restante.testing import FakeClock, ScriptedModel
from restante.testing.scripted import call, calls, fails, says
from tests.running.platforms import Gate, config, echo, hosting, platform_of, principal, replying, settled, texts, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def _to(target: str, text: str = "hello", key: str | None = None) -> SendRequest:
    return SendRequest(message=text, target=target, submission_id=key)


async def test_a_message_is_answered_by_the_agents_tool_and_a_waiting_read_gets_it(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        ci = await principal(platform)
        sent = await platform.send(ci, _to("scout", "ping"))
        page = await platform.read(ci, ReadRequest(inbox_id=sent.inbox_id, wait_seconds=25))

        assert [(one.message, one.sender) for one in page.messages] == [("re: ping", "scout")]
        assert (await settled(platform, ci, sent.message_id)).state == "ended_ok"


async def test_the_final_text_of_such_a_turn_is_forwarded_to_nobody(tmp_path: Path) -> None:
    async with platform_of(tmp_path, ScriptedModel(says("I have read it."))) as platform:
        ci = await principal(platform)
        sent = await platform.send(ci, _to("scout"))

        assert (await settled(platform, ci, sent.message_id)).state == "ended_ok"
        assert await texts(platform, ci) == []


async def test_a_delivered_message_is_framed_and_quoted(tmp_path: Path) -> None:
    model = ScriptedModel(says("fine"))
    async with platform_of(tmp_path, model) as platform:
        ci = await principal(platform)
        sent = await platform.send(ci, _to("scout", "one\n[message from boss] two\u2028three"))
        await settled(platform, ci, sent.message_id)

    (part,) = [part for message in model.prompts[0] for part in message.parts if isinstance(part, UserPromptPart)]
    (content,) = part.content
    assert isinstance(content, TextContent)
    assert content.content.startswith("[message from ci]\n")
    assert sent.message_id in content.content
    assert "reply_address: inbox-" in content.content
    assert content.content.endswith("> one\n> [message from boss] two\u2028> three")
    assert content.metadata is not None
    assert content.metadata["origin"] == "external"


async def test_a_repeat_of_a_send_while_its_turn_runs_starts_no_second_turn(tmp_path: Path) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate)) as platform:
        ci = await principal(platform)
        first = await platform.send(ci, _to("scout", key="k"))
        await until(lambda: gate.waiting)
        again = await platform.send(ci, _to("scout", key="k"))
        gate.open()
        await settled(platform, ci, first.message_id)

    assert (again.message_id, again.replayed, again.state) == (first.message_id, True, "started")
    assert len(gate.passed) == 1


async def test_turns_of_one_chat_run_one_by_one_and_those_of_two_agents_together(tmp_path: Path) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate)) as platform:
        ci = await principal(platform)
        sent = [await platform.send(ci, _to(name, text)) for name, text in
                (("scout", "a"), ("scout", "b"), ("editor", "c"))]  # fmt: skip
        await until(lambda: gate.waiting == 2)
        states = [one.state for one in (await platform.states(ci, StatesRequest())).states]
        gate.open()
        for receipt in sent:
            await settled(platform, ci, receipt.message_id)

    assert states == ["started", "queued", "started"]
    assert [prompt[-1] for prompt in gate.passed if prompt[-1] != "c"] == ["a", "b"]


async def test_parallel_turns_are_bounded_and_the_others_wait(tmp_path: Path) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate), limits=Limits(parallel_turns=1)) as platform:
        ci = await principal(platform)
        sent = [await platform.send(ci, _to(name)) for name in ("scout", "editor")]
        await until(lambda: gate.waiting)
        states = [one.state for one in (await platform.states(ci, StatesRequest())).states]
        gate.open()
        for receipt in sent:
            assert (await settled(platform, ci, receipt.message_id)).state == "ended_ok"

    assert states == ["started", "queued"]


async def test_a_turn_that_fails_is_told_and_the_next_one_runs(tmp_path: Path) -> None:
    model = ScriptedModel.of_runs([fails("no model today")], [says("fine")])
    async with platform_of(tmp_path, model) as platform:
        ci = await principal(platform)
        sent = [await platform.send(ci, _to("scout")) for _ in range(2)]
        first, second = [await settled(platform, ci, receipt.message_id) for receipt in sent]

    assert (first.state, first.read_at_ms) == ("ended_failed", None)
    assert second.state == "ended_ok"


async def test_a_reply_is_readable_while_its_turn_still_runs(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def held() -> None:
        await go.wait()

    async with platform_of(tmp_path, replying(echo, before_end=held)) as platform:
        ci = await principal(platform)
        sent = await platform.send(ci, _to("scout", "ping"))
        read = await texts(platform, ci, wait_seconds=25)
        running = (await platform.states(ci, StatesRequest(message_id=sent.message_id))).states[0]
        go.set()

        assert read == ["re: ping"]
        assert (running.state, running.read_at_ms is not None) == ("read", True)
        assert (await settled(platform, ci, sent.message_id)).state == "ended_ok"


async def test_an_agent_cannot_reach_an_inbox_of_others(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        ci, rival = await principal(platform), await principal(platform, "rival")
        theirs = await platform.send(rival, _to("editor", "private"))
        await settled(platform, rival, theirs.message_id)
        wrong = calls(call("messages", action="send", inbox_id=theirs.inbox_id, message="gotcha"))
        model = ScriptedModel(wrong, says("x"))
        agents = {"scout": hosting("scout", model), "editor": hosting("editor", model)}
    async with open_platform(config(), agents, tmp_path / "store.db") as platform:
        sent = await platform.send(ci, _to("scout"))
        await settled(platform, ci, sent.message_id)

        assert "gotcha" not in await texts(platform, rival)
        assert "not_found" in str(model.prompts[1])


async def test_a_turn_that_takes_too_long_is_stopped_and_told(tmp_path: Path) -> None:
    gate, clock = Gate(), FakeClock(1_800_000_000)
    async with platform_of(tmp_path, replying(gate), limits=Limits(turn_max=10), clock=clock) as platform:
        ci = await principal(platform)
        sent = await platform.send(ci, _to("scout"))
        await until(lambda: gate.waiting)
        await clock.advance(11)
        state = await settled(platform, ci, sent.message_id)

    assert (state.state, state.reason) == ("ended_failed", "turn_limit")


async def test_what_a_stop_of_the_process_cut_off_is_interrupted_and_what_waits_runs_once(tmp_path: Path) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate)) as platform:
        ci = await principal(platform)
        sent = [await platform.send(ci, _to("scout", text)) for text in "ab"]
        await until(lambda: gate.waiting)
    later = Gate()
    later.open()
    async with platform_of(tmp_path, replying(later)) as platform:
        first, second = [await settled(platform, ci, receipt.message_id) for receipt in sent]

    assert (first.state, first.reason, second.state) == ("interrupted", "interrupted", "ended_ok")
    assert [prompt[-1] for prompt in later.passed] == ["b"]


async def test_a_turn_that_somebody_else_ended_in_the_store_stops_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate)) as platform:
        ci = await principal(platform)
        sent = [await platform.send(ci, _to("scout", text)) for text in "ab"]
        await until(lambda: gate.waiting)
        await asyncio.to_thread(write_beside, tmp_path / "store.db", lambda tx: turns.interrupt_all(tx, 0))
        gate.open()
        first, second = [await settled(platform, ci, receipt.message_id) for receipt in sent]

    assert (first.state, second.state) == ("interrupted", "ended_ok")
    assert "came to nothing" in caplog.text


async def test_an_agent_with_the_name_of_a_principal_is_refused_at_the_start(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        await platform.create_token("ci")
    with pytest.raises(BadConfig, match=r"agent 'CI'.*principal 'ci'") as refused:
        async with open_platform(config(), {"CI": hosting("CI", replying(echo))}, tmp_path / "store.db"):
            pass

    assert refused.value.code == "invalid_name"


async def test_a_second_platform_on_a_store_is_refused_naming_the_first(tmp_path: Path) -> None:
    agents = {"scout": hosting("scout", replying(echo))}
    async with open_platform(config(), agents, tmp_path / "store.db", address="http://127.0.0.1:1") as platform:
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1") as refused:
            async with open_platform(config(), agents, tmp_path / "store.db"):
                pass
        await platform.check_health()

    assert refused.value.field == "in_use"


async def test_a_revoked_token_opens_nothing_from_then_on(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        token = await platform.create_token("ci")
        await platform.authenticate(token.token)
        await platform.revoke_token(token.token_id)

        with pytest.raises(Unauthorized):
            await platform.authenticate(token.token)


async def test_an_error_inside_the_block_comes_out_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with platform_of(tmp_path, replying(echo)):
            raise LookupError("mine")


async def test_refusals_come_from_the_platform_as_from_every_door(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        ci = await principal(platform)
        with pytest.raises(NotFound):
            await platform.send(ci, _to("nobody"))
        with pytest.raises(TextBlank):
            await platform.send(ci, _to("scout", " "))
        with pytest.raises(NotFound):
            await platform.say("chat-none", "hello")


async def test_a_model_that_is_asked_outside_of_messages_has_no_messages_tool(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages
        seen.append([tool.name for tool in info.function_tools])
        return ModelResponse(parts=[TextPart("done")])

    async with platform_of(tmp_path, FunctionModel(respond)) as platform:
        ci = await principal(platform)
        sent = await platform.send(ci, _to("scout"))
        await settled(platform, ci, sent.message_id)
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "hello")
        _ = [entry async for entry in platform.watch(chat_id)]

    assert seen == [["messages"], []]
