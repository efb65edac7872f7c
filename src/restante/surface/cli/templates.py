"""What `restante init` writes."""

SCRIPT_NAME = "team.script.toml"

CONFIG_TEXT = '''\
# A team of agents that write to one another while they work.
# Try it as it is: restante run "What is new?"   It plays a script and needs no key.
# An unknown key is refused with its line, so a slip does not go unnoticed.

policy = "default"      # the rules of a turn's messages; "classic" follows the system that restante grew out of
entry = "assistant"     # the agent that `restante run` and `chat` talk to

[limits]                # every limit has a default; these two are here to show how
rounds = 10             # model calls of an agent before it must answer
text_max = 20_000       # the longest message to an agent, in characters

# To let the team think, give it a model. Take away the # of this table, and in every agent below replace
# "scripted:team.script.toml" by "local"; or write one of Pydantic AI's names there, like "openai:gpt-5".
#
# [models.local]                            # a name of your own
# provider = "openai"                       # any provider of Pydantic AI
# model = "qwen3.5:9b"
# base_url = "http://localhost:11434/v1"    # only for a server of your own
# api_key_env = "LOCAL_KEY"                 # the environment variable that holds the key; a key itself is refused

[agents.assistant]
description = "Plans, delegates, answers."  # what other agents read about it
instructions = """
Split the question into tasks for your sub-agents and spawn them. They can write to you and to one another while they
work. Answer from what they found, and say what is uncertain."""   # or: instructions_file = "assistant.md"
model = "scripted:team.script.toml"         # a name in [models], "provider:model", or "scripted:FILE"
delegates_to = ["researcher", "writer", "critic"]   # whom it may spawn
rounds = 10                                 # its own number of model calls
# folder = "work/assistant"                 # a folder of its own, for the toolset "files"

[agents.assistant.tools]
# Toolsets: "messaging" to write to other agents, "asking" to ask one and wait for its reply, "time", "files" in its
# folder, "mcp:NAME" for a server below.
available = ["messaging", "time"]
# confirm = ["write_file"]                  # tools that need your yes for each call

[agents.assistant.capabilities]
free_text_ask = true                        # false: no other agent or client may write to it on the platform

[agents.researcher]
description = "Finds things out."
instructions = "Find out what you are asked. Tell the others with send_message as soon as you know something they need."
model = "scripted:team.script.toml"
tools.available = ["messaging"]

[agents.writer]
description = "Turns findings into text."
instructions = "Write what you are asked for. Read what the others send you, and use it."
model = "scripted:team.script.toml"
tools.available = ["messaging"]

[agents.critic]
description = "Looks for what is wrong or missing."
instructions = "Look for mistakes and gaps, and send what you find to whoever can mend it."
model = "scripted:team.script.toml"
tools.available = ["messaging"]

# Tools of an MCP server, for every agent that names "mcp:docs" in tools.available. Here, too, no keys:
# [mcp.docs]
# command = "uvx"                             # a program that each run starts; or url = "https://..." instead
# args = ["a-server-for-docs"]
# env_from = ["DOCS_TOKEN"]                   # the environment variables that it gets

# An agent that exists in Python already, by its import path; its module may lie beside this file:
# [agents.billing]
# agent = "shop.agents:billing"
'''

SCRIPT_TEXT = """\
# What the team of restante.toml says while it has no model. For each agent a list of steps: each a `say`, or a
# `call` of a tool (several in one list run together), optionally with `when`, a text that the prompt must contain,
# and `seconds`, how long the model seems to think. An argument may hold {reply_address}: that of the newest message
# of the platform in the prompt. Delete this file once your agents have a model.

# To whoever writes by `restante send` or over HTTP:
[[assistant]]
when = "reply_address"
seconds = 0.5
call = { tool = "messages", args = { action = "send", inbox_id = "{reply_address}", message = "I read it." } }
[[assistant]]
when = "reply_address"
say = "Answered."

# To `restante run`:
[[assistant]]
seconds = 0.5
call = [
  { tool = "spawn", args = { agent = "researcher", task = "Find out what is new." } },
  { tool = "spawn", args = { agent = "writer", task = "Write one sentence about what is new." } },
  { tool = "spawn", args = { agent = "critic", task = "Read along, and say what is missing." } },
]
[[assistant]]
seconds = 0.5
say = "Three agents worked on this and wrote to one another. `restante export` shows who said what to whom."

[[researcher]]
seconds = 0.5
call = { tool = "send_message", args = { to = "writer", text = "Agents can write to each other while they work." } }
[[researcher]]
seconds = 0.5
say = "Agents can write to each other while they work."

[[writer]]
seconds = 1.0
call = { tool = "list_agents" }
[[writer]]
seconds = 0.5
call = { tool = "send_message", args = { to = "critic", text = "My draft: agents write to each other." } }
[[writer]]
seconds = 0.5
say = "Agents write to each other, and no message gets lost."

[[critic]]
seconds = 1.0
call = { tool = "list_agents" }
[[critic]]
seconds = 1.0
call = { tool = "send_message", args = { to = "assistant", text = "Say how one can see that nothing got lost." } }
[[critic]]
say = "The proof was missing, and I said so."
"""
