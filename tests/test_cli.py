"""The command line: right values, and one plain line with exit status 2 for whatever is wrong."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec_core.cli import text as text_commands
from specdec_core.cli.main import main
from specdec_core.models.protocol import ModelUnavailable
from specdec_core.models.toy import toy_pair
from specdec_core.trace import trace_from_json

ROOT = Path(__file__).resolve().parent.parent
CASES = Path(__file__).parent / "data" / "cases"
WORKED = json.loads((CASES / "worked.json").read_text(encoding="utf-8"))
LAWS = json.loads((CASES / "laws.json").read_text(encoding="utf-8"))
PAIR = {"p": [0.1, 0.6, 0.3], "q": [0.5, 0.3, 0.2]}


class Ran:
    """What a command did."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def call(*arguments: str, stdin: str | bytes | None = None) -> Ran:
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogatepass")
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        status = main(arguments)
        return Ran(status, *capsys.readouterr())

    return call


def assert_refused(ran: Ran, *words: str) -> None:
    assert ran.status == 2 and ran.out == "", ran.out
    assert ran.err.endswith("\n") and ran.err.count("\n") == 1 and len(ran.err) < 700, ran.err
    assert "Traceback" not in ran.err and "usage:" not in ran.err
    for word in words:
        assert word in ran.err


# --- verify ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", WORKED, ids=lambda x: x["name"])
def test_worked_examples(run: Any, example: dict[str, Any]) -> None:
    found = run("verify", "-", stdin=json.dumps(example["case"])).json
    right = example["right"]
    assert [x["verdict"] for x in found["positions"]] == right["verdicts"]
    assert (found["n_a"], found["first_rejected"]) == (right["n_a"], right["first_rejected"])
    assert [x["ratio"] for x in found["positions"]] == pytest.approx(right["ratio"], rel=1e-12)
    assert found["tau"] == len(example["case"]["tokens"])
    assert found["next"] == {"source": "residual" if right["first_rejected"] else "bonus", "distribution": None}
    assert list(found["positions"][0]) == ["t", "token", "q", "p", "ratio", "accept_probability", "r", "verdict"]


def full_case(**changes: Any) -> dict[str, Any]:
    position = {"candidate": "a", "q": [0.5, 0.3, 0.2], "p": [0.1, 0.6, 0.3], "r": 0.3}
    return {
        "vocabulary": ["a", "b", "c"],
        "positions": [position | changes],
        "bonus": {"p": [0.2, 0.3, 0.5]},
    }


def test_a_full_case_has_the_residual_or_the_bonus(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text(json.dumps(full_case()))
    assert run("verify", str(file)).json["next"]["distribution"] == pytest.approx([0, 0.75, 0.25])
    file.write_text(json.dumps(full_case(r=0.2)))  # p/q = 0.2 exactly: a tie accepts
    found = run("verify", str(file)).json
    assert found["next"] == {"source": "bonus", "distribution": [0.2, 0.3, 0.5]}


def test_other_rules_can_judge(run: Any) -> None:
    case = json.dumps(full_case(r=0.9))
    assert run("verify", "-", "--rule", "always", stdin=case).json["n_a"] == 1
    found = run("verify", "-", "--rule", "fixed", "--threshold", "0.5", "--correction", "argmax", stdin=case).json
    assert found["next"] == {"source": "argmax", "distribution": [0.0, 1.0, 0.0]}


# --- law -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", LAWS, ids=lambda x: x["name"])
def test_laws(run: Any, example: dict[str, Any]) -> None:
    asked = ["--rule", example["rule"], "--correction", example["correction"]]
    if "threshold" in example:
        asked += ["--threshold", str(example["threshold"])]
    found = run("law", "-", *asked, stdin=json.dumps({"p": example["p"], "q": example["q"]})).json
    for name, right in example["right"].items():
        if name.startswith("kl") and right != "inf":
            assert found[name] == pytest.approx(right, abs=5e-5)  # four digits are given
        elif right == "inf":
            assert found[name] == "inf"
        else:
            assert found[name] == pytest.approx(right, abs=1e-12)
    assert list(found) == ["acceptance", "residual", "output", "tv", "kl_output_target", "kl_target_output"]


def test_where_p_is_q_the_residual_is_null(run: Any) -> None:
    found = run("law", "-", stdin='{"p": [0.5, 0.5], "q": [0.5, 0.5]}').json
    assert found["residual"] is None and found["acceptance"] == 1 and found["tv"] == 0


def test_typed_ties_fall_as_on_paper(run: Any) -> None:
    """0.07/0.1 is 0.7 on paper and a little less in floats."""
    found = run("law", "-", "--rule", "fixed", "--threshold", "0.7", stdin='{"p": [0.07, 0.93], "q": [0.1, 0.9]}').json
    assert found["acceptance"] == pytest.approx(1.0)


@pytest.mark.parametrize("rule", ["random", "fixed", "lenient", "ensemble", "always", "never"])
@pytest.mark.parametrize("correction", ["residual", "target", "argmax"])
def test_every_rule_and_correction(run: Any, rule: str, correction: str) -> None:
    found = run("law", "-", "--rule", rule, "--correction", correction, stdin=json.dumps(PAIR)).json
    assert sum(found["output"]) == pytest.approx(1.0)


# --- decode ----------------------------------------------------------------------------------------------------------


def toy(*more: str) -> list[str]:
    return ["decode", "--pair", "toy", "--prompt", "the cat", *more]


def test_decode_prints_the_text_and_writes_the_trace(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    ran = run(*toy("--max-new-tokens", "6", "--seed", "4", "--trace", str(file)))
    trace = trace_from_json(file.read_bytes())
    assert ran.status == 0 and ran.err == "" and ran.out == trace.text + "\n"
    assert trace.settings.seed == 4 and trace.settings.max_new_tokens == 6
    assert trace.text == toy_pair().tokenizer.decode([x.id for x in trace.emitted if x.id is not None])
    assert [x.name for x in tmp_path.iterdir()] == ["trace.json"]
    assert run(*toy("--max-new-tokens", "6", "--seed", "4")).out == ran.out


def test_decode_takes_every_setting(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    more = ["--tau=3", "--temperature=0.7", "--top-k=5", "--top-p=0.9", "--rule=fixed", "--threshold=0.25"]
    run(*toy(*more, "--correction=target", "--trace", str(file)))
    asked = trace_from_json(file.read_bytes()).settings
    assert (asked.tau, asked.temperature, asked.top_k, asked.top_p) == (3, 0.7, 5, 0.9)
    assert (asked.rule, asked.parameter, asked.correction) == ("fixed", 0.25, "target")


def test_models_list(run: Any) -> None:
    found = run("models", "list").json
    assert {"embedded", "toy", "gpt2", "smollm2", "qwen2.5"} <= {x["name"] for x in found["pairs"]}
    assert found["device"] and found["dtype"]


def test_models_install_says_what_went_wrong(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(progress: Any) -> Path:
        raise ModelUnavailable("There is no network.")

    monkeypatch.setattr(text_commands.embedded, "install", fail)
    assert_refused(run("models", "install"), "There is no network.")


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["command"]),
        (["bogus"], ["bogus"]),
        (["law"], ["CASE"]),
        (["law", "/no/such/file"], ["CASE", "/no/such/file"]),
        (["law", "."], ["CASE", "'.'"]),
        (["law", "a\0b"], ["CASE"]),
        (["verify", "-", "--rule", "dice"], ["rule", "dice"]),
        (["verify", "-", "--correction", "dice"], ["correction", "dice"]),
        (["law", "-", "--rule", "fixed", "--threshold", "2"], ["threshold", "2"]),
        (["law", "-", "--rule", "random", "--threshold", "-1"], ["threshold", "-1"]),
        (["law", "-", "--threshold", "nan"], ["threshold", "nan"]),
        (["law", "-", "--threshold", "half"], ["threshold", "half"]),
        (["models"], ["action"]),
        (["models", "eat"], ["eat"]),
        (["decode"], ["--prompt"]),
        (toy("--tau", "0"), ["tau", "0"]),
        (toy("--tau", "17"), ["tau", "17"]),
        (toy("--tau", "2.5"), ["tau", "2.5"]),
        (toy("--tau", "9" * 5000), ["tau"]),
        (toy("--max-new-tokens", "0"), ["max-new-tokens", "0"]),
        (toy("--max-new-tokens", "99999"), ["max-new-tokens", "99999"]),
        (toy("--temperature", "-1"), ["temperature", "-1"]),
        (toy("--temperature", "nan"), ["temperature", "nan"]),
        (toy("--temperature", "warm"), ["temperature", "warm"]),
        (toy("--top-k", "-3"), ["top-k", "-3"]),
        (toy("--top-p", "0"), ["top-p", "0"]),
        (toy("--top-p", "1.5"), ["top-p", "1.5"]),
        (toy("--seed", "-1"), ["seed", "-1"]),
        (toy("--seed", str(2**32)), ["seed", str(2**32)]),
        (toy("--rule", "dice"), ["rule", "dice"]),
        (toy("--trace", "/no/such/folder/t.json"), ["trace", "/no/such/folder/t.json"]),
        (toy("--trace", "."), ["trace"]),
        (toy("--bogus", "1"), ["--bogus"]),
        (["decode", "--pair", "nope", "--prompt", "x"], ["pair", "nope"]),
        (["decode", "--pair", "a::b", "--prompt", "x"], ["pair", "a::b", "SPECDEC_ALLOW_MODELS"]),
        (["decode", "--pair", "../../etc::/etc", "--prompt", "x"], ["pair", "SPECDEC_ALLOW_MODELS"]),
        (["decode", "--pair", "toy", "--prompt", ""], ["prompt", "empty"]),
        (["decode", "--pair", "toy", "--prompt", "dragon"], ["prompt", "dragon"]),
        (["decode", "--pair", "toy", "--prompt", "x\ny \u2028 z"], ["prompt"]),
        (["decode", "--pair", "toy", "--prompt", "\udcff"], ["prompt"]),
    ],
    ids=lambda x: " ".join(x)[:50].encode("unicode_escape").decode().replace("\0", "0") if isinstance(x, list) else "",
)
def test_bad_arguments(run: Any, arguments: list[str], words: list[str]) -> None:
    assert_refused(run(*arguments, stdin=json.dumps(PAIR)), *words)


@pytest.mark.parametrize(
    "stdin, words",
    [
        ("", ["JSON"]),
        ("{", ["JSON"]),
        ("[]", ["object"]),
        ("null", ["object"]),
        (b"\xff\xfe\x00", ["JSON"]),
        ("[" * 100_000, ["JSON"]),
        ('{"p": [0.5, 0.5]}', ["'q'"]),
        ('{"p": [0.5, 0.5], "q": [0.5, 0.4]}', ["q", "0.9"]),
        ('{"p": [0.5, 0.6], "q": [0.5, 0.5]}', ["p", "1.1"]),
        ('{"p": [1.5, -0.5], "q": [0.5, 0.5]}', ["p", "1.5"]),
        ('{"p": [NaN, 1], "q": [0.5, 0.5]}', ["NaN"]),
        ('{"p": [1e999, 1], "q": [0.5, 0.5]}', ["p", "inf"]),
        ('{"p": [0.5, 0.5], "q": [1]}', ["2", "1"]),
        ('{"p": [], "q": []}', ["p", "empty"]),
        ('{"p": "half", "q": [1]}', ["p", "half"]),
        ('{"p": [true, 0], "q": [1, 0]}', ["p", "True"]),
        ('{"p": ["0.5", 0.5], "q": [1, 0]}', ["p", "0.5"]),
        ('{"p": {"a": 1}, "q": [1]}', ["p"]),
        ('{"p": [1' + "0" * 400 + '], "q": [1]}', ["p"]),
        ('{"p": [1' + "0" * 5000 + '], "q": [1]}', []),
        (" " * 2_000_001, ["too big"]),
    ],
    ids=range(21),
)
def test_bad_laws(run: Any, stdin: str | bytes, words: list[str]) -> None:
    assert_refused(run("law", "-", stdin=stdin), *words)


@pytest.mark.parametrize(
    "case, words",
    [
        ({"tokens": ["a"], "q": [0], "p": [0.5], "r": [0.5]}, ["q", "0"]),
        ({"tokens": ["a"], "q": [1.5], "p": [0.5], "r": [0.5]}, ["q", "1.5"]),
        ({"tokens": ["a"], "q": [0.5], "p": [-0.1], "r": [0.5]}, ["p", "-0.1"]),
        ({"tokens": ["a"], "q": [0.5], "p": [0.5], "r": [2]}, ["r", "2"]),
        ({"tokens": ["a"], "q": [0.5], "p": [0.5], "r": [None]}, ["r", "None"]),
        ({"tokens": ["a", "b"], "q": [0.5], "p": [0.5, 0.5], "r": [0.5, 0.5]}, ["q", "1", "2"]),
        ({"tokens": [], "q": [], "p": [], "r": []}, ["tokens"]),
        ({"tokens": [7], "q": [0.5], "p": [0.5], "r": [0.5]}, ["token", "7"]),
        ({"tokens": ["a"], "q": [0.5], "p": [0.5]}, ["'r'"]),
        ({"tokens": ["a"], "q": [1e-320], "p": [1], "r": [1]}, ["q"]),
        (full_case(candidate="z"), ["candidate", "z"]),
        (full_case(q=[0.5, 0.5]), ["q", "2", "3"]),
        (full_case(q=[0, 0.5, 0.5]), ["q"]),
        (full_case(p=[0.5, 0.5, 0.5]), ["p", "1.5"]),
        (full_case(r="x"), ["r", "x"]),
        (full_case() | {"vocabulary": ["a", "a", "b"]}, ["vocabulary"]),
        (full_case() | {"bonus": {"p": [1, 1, 1]}}, ["bonus"]),
        (full_case() | {"bonus": 3}, ["bonus", "3"]),
        (full_case() | {"positions": [3]}, ["positions", "3"]),
        ({"positions": [], "vocabulary": ["a"]}, ["positions"]),
    ],
    ids=range(20),
)
def test_bad_cases(run: Any, case: dict[str, Any], words: list[str]) -> None:
    assert_refused(run("verify", "-", stdin=json.dumps(case)), *words)


NUMBERS = st.floats(allow_nan=True) | st.integers(-2, 2) | st.sampled_from([0.5, 0.25, 1.0])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["tokens", "q", "p", "r", "vocabulary", "positions", "bonus", "context", "title", "candidate"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.dictionaries(st.sampled_from(FIELDS), ANYTHING | st.lists(NUMBERS, max_size=3)) | ANYTHING)
def test_any_json_is_judged_or_refused(run: Any, data: Any) -> None:
    for command in ("verify", "law"):
        ran = run(command, "-", stdin=json.dumps(data))
        if ran.status:
            assert_refused(ran)
        else:
            json.loads(ran.out)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=st.binary(max_size=200) | st.text(max_size=200))
def test_anything_else_is_refused(run: Any, junk: bytes | str) -> None:
    for command in ("verify", "law"):
        ran = run(command, "-", stdin=junk)
        if ran.status:
            assert_refused(ran)


OPTIONS = ["--tau", "--max-new-tokens", "--temperature", "--top-k", "--top-p", "--seed", "--rule", "--threshold"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.dictionaries(
        st.sampled_from([*OPTIONS, "--correction", "--lenience", "--weight", "--prompt", "--pair"]),
        st.text(max_size=12) | st.integers(-5, 20).map(str) | st.floats(-1, 3).map(str),
        max_size=3,
    )
)
def test_any_options_decode_or_are_refused(run: Any, asked: dict[str, str]) -> None:
    options = {"--pair": "toy", "--prompt": "the cat"} | asked
    if options["--pair"] == "embedded":
        return
    ran = run("decode", *(f"{name}={value}" for name, value in options.items()))
    if ran.status:
        assert_refused(ran)


def test_a_failing_disk_leaves_nothing_behind(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    old = tmp_path / "trace.json"
    old.write_text("old")
    monkeypatch.setattr(text_commands.os, "replace", fail)
    assert_refused(run(*toy("--trace", str(old))), "No space left", "trace.json")
    assert [x.name for x in tmp_path.iterdir()] == ["trace.json"] and old.read_text() == "old"


def test_a_refused_decoding_writes_no_trace(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    assert_refused(run("decode", "--pair", "toy", "--prompt", "dragon", "--trace", str(file)))
    assert list(tmp_path.iterdir()) == []


# --- as a program ----------------------------------------------------------------------------------------------------


def program(*arguments: str, stdin: str = "", code: str = "") -> subprocess.CompletedProcess[str]:
    start = ["-c", code] if code else ["-m", "specdec_core"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        timeout=120,
    )


def test_the_program_itself() -> None:
    done = program("law", "-", stdin=json.dumps(PAIR))
    assert done.returncode == 0 and done.stderr == ""
    assert json.loads(done.stdout)["output"] == pytest.approx(PAIR["p"])
    done = program("verify", "-", stdin="{")
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1


def test_law_and_toys_load_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; from specdec_core.cli.main import main; status = main(sys.argv[1:]);"
        "print([m for m in ('torch', 'transformers', 'streamlit') if m in sys.modules], file=sys.stderr);"
        "sys.exit(status)"
    )
    for arguments in (["law", "-"], toy()):
        done = program(*arguments, stdin=json.dumps(PAIR), code=code)
        assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    case = json.dumps({"p": [1 / 8192] * 8192, "q": [1 / 8192] * 8192})
    command = f"'{sys.executable}' -m specdec_core law - | head -c 1"
    done = subprocess.run(["bash", "-c", command], input=case, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.stdout == "{" and done.stderr == ""
