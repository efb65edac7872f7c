"""`[mcp.NAME]` as it is read, and refused."""

from pathlib import Path

import pytest

from restante.errors import BadConfig
from restante.running.config import Config, load_config

AGENT = '[agents.a]\nmodel = "x:y"\n'


def load(folder: Path, servers: str, available: str = "") -> Config:
    tools = f"tools.available = [{available}]\n" if available else ""
    (folder / "restante.toml").write_text(f'entry = "a"\n{servers}\n{AGENT}{tools}')
    return load_config(folder / "restante.toml")


def refusal(folder: Path, servers: str, available: str = "") -> str:
    with pytest.raises(BadConfig) as caught:
        load(folder, servers, available)
    return caught.value.message


def test_a_program_and_a_server_elsewhere_arrive_as_the_file_says(tmp_path: Path) -> None:
    servers = load(
        tmp_path,
        '[mcp.one]\ncommand = "./serve"\nargs = ["-v", "-v"]\nenv_from = ["A", "B"]\n'
        '[mcp.two]\nurl = "https://shelf.example/mcp"\ntoken_env = "C"\nheaders_env = {X-Shelf = "D"}\n'
        "start_seconds = 5\n",
        '"mcp:one", "mcp:two"',
    ).servers

    one, two = servers["one"], servers["two"]
    assert (one.command, one.args, one.env_from, one.url) == ("./serve", ("-v", "-v"), ("A", "B"), None)
    assert (one.folder, one.start_seconds) == (tmp_path, 30)
    assert (two.url, two.token_env, dict(two.headers_env)) == ("https://shelf.example/mcp", "C", {"X-Shelf": "D"})
    assert (two.command, two.start_seconds) == (None, 5)


@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        ("", 2, ["[mcp.one] needs command or url, and not both"]),
        ('command = "x"\nurl = "http://x"', 4, ["needs command or url, and not both"]),
        ('command = ""', 3, ["Name the program"]),
        ('url = "localhost:80"', 3, ["begins with http://"]),
        ('command = "x"\ntoken_env = "A"', 4, ["token_env is for a server with a url", "[mcp.one] has a command"]),
        ('url = "http://x"\nargs = ["a"]', 4, ["args is for a server with a command", "[mcp.one] has a url"]),
        ('command = "x"\nargs = "a"', 4, ["an array of texts"]),
        ('command = "x"\nstart_seconds = 0', 4, ["from 0.1 to 600", "not 0"]),
        ('comand = "x"', 3, ["'comand'", "The nearest one is 'command'"]),
        ('command = "x"\nbase_url = "x"', 4, ["'base_url'", "belongs to [models.NAME]"]),
    ],
)
def test_a_faulty_server_is_refused_with_its_line_and_what_would_have_worked(
    tmp_path: Path, table: str, line: int, words: list[str]
) -> None:
    message = refusal(tmp_path, f"[mcp.one]\n{table}")

    assert f"restante.toml:{line}: " in message
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ('token = "s-e-same"', 'token_env = "MY_TOKEN"'),
        ('api_key = "s-e-same"', 'api_key_env = "MY_KEY"'),
        ('headers = {Authorization = "s-e-same"}', 'headers_env = {X-Key = "MY_KEY"}'),
        ('env = {TOKEN = "s-e-same"}', 'env_from = ["MY_KEY"]'),
        ('token_env = "s-e-same"', 'token_env = "MY_TOKEN"'),
        ('token_env = ["s-e-same"]', "what stands there"),
        ('headers_env = {X-Key = "s-e-same"}', 'X-Key = "MY_KEY"'),
        ('headers_env = "s-e-same"', "what stands there"),
        ('headers_env = {X-Key = ["s-e-same"]}', "a text in quotes"),
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path: Path, key: str, instead: str) -> None:
    message = refusal(tmp_path, f'[mcp.one]\nurl = "http://x"\n{key}')

    assert "restante.toml:4: " in message
    assert instead in message
    assert "s-e-same" not in message


@pytest.mark.parametrize("value", ['["s-e-same"]', '"s-e-same"', '[["s-e-same"]]'])
def test_a_secret_among_the_variables_of_a_program_is_not_repeated(tmp_path: Path, value: str) -> None:
    message = refusal(tmp_path, f'[mcp.one]\ncommand = "x"\nenv_from = {value}')

    assert "restante.toml:4: " in message
    assert "s-e-same" not in message


def test_a_password_in_a_url_is_refused_and_not_repeated(tmp_path: Path) -> None:
    message = refusal(tmp_path, '[mcp.one]\nurl = "https://me:s-e-same@shelf.example/mcp"')

    assert "restante.toml:3: url holds a user or a password" in message
    assert "s-e-same" not in message


@pytest.mark.parametrize("name", ['"two words"', "under_score", '"x.y"', "a23456789012345678901"])
def test_a_server_has_a_name_that_can_be_part_of_the_name_of_a_tool(tmp_path: Path, name: str) -> None:
    assert "is no name of an MCP server" in refusal(tmp_path, f'[mcp.{name}]\ncommand = "x"')


def test_a_toolset_of_a_server_that_is_not_there_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    server = '[mcp.shelf]\ncommand = "x"'

    assert refusal(tmp_path, server, '"mcp:self"').endswith(
        "restante.toml:6: 'mcp:self' names no MCP server of this file. The nearest one is 'mcp:shelf'."
    )
    assert "and there is none. Add [mcp.shelf]." in refusal(tmp_path, "", '"mcp:shelf"')
    assert "names the toolset 'mcp'" in refusal(tmp_path, server, '"mcp"')
