"""The classroom's small parts, without a database: keys, codes, seeds, settings, CSV cells, the command line."""

import csv
import io
import os
import re
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.classroom import AnswerRow, ClassroomError, Grade, Settings, codes, export, keys
from specdec_core.classroom.turns import Turns

REPO = Path(__file__).resolve().parent.parent


# -- keys ----------------------------------------------------------------------------------------------------------


def test_a_key_opens_only_its_own_hash() -> None:
    stored = keys.parse_hash(keys.make_hash("correct horse battery"))
    assert stored is not None and stored.cost >= 2**15
    assert keys.matches("correct horse battery", stored) and keys.matches(" correct horse battery\n", stored)
    for wrong in ("", "correct horse batterY", "correct horse", "x" * 10_000, "\0", "\ud800"):
        assert not keys.matches(wrong, stored)


def test_two_hashes_of_one_key_differ_and_hold_nothing_a_shell_expands() -> None:
    one, two = keys.make_hash("correct horse battery"), keys.make_hash("correct horse battery")
    assert one != two and re.fullmatch(r"[\w:=-]+", one)


def test_an_accent_is_the_same_key_however_it_was_typed() -> None:
    stored = keys.parse_hash(keys.make_hash("caf\u00e9 au lait noir", cost=2**10))
    assert stored is not None and keys.matches("cafe\u0301 au lait noir", stored)


@pytest.mark.parametrize("key", ["", "short", " " * 20, "x" * 257])
def test_keys_that_are_refused(key: str) -> None:
    with pytest.raises(ClassroomError, match="12 to 256 characters"):
        keys.make_hash(key)


def test_what_is_no_hash() -> None:
    good = keys.make_hash("correct horse battery", cost=2**10)
    _, cost, block, lanes, salt, digest = good.split(":")
    broken = [
        "",
        "correct horse battery",
        good[:-8],
        good + ":x",
        good.replace("scrypt", "md5"),
        f"scrypt:{2**30}:{block}:{lanes}:{salt}:{digest}",
        f"scrypt:1000:{block}:{lanes}:{salt}:{digest}",
        f"scrypt:{cost}:{block}:{lanes}::{digest}",
        f"scrypt:{cost}:x:{lanes}:{salt}:{digest}",
        f"scrypt:{cost}:{block}:{lanes}:{salt}:!!!!",
    ]
    assert [text for text in broken if keys.parse_hash(text)] == []


def _shell(*arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "specdec_core.classroom", *arguments]
    environ = os.environ | {"PYTHONPATH": str(REPO)}
    return subprocess.run(command, input=typed, capture_output=True, text=True, timeout=60, env=environ)


def test_the_command_makes_a_key_that_works() -> None:
    done = _shell("key", "--generate")
    key = done.stderr.split(": ")[1].strip()
    stored = keys.parse_hash(done.stdout.strip().removeprefix("SPECDEC_TEACHER_KEY_HASH="))
    assert done.returncode == 0 and stored is not None and keys.matches(key, stored)


def test_the_command_refuses_a_short_key_in_one_line() -> None:
    done = _shell("key", typed="short\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "A teacher key has 12 to 256 characters.\n"


# -- turns ---------------------------------------------------------------------------------------------------------


def test_turns_go_in_order_of_arrival() -> None:
    turns, order, threads = Turns(), [], []
    assert turns.acquire(0)

    def wait(number: int) -> None:
        assert turns.acquire(20)
        order.append(number)
        turns.release()

    for number in range(8):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while len(turns._waiting) <= number:
            time.sleep(0.001)
    assert not turns.acquire(0.01)  # gives up, and leaves the queue
    turns.release()
    for thread in threads:
        thread.join()
    assert order == list(range(8)) and turns.acquire(0)


# -- codes and seeds -----------------------------------------------------------------------------------------------


def test_a_code_cannot_be_guessed() -> None:
    assert codes.CODE_BITS >= 50
    assert not set("01258BILOQSUVZAEIOU") & set(codes.ALPHABET)
    drawn = {codes.new_code() for _ in range(2000)}
    assert len(drawn) == 2000 and set("".join(drawn)) == set(codes.ALPHABET)


def test_shown_codes_are_read_back() -> None:
    code = codes.new_code()
    assert re.fullmatch(r"\w{4}-\w{4}-\w{4}", codes.show_code(code))
    assert codes.read_code(codes.show_code(code)) == code


@given(st.text(max_size=40))
def test_any_text_may_be_typed_as_a_code(typed: str) -> None:
    code = codes.read_code(typed)
    assert code is None or (len(code) == codes.CODE_LENGTH and set(code) <= set(codes.ALPHABET))


def test_seeds_are_stable_and_apart() -> None:
    """The first is pinned: a changed derivation would give a class other questions in the middle of a lesson."""
    secret = bytes(range(32))
    assert codes.variant_seed(secret, "ada", 0, 1) == 67669922778805
    many = {codes.variant_seed(secret, who, q, a) for who in ("", "ada", "bob") for q in range(50) for a in range(1, 5)}
    assert len(many) == 600
    assert codes.variant_seed(bytes(32), "ada", 0, 1) != codes.variant_seed(secret, "ada", 0, 1)
    assert codes.variant_seed(secret, "ada", 0, 1, 7) != codes.variant_seed(secret, "ada", 0, 1, 8)


# -- settings ------------------------------------------------------------------------------------------------------


def test_settings_by_default(tmp_path: Path) -> None:
    settings = Settings.from_environment({"HOME": str(tmp_path)})
    assert settings.data_folder == tmp_path / ".local/share/specdec"
    assert settings.url == f"sqlite:///{tmp_path}/.local/share/specdec/classroom.sqlite3"
    assert (settings.retention_days, settings.teacher_key_hash, settings.is_postgresql) == (180, "", False)
    assert Settings.from_environment({"XDG_DATA_HOME": "/x"}).data_folder == Path("/x/specdec")
    assert list(tmp_path.iterdir()) == []  # reading settings creates nothing


@pytest.mark.parametrize("start", ["postgres://", "postgresql://", "postgresql+psycopg://"])
def test_a_postgresql_address(start: str) -> None:
    settings = Settings.from_environment({"HOME": "/x", "SPECDEC_DATABASE_URL": f"{start}me:secret@host/db"})
    assert settings.url == "postgresql+psycopg://me:secret@host/db" and settings.is_postgresql
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPECDEC_DATABASE_URL", "mysql://me:secret@host/db"),
        ("SPECDEC_RETENTION_DAYS", "soon"),
        ("SPECDEC_RETENTION_DAYS", "-1"),
        ("SPECDEC_RETENTION_DAYS", "1.5"),
        ("SPECDEC_RETENTION_DAYS", "999999"),
    ],
)
def test_wrong_settings_are_named(name: str, value: str) -> None:
    with pytest.raises(ClassroomError, match=name) as caught:
        Settings.from_environment({"HOME": "/x", name: value})
    assert "secret" not in str(caught.value)


def test_a_user_without_a_home() -> None:
    with pytest.raises(ClassroomError, match="SPECDEC_DATA"):
        Settings.from_environment({})


# -- CSV -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        " =1+1",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        "x;=1+1",
        "x,=1+1",
        'x"=1+1',
        "x\t=1+1",
        "-2+3+cmd|' /C calc'!A0",
        "\uff1d1+1",
        "\uff201",
        "+49 123",
        "-",
    ],
)
def test_formulas_are_defused(typed: str) -> None:
    cell = export.safe_cell(typed)
    assert cell != typed and cell.replace("'", "") == typed.replace("'", "")
    for piece in re.split(r'[;,"\t\r\n|]', cell):
        assert not re.match(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]", piece)


@pytest.mark.parametrize("kept", ["Ada", "李明", "a-b", "a=b", "-1.5", "+3", "-2e-05", "[-1, 2]", '{"x": -1}', "a@b.c"])
def test_harmless_text_is_kept(kept: str) -> None:
    assert export.safe_cell(kept) == kept


@given(st.text(alphabet=st.sampled_from("=+-@;, \t\"'1.aé\uff1d]"), max_size=12))
def test_no_cell_begins_like_a_formula(typed: str) -> None:
    """Whatever a spreadsheet takes for the separator, a piece that begins like a formula is a plain number."""
    for piece in re.split(r"[;,\t\"]", export.safe_cell(typed)):
        if re.match(r"\s*[=+\-@\uff1d]", piece):
            assert re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\].*|\s*[+-]?\d+(\.\d+)?", piece)


def _rows(name: str, answers: object) -> list[AnswerRow]:
    return [AnswerRow(1, name, 0, 1, True, answers, Grade(1.5, 2.0), datetime(2030, 1, 7, 9, tzinfo=UTC))]


def test_csv_reads_back() -> None:
    name = 'A "quoted"; name,\u674e'
    data = export.answers_csv(_rows(name, {"ratio": "0,75"}), bom=True)
    assert data.startswith(b"\xef\xbb\xbf")
    head, row = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    cells = dict(zip(head, row, strict=True))
    assert (cells["name"], cells["score"], cells["max"], cells["question"]) == (name, "1.5", "2", "1")
    assert (cells["answers"], cells["utc"]) == ('{"ratio": "0,75"}', "2030-01-07 09:00:00")


def test_csv_survives_what_utf_8_does_not() -> None:
    data = export.answers_csv(_rows("x", "\ud800\0"), bom=False)
    assert not data.startswith(b"\xef\xbb\xbf") and data.decode()
