"""The captured runs, as scenes with scripted models: what the described system did, and what ours does."""

from pydantic_ai import Agent

from restante.bus import BusPolicy
from restante.testing import ScriptedModel, call, calls, says
from restante.turn import TurnOptions, messaging_tools
from tests.turn.playing import Played, play

LISTS = calls(call("list_agents"))


async def two_researchers(policy: BusPolicy) -> Played:
    """Two researchers at once: #1 sends to everyone, lists, reports; #2 lists three times, reports."""
    researcher = Agent(
        ScriptedModel(
            calls(call("send_message", to="everyone", text="the answer is 42"), when="find the answer"),
            LISTS,
            says("I found 42.", when="find the answer"),
            LISTS,
            LISTS,
            says("I listed three times."),
        ),
        toolsets=[messaging_tools()],
    )
    assistant = Agent(
        ScriptedModel(
            calls(
                call("spawn", agent="researcher", task="find the answer"),
                call("spawn", agent="researcher", task="look around"),
            ),
            says("The answer is 42."),
        ),
        toolsets=[messaging_tools()],
    )
    options = TurnOptions(agents={"researcher": researcher}, policy=policy)
    return await play(assistant, "What is the answer?", options)


async def thanks_to_the_finished(policy: BusPolicy) -> Played:
    """The entry agent delegates to a researcher, lists, thanks it by address, and answers."""
    researcher = Agent(ScriptedModel(says("It is 42.")))
    assistant = Agent(
        ScriptedModel(
            calls(call("spawn", agent="researcher", task="find the answer")),
            LISTS,
            calls(call("send_message", to="researcher#1", text="thank you")),
            says("The answer is 42."),
        ),
        toolsets=[messaging_tools()],
    )
    options = TurnOptions(agents={"researcher": researcher}, policy=policy)
    return await play(assistant, "What is the answer?", options)


async def a_question_outlives_its_writer(policy: BusPolicy) -> Played:
    """A report writer broadcasts a question and ends; a second one answers to the first one's address."""
    writer = Agent(
        ScriptedModel.of_runs(
            [calls(call("send_message", to="everyone", text="which format?")), says("first draft")],
            [
                LISTS,
                calls(call("send_message", to="report-writer#1", text="markdown")),
                says("second draft"),
            ],
        ),
        toolsets=[messaging_tools()],
    )
    assistant = Agent(
        ScriptedModel(
            calls(call("spawn", agent="report-writer", task="write")),
            calls(call("spawn", agent="report-writer", task="write on")),
            says("Written."),
        ),
    )
    options = TurnOptions(agents={"report-writer": writer}, policy=policy)
    return await play(assistant, "Write a report.", options)
