"""An agent's folder, with an attacker's mind: nothing leads out of it, and no text is lost or cut unseen."""

import contextlib
import os
import resource
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from restante.errors import InvalidArguments, NotFound
from restante.running.toolsets.folder import FILE_MAX, PART, Folder

OUTSIDE = "what is outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file and a folder in it, and a secret beside it."""
    root = tmp_path / "work"
    (root / "notes").mkdir(parents=True)
    (root / "notes/plan.md").write_text("plan")
    (tmp_path / "secret.txt").write_text(OUTSIDE)
    (tmp_path / "outside").mkdir()
    return root


def uses(folder: Folder) -> tuple[Callable[[str], object], ...]:
    """Every way to use a path."""
    return folder.read, folder.list_entries, lambda path: folder.write(path, b"x")


def descriptors() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("path", ["notes/plan.md", "./notes//plan.md", "notes/./plan.md"])
def test_a_file_is_found_by_its_path_from_the_folder(root: Path, path: str) -> None:
    assert Folder(root).read(path) == b"plan"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "notes/../../secret.txt",
        "notes/../notes/plan.md",
        "..",
        "./..",
        "notes/..",
        "/etc/passwd",
        "//etc/passwd",
        "{outside}/secret.txt",
        "plan\0.md",
        "plan\ud800.md",
    ],
)
def test_a_path_that_leads_out_or_is_none_is_refused_for_every_use(root: Path, path: str) -> None:
    for use in uses(Folder(root)):
        with pytest.raises(InvalidArguments):
            use(path.format(outside=root.parent))
    assert (root.parent / "secret.txt").read_text() == OUTSIDE


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("../secret.txt", "link"),
        ("{outside}/secret.txt", "link"),
        ("..", "link/secret.txt"),
        ("{outside}", "link/secret.txt"),
        ("/", "link/etc/passwd"),
        ("notes/plan.md", "link"),
        ("notes", "link/plan.md"),
        ("link", "link"),
        ("nowhere", "link"),
    ],
)
def test_no_symbolic_link_is_followed_wherever_it_leads(root: Path, target: str, path: str) -> None:
    (root / "link").symlink_to(target.format(outside=root.parent))
    folder = Folder(root)

    with pytest.raises(InvalidArguments, match="symbolic link"):
        folder.read(path)
    with pytest.raises(InvalidArguments, match="symbolic link"):
        folder.write(path, b"overwritten")
    assert (root.parent / "secret.txt").read_text() == OUTSIDE
    assert (root / "notes/plan.md").read_text() == "plan"
    assert not (root / "nowhere").exists()


def test_no_file_is_made_over_a_link_to_a_folder_outside(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "outside")

    for path in ("link/new.txt", "link/deeper/new.txt"):
        with pytest.raises(InvalidArguments):
            Folder(root).write(path, b"x")
    assert list((root.parent / "outside").iterdir()) == []


def test_a_folder_that_is_swapped_for_a_link_between_two_steps_leads_nowhere(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root.parent / "outside/plan.md").write_text(OUTSIDE)
    really_open = os.open

    def swap_then_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "notes":
            (root / "notes").rename(root / "moved")
            (root / "notes").symlink_to(root.parent / "outside")
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_then_open)

    with pytest.raises(InvalidArguments):
        Folder(root).read("notes/plan.md")


@pytest.mark.parametrize("swap", ["link", "pipe"])
def test_a_file_that_is_swapped_after_it_was_looked_at_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    really_open = os.open

    def swap_then_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "plan.md":
            (root / "notes/plan.md").unlink()
            if swap == "link":
                (root / "notes/plan.md").symlink_to(root.parent / "secret.txt")
            else:
                os.mkfifo(root / "notes/plan.md")
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap_then_open)

    with pytest.raises(InvalidArguments, match="link" if swap == "link" else "a pipe"):
        Folder(root).read("notes/plan.md")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [(os.mkfifo, "a pipe"), (make_socket, "a socket"), (os.mkdir, "a folder")],
)
def test_what_is_no_file_is_neither_read_nor_replaced(root: Path, make: Callable[[Path], None], kind: str) -> None:
    make(root / "it")

    with pytest.raises(InvalidArguments, match=f"is no file: it is {kind}"):
        Folder(root).read("it")
    with pytest.raises(InvalidArguments, match=f"is no file: it is {kind}"):
        Folder(root).write("it", b"x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_not_opened(root: Path) -> None:
    try:
        os.mknod(root / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except OSError:
        pytest.skip("no devices may be made here")

    with pytest.raises(InvalidArguments, match="a device"):
        Folder(root).read("zero")


@pytest.mark.parametrize("path", ["", ".", "notes/", "/", "./"])
def test_a_path_that_names_no_file_is_refused(root: Path, path: str) -> None:
    with pytest.raises(InvalidArguments):
        Folder(root).read(path)
    with pytest.raises(InvalidArguments):
        Folder(root).write(path, b"x")


@pytest.mark.parametrize("path", ["none.md", "none/none.md"])
def test_a_file_that_is_not_there_is_not_found(root: Path, path: str) -> None:
    with pytest.raises(NotFound, match=f"There is no '{path}'"):
        Folder(root).read(path)


def test_a_name_that_is_too_long_is_refused_in_words(root: Path) -> None:
    with pytest.raises(InvalidArguments, match="too long"):
        Folder(root).write("x" * 300, b"x")


def test_a_path_over_a_file_is_refused(root: Path) -> None:
    with pytest.raises(InvalidArguments, match="is no folder"):
        Folder(root).write("notes/plan.md/x", b"x")


def test_the_limit_of_a_file_holds_to_the_byte(root: Path) -> None:
    folder = Folder(root)

    assert folder.write("big", b"x" * FILE_MAX)
    assert len(folder.read("big")) == FILE_MAX
    with pytest.raises(InvalidArguments, match="5,000,001 bytes are too many"):
        folder.write("big", b"x" * (FILE_MAX + 1))
    (root / "big").write_bytes(b"x" * (FILE_MAX + 1))
    with pytest.raises(InvalidArguments, match="more than 5,000,000 bytes"):
        folder.read("big")


def test_a_sparse_file_of_a_terabyte_is_refused_and_not_loaded(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(InvalidArguments, match="more than"):
        Folder(root).read("huge")


def test_a_written_file_is_new_or_replaces_the_whole_of_the_old_one_and_keeps_its_mode(root: Path) -> None:
    (root / "notes/plan.md").chmod(0o640)
    folder = Folder(root)

    assert folder.write("deep/er/new.md", b"new")
    assert not folder.write("notes/plan.md", b"p")
    assert (root / "deep/er/new.md").read_bytes() == b"new"
    assert (root / "notes/plan.md").read_bytes() == b"p"
    assert stat.S_IMODE((root / "notes/plan.md").stat().st_mode) == 0o640


def test_a_file_that_somebody_reads_keeps_its_old_words_while_it_is_replaced(root: Path) -> None:
    with (root / "notes/plan.md").open() as reading:
        Folder(root).write("notes/plan.md", b"another")

        assert reading.read() == "plan"


def test_a_hard_link_to_a_file_outside_is_replaced_and_not_written_through(root: Path) -> None:
    (root / "hard").hardlink_to(root.parent / "secret.txt")

    Folder(root).write("hard", b"mine")

    assert (root.parent / "secret.txt").read_text() == OUTSIDE


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(root: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, limits[1]))
    try:
        with pytest.raises(InvalidArguments, match="File too large"):
            Folder(root).write("notes/plan.md", b"another")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert [path.name for path in (root / "notes").iterdir()] == ["plan.md"]
    assert (root / "notes/plan.md").read_text() == "plan"


def test_what_is_being_written_is_not_listed_and_cannot_be_written_to(root: Path) -> None:
    (root / f"{PART}0").write_text("half")

    assert [entry.name for entry in Folder(root).list_entries("")] == ["notes"]
    with pytest.raises(InvalidArguments):
        Folder(root).write(f"{PART}0", b"x")


def test_a_list_says_what_each_thing_is_in_the_order_of_names(root: Path) -> None:
    (root / "a.txt").write_text("four")
    (root / "link").symlink_to("/")
    os.mkfifo(root / "pipe")

    assert [(entry.name, entry.kind) for entry in Folder(root).list_entries(".")] == [
        ("a.txt", "file"),
        ("link", "a symbolic link, and those are not followed"),
        ("notes", "a folder"),
        ("pipe", "a pipe"),
    ]
    assert Folder(root).list_entries("notes")[0].size == 4


def test_no_descriptor_is_left_open_whatever_is_refused(root: Path) -> None:
    (root / "link").symlink_to("/")
    before = descriptors()

    for path in ("notes/plan.md", "none", "link/etc/passwd", "notes/plan.md/x", "..", "notes"):
        for use in uses(Folder(root)):
            with contextlib.suppress(InvalidArguments, NotFound):
                use(path)
    assert descriptors() == before


def test_a_folder_that_is_gone_is_said_to_be_gone(root: Path) -> None:
    with pytest.raises(NotFound, match="folder of this agent"):
        Folder(root / "gone").list_entries("")
