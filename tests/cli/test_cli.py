"""The command line as a person meets it: results, messages and exit codes."""

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet
import pytest
import typer
from conftest import GOLDEN, Command, refused
from tiny import tiny_model, tiny_word_model

import polyseme
from polyseme.cli.main import app
from polyseme.embed.layers import LayerChoice
from polyseme.formats import native
from polyseme.formats.detect import bundled_names, open_model

TWO = GOLDEN / "allennlp" / "two_layers"
LINES = ["The river bank", "", "Yes", "漢字 and 😀"]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def expected(layers: object = "all") -> list[np.ndarray]:
    return polyseme.load(TWO).embed([line.split() for line in LINES], layers=layers)  # type: ignore[arg-type]


class TestEmbed:
    def test_h5(self, run: Command, lines: Path, tmp_path: Path) -> None:
        result = run("embed", lines, "-m", TWO, "-o", tmp_path / "out.h5")
        assert result.code == 0
        assert result.out == ""
        assert re.search(r"out\.h5: 4 sentences, 7 tokens, \d+\.\d seconds, \d+ tokens/s", result.err)
        with h5py.File(tmp_path / "out.h5") as file:
            assert json.loads(file["sentence_to_index"][0])["漢字 and 😀"] == "3"
            for number, wanted in enumerate(expected()):
                np.testing.assert_allclose(file[str(number)], wanted, atol=1e-6)

    def test_npz(self, run: Command, lines: Path, tmp_path: Path) -> None:
        run("embed", lines, "-m", TWO, "-o", tmp_path / "out.npz", "--layers", "1")
        with np.load(tmp_path / "out.npz") as stored:
            for number, wanted in enumerate(expected(1)):
                np.testing.assert_allclose(stored[str(number)], wanted, atol=1e-6)

    def test_parquet_a_row_a_token(self, run: Command, lines: Path, tmp_path: Path) -> None:
        run("embed", lines, "-m", TWO, "-o", tmp_path / "out.parquet", "--layers", "top", "--dtype", "float16")
        table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
        assert table["token"].to_pylist() == [token for line in LINES for token in line.split()]
        vectors = np.stack([np.array(value, dtype=np.float16) for value in table["vector"].to_pylist()])
        np.testing.assert_allclose(vectors, np.concatenate(expected("top")), atol=2e-3)

    def test_a_vector_a_sentence(self, run: Command, lines: Path, tmp_path: Path) -> None:
        run("embed", lines, "-m", TWO, "-o", tmp_path / "out.parquet", "--pool", "mean")
        table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
        wanted = polyseme.load(TWO).embed_sentences([line.split() for line in LINES])
        np.testing.assert_allclose(np.array(table["vector"].to_pylist()), wanted, atol=1e-6)

    def test_raw_text_folders_gz_and_other_formats(self, run: Command, tmp_path: Path) -> None:
        folder = tmp_path / "corpus"
        folder.mkdir()
        with gzip.open(folder / "a.txt.gz", "wt", encoding="utf-8") as file:
            file.write("The bank was closed. Nobody could say why!\n")
        (folder / "b.conllu").write_text("# sent_id = s1\n1\tYes\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
        (folder / "c.jsonl").write_text('{"id": "j", "tokens": ["No"]}\n')
        (folder / "d.fasta").write_text(">P1 a protein\nMKV\n")
        run("embed", folder, "-m", TWO, "-o", tmp_path / "out.parquet", "--tokenize", "en", "--layers", "top")
        table = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pydict()
        assert " ".join(table["token"]) == "The bank was closed . Nobody could say why ! Yes No M K V"
        assert table["name"][-5:] == ["s1", "j", "P1", "P1", "P1"]

    def test_standard_input(self, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The river bank\n")))
        result = run("embed", "-", "-m", TWO, "-o", tmp_path / "out.npz", "--json")
        facts = json.loads(result.out)
        assert (facts["sentences"], facts["tokens"], facts["dim"]) == (1, 3, 16)

    def test_replaced_characters_are_reported(self, run: Command, tmp_path: Path) -> None:
        (tmp_path / "bad.txt").write_bytes(b"fine\nThe \xff river\0 bank\n")
        result = run("embed", tmp_path / "bad.txt", "-m", TWO, "-o", tmp_path / "out.npz")
        assert result.code == 0
        assert "1 invalid UTF-8 sequence and 1 NUL replaced by U+FFFD, the first at" in result.err
        assert "bad.txt:2" in result.err

    def test_stateful(self, run: Command, lines: Path, tmp_path: Path) -> None:
        run("embed", lines, "-m", TWO, "-o", tmp_path / "out.npz", "--stateful", "--batch-size", "1")
        embedder = polyseme.load(TWO, stateful=True, batch_size=1)
        with np.load(tmp_path / "out.npz") as stored:
            for number, wanted in enumerate(embedder.embed([line.split() for line in LINES])):
                np.testing.assert_allclose(stored[str(number)], wanted, atol=1e-6)
            assert not np.allclose(stored["3"], expected()[3])

    def test_resume_after_kill(self, tmp_path: Path) -> None:
        """Killed after its first part, then run again: the result is that of an unbroken run."""
        sentences = [f"sentence {number} on the river bank" for number in range(8_000)]
        text = tmp_path / "text.txt"
        text.write_text("".join(f"{sentence}\n" for sentence in sentences))
        output, partial = tmp_path / "out.npz", tmp_path / "out.npz.partial"
        script = (
            "from polyseme.embed.writers import opening; opening.open_writer.__kwdefaults__['part_bytes'] = 1 << 18;"
            "from polyseme.cli.main import main; main()"
        )
        command = [sys.executable, "-c", script, "embed", str(text), "-m", str(TWO), "-o", str(output), "--resume"]
        command += ["--layers", "top", "--batch-tokens", "256"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while not (partial.is_dir() and any(partial.glob("part-*.bin"))):
            assert process.poll() is None
        process.kill()
        process.wait()
        assert not output.exists()
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "continuing after" in again.stderr
        chosen = range(0, len(sentences), 997)
        whole = polyseme.load(TWO).embed([sentences[number].split() for number in chosen], layers="top")
        with np.load(output) as stored:
            assert len(stored.files) == len(sentences)
            for number, wanted in zip(chosen, whole, strict=True):
                np.testing.assert_allclose(stored[str(number)], wanted, atol=1e-6)
        assert not partial.exists()

    def test_resume_notices_that_the_text_has_changed(self, run: Command, lines: Path, tmp_path: Path) -> None:
        output, partial = tmp_path / "out.npz", tmp_path / "out.npz.partial"
        arguments = ("embed", lines, "-m", TWO, "-o", output)
        run(*arguments)
        output.unlink()
        with pytest.MonkeyPatch.context() as patch:  # an interruption that leaves a part behind
            patch.setattr("polyseme.embed.writers.writer.VectorWriter._finish", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                run(*arguments)
        assert partial.is_dir()
        lines.write_text("another text\n")
        refused(run(*arguments, "--resume"), "text")
        assert not output.exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["-o", "out.csv"], "out.csv: the suffix is '.csv', expected one of .npz, .h5, .hdf5, .parquet"),
            (["-o", "out.npz", "--layers", "7"], "unknown layer 7; expected one of 0, 1, 2"),
            (["-o", "out.npz", "--layers", "last"], "unknown layer 'last'"),
            (
                ["-o", "out.npz", "--layers", "all", "--pool", "mean"],
                "one vector per sentence is made of one layer or mix",
            ),
            (["-o", "nowhere/out.npz"], "nowhere: no such folder to write out.npz into; create it first"),
            (["-o", "out.npz", "--stateful", "--resume"], "--resume cannot bring back the state"),
            (["-o", "out.npz", "-m", "missing"], "missing: no such file or folder"),
            (["-o", "out.npz", "--device", "toaster"], "device 'toaster'"),
        ],
    )
    def test_bad_arguments(
        self,
        run: Command,
        lines: Path,
        arguments: list[str],
        message: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        refused(run("embed", lines, *([] if "-m" in arguments else ["-m", TWO]), *arguments), message)
        assert [path.name for path in tmp_path.iterdir()] == ["lines.txt"]

    def test_bad_input(self, run: Command, tmp_path: Path) -> None:
        output = ("-m", TWO, "-o", tmp_path / "out.npz")
        (tmp_path / "empty.txt").touch()
        refused(run("embed", tmp_path / "empty.txt", *output), "empty.txt: no sentences")
        refused(run("embed", tmp_path / "no.txt", *output), "no.txt: no such file or folder")
        (tmp_path / "bad.jsonl").write_text('{"words": 3}\n')
        refused(run("embed", tmp_path / "bad.jsonl", *output), "bad.jsonl:1: ")
        (tmp_path / "junk.txt").write_bytes(bytes(range(128, 256)) * 20)
        refused(run("embed", tmp_path / "junk.txt", *output), "junk.txt: does not look like text")
        assert not (tmp_path / "out.npz").exists()
        assert not (tmp_path / "out.npz.partial").exists()

    def test_a_run_that_ends_at_bad_input_names_what_it_leaves(self, run: Command, tmp_path: Path) -> None:
        output = ("-m", TWO, "-o", tmp_path / "out.npz")
        (tmp_path / "blank.txt").write_text("\n" * 5000)
        refused(run("embed", tmp_path / "blank.txt", *output), "blank.txt: no sentences")
        assert not (tmp_path / "out.npz.partial").exists()
        (tmp_path / "late.jsonl").write_text('["a"]\n' * 5000 + "3\n")
        done = run("embed", tmp_path / "late.jsonl", *output)
        refused(done, "late.jsonl:5001: 3 where a list")
        refused(done, f"what was done before is in {tmp_path / 'out.npz.partial'}: delete this folder to")

    def test_a_pipe_cannot_be_resumed(self, run: Command, tmp_path: Path) -> None:
        refused(run("embed", "-", "-m", TWO, "-o", tmp_path / "out.npz", "--resume"), "standard input: is a pipe, and")

    def test_an_interrupt_says_how_to_continue(
        self, run: Command, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = polyseme.Embedder.stream

        def stopped(
            self: polyseme.Embedder, sentences: Iterable[list[str]], *, layers: LayerChoice
        ) -> Iterator[np.ndarray]:
            yield next(whole(self, sentences, layers=layers))
            raise KeyboardInterrupt

        arguments = ("embed", lines, "-m", TWO, "-o", tmp_path / "out.npz", "--resume")
        with monkeypatch.context() as patch:
            patch.setattr(polyseme.Embedder, "stream", stopped)
            result = run(*arguments)
        assert result.code == 130
        output = tmp_path / "out.npz"
        assert result.err.splitlines()[-1] == (
            f"polyseme: {output}: interrupted; 1 sentence stored in {output}.partial; continue with --resume"
        )
        continued = run(*arguments).err
        assert f"{output}: continuing after 1 sentence\n" in continued
        assert re.search(r"out\.npz: 3 sentences, 4 tokens, \d+\.\d seconds, ", continued)
        assert continued.endswith(", 4 sentences in all\n")
        output.unlink()
        assert "out.npz.partial: there is nothing to resume; starting from the beginning" in run(*arguments).err

    def test_an_output_among_the_input(self, run: Command, lines: Path, tmp_path: Path) -> None:
        refused(run("embed", tmp_path, "-m", TWO, "-o", tmp_path / "out.npz"), "where it would be read as text")

    def test_a_name_too_long_and_a_name_of_two_lines(self, run: Command, lines: Path, tmp_path: Path) -> None:
        refused(run("embed", lines, "-m", "x" * 300, "-o", tmp_path / "out.npz"), "x: File name too long")
        refused(run("embed", "x" * 300, "-m", TWO, "-o", tmp_path / "out.npz"), "x: File name too long")
        refused(run("embed", "two\nlines.txt", "-m", TWO, "-o", tmp_path / "out.npz"), "two lines.txt: no such file")

    def test_words_as_input_with_their_vocabulary_apart(self, run: Command, lines: Path, tmp_path: Path) -> None:
        native.write(tiny_word_model(), tmp_path / "words")
        arguments = ("embed", lines, "-m", tmp_path / "words", "-o", tmp_path / "out.npz")
        assert run(*arguments).code == 0
        refused(run(*arguments, "--vocabulary", lines), "carries its own vocabulary; leave it out")

    def test_an_existing_output(self, run: Command, lines: Path, tmp_path: Path) -> None:
        (tmp_path / "out.npz").write_text("precious")
        refused(run("embed", lines, "-m", TWO, "-o", tmp_path / "out.npz"), "out.npz: exists already")
        assert (tmp_path / "out.npz").read_text() == "precious"
        assert run("embed", lines, "-m", TWO, "-o", tmp_path / "out.npz", "--overwrite").code == 0

    def test_disk_full(self, lines: Path, tmp_path: Path) -> None:
        """A limit on the size of files stands for a full disk: what was stored stays, and the run resumes."""
        text = tmp_path / "many.txt"
        text.write_text("The river bank\n" * 20_000)
        output = tmp_path / "out.npz"
        script = (
            "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20));"
            "from polyseme.embed.writers import opening; opening.open_writer.__kwdefaults__['part_bytes'] = 1 << 20;"
            "from polyseme.cli.main import main; main()"
        )
        arguments = ["embed", str(text), "-m", str(TWO), "-o", str(output), "--layers", "top"]
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        found = re.search(r"after (\d+) sentences; they are safe in ", done.stderr)
        assert found is not None
        assert not output.exists()
        assert int(found[1]) > 1000
        again = [sys.executable, "-m", "polyseme", *arguments, "--resume", "--json"]
        rest = json.loads(subprocess.run(again, capture_output=True, text=True, check=True).stdout)
        assert (rest["sentences_before"], rest["sentences"]) == (int(found[1]), 20_000 - int(found[1]))
        with np.load(output) as stored:
            assert len(stored.files) == 20_000


class TestInfo:
    def test_text_and_json(self, run: Command) -> None:
        shown = run("info", TWO)
        assert shown.code == 0
        assert "bilm-hdf5" in shown.out
        facts = json.loads(run("info", TWO, "--json").out)
        assert (facts["command"], facts["layers"], facts["dim"], facts["parameters"]) == ("info", 3, 16, 11_972)
        assert run("info", TWO, "--csv").out.splitlines()[:3] == ["fact,value", "format,bilm-hdf5", "parameters,11972"]

    def test_without_a_model_it_names_those_in_the_box(self, run: Command) -> None:
        names = [one["model"] for one in json.loads(run("info", "--json").out)["results"]]
        assert names == bundled_names()
        lines = run("info").out.splitlines()
        assert lines[0].split() == ["model", "language", "about", "MB"]
        assert [line.split()[0] for line in lines[1:]] == names
        chinese = lines[1 + names.index("chinese-small")].split()
        assert (chinese[1], chinese[-1]) == ("Chinese", "13.5")
        assert "ELMo with 2 layers of 1,024 cells, vectors of 256 numbers, predicts 50,003 words" in lines[1]
        rows = run("info", "--csv").out.splitlines()
        assert rows[0] == "model,language,about,megabytes"
        assert [row.split(",")[0] for row in rows[1:]] == names

    def test_options_elsewhere(self, run: Command, tmp_path: Path) -> None:
        shutil.copy(TWO / "weights.hdf5", tmp_path)
        refused(run("info", tmp_path / "weights.hdf5"), "weights without options")
        assert run("info", tmp_path / "weights.hdf5", "--options", TWO / "options.json").code == 0

    @pytest.mark.parametrize("name", ["tf_checkpoint/model", "many_langs/words_and_characters"])
    def test_other_formats(self, run: Command, name: str) -> None:
        assert json.loads(run("info", GOLDEN / name, "--json").out)["layers"] == 3


class TestConvert:
    def test_there_and_back(self, run: Command, tmp_path: Path) -> None:
        there = run("convert", TWO, tmp_path / "native")
        assert (there.code, there.err) == (0, f"{tmp_path / 'native'}: written from {TWO}\n")
        facts = json.loads(run("info", tmp_path / "native", "--json").out)
        assert (facts["format"], facts["origin"]) == ("polyseme", "bilm-hdf5")
        back = run("convert", tmp_path / "native", tmp_path / "back", "--to", "hdf5")
        assert (back.code, back.err) == (0, f"{tmp_path / 'back'}: written from {tmp_path / 'native'}\n")
        assert "origin" not in json.loads(run("info", tmp_path / "back", "--json").out)
        assert open_model(tmp_path / "back").fingerprint() == open_model(TWO).fingerprint()

    def test_refusals(self, run: Command, tmp_path: Path) -> None:
        native.write(open_model(TWO), tmp_path / "native")
        refused(run("convert", TWO, tmp_path / "native"), "native: exists already")
        many = GOLDEN / "many_langs/words_and_characters"
        refused(run("convert", many, tmp_path / "no", "--to", "hdf5"), "only a model of byte characters")
        rounded = run("convert", TWO, tmp_path / "no", "--to", "hdf5", "--weights", "int8")
        refused(rounded, "HDF5 weights are float32, not int8; leave out --weights, or --to hdf5")
        assert not (tmp_path / "no").exists()

    def test_rounded_weights(self, run: Command, tmp_path: Path) -> None:
        assert run("convert", TWO, tmp_path / "small", "--weights", "bfloat16").code == 0
        assert open_model(tmp_path / "small").config == open_model(TWO).config

    def test_word_vectors(self, run: Command, tmp_path: Path) -> None:
        glove = tmp_path / "glove.txt"
        glove.write_text("the 0.5 -1\nat name@domain.com 2 3\n", encoding="utf-8")
        done = run("convert", glove, tmp_path / "glove", "--to", "vectors")
        assert (done.code, done.err) == (0, f"{tmp_path / 'glove'}: written, 2 words of 2 numbers\n")
        assert polyseme.StaticVectors.load(tmp_path / "glove").words == ("the", "at name@domain.com")
        wrong = run("convert", glove, tmp_path / "no", "--to", "vectors", "--weights", "int8", "--softmax", glove)
        refused(wrong, "word vectors have no --weights and no --softmax; leave it out, or --to vectors")


class TestMain:
    def test_version_and_help(self, run: Command) -> None:
        assert run("--version").out == f"polyseme {polyseme.__version__}\n"
        shown = run("--help").out
        for command in ("embed", "info", "convert"):
            assert command in shown
            page = run(command, "--help").out
            assert "Example: polyseme" in page

    def test_usage_errors(self, run: Command) -> None:
        refused(run("embed", "--frobnicate"), "No such option: --frobnicate")
        refused(run("embed", "a.txt", "-m", "m", "-o", "o.npz", "--pool", "median"), "'median' is not one of")
        refused(run("nonsense"), "No such command 'nonsense'")
        refused(run("train", "a.txt", "-o", "m", "--epochs", "ten"), "should be a whole number; got 'ten'; see ")

    def test_nothing_asked(self, run: Command) -> None:
        given = run()
        assert given.out.strip().startswith("Usage: ")
        assert (given.code, given.err) == (2, "")

    def test_help_is_shown_as_it_is_written(self, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        """Words in brackets are no colours, and <UNK> is no HTML."""
        monkeypatch.setenv("COLUMNS", "10000")

        def shown(text: str) -> str:
            return " ".join(text.replace("│", " ").replace("`", "").split())

        def check(command: Any, path: list[str]) -> None:
            page = shown(run(*path, "--help").out)
            params = command.get_params(typer.Context(command))
            texts = [*(command.help or "").split("\n\n"), *(getattr(param, "help", None) or "" for param in params)]
            for text in texts:
                assert shown(text) in page
            for name, inner in getattr(command, "commands", {}).items():
                check(inner, [*path, name])

        check(typer.main.get_command(app), [])

    def test_what_a_terminal_cannot_show_is_escaped(self, lines: Path, tmp_path: Path) -> None:
        native.write(tiny_model(), tmp_path / "model")
        done = subprocess.run(
            [sys.executable, "-m", "polyseme", "score", tmp_path / "model", lines],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert rb"\u6f22\u5b57" in done.stdout

    def test_does_not_wait_for_torch(self) -> None:
        """`polyseme --help` must answer at once, so nothing heavy may be imported on the way to it."""
        script = (
            "import sys; sys.argv = ['polyseme', '--help']\n"
            "from polyseme.cli.main import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "heavy = {'torch', 'numpy', 'h5py', 'pydantic', 'pyarrow', 'sklearn'} & set(sys.modules)\n"
            "sys.exit(str(heavy) if heavy else 0)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def test_as_a_module(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "polyseme", "--version"], capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith("polyseme ")

    def test_a_reader_that_leaves(self) -> None:
        script = f"'{sys.executable}' -m polyseme info '{TWO}' | true; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1)  # as the pipe was closed before or after the last line
        assert done.stderr == ""


def test_a_missing_model_says_which_there_are(run: Command, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    told = "Missing option '--model' / '-m'; give a bundled model (polyseme info lists them) or the path of another"
    refused(run("embed", tmp_path / "a.txt", "-o", tmp_path / "a.h5"), f"{told}; see ")
    assert "polyseme info" not in run("nearest").err


@pytest.mark.parametrize(("given", "used"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_of_a_command_sleep_unless_told_otherwise(
    run: Command, monkeypatch: pytest.MonkeyPatch, given: str | None, used: str
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", given or "")
    if given is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    assert run("--version").code == 0
    assert os.environ["OMP_WAIT_POLICY"] == used
