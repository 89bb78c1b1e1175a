import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from polyseme.errors import InputError
from recipes.archive import read_members
from recipes.fetch import fetch, verify
from recipes.sources import Source, load_recipe, recipe_names


def source(content: bytes, **changes: object) -> Source:
    values: dict[str, object] = {
        "name": "tales",
        "registry": "pypi",
        "package": "old-tales",
        "version": "1.0",
        "file": "old-tales-1.0.tar.gz",
        "sha256": hashlib.sha256(content).hexdigest(),
        "members": ("*.txt",),
        "reader": "plain",
        "licence": "CC0",
        "what": "Tales.",
    }
    return Source(**(values | changes))  # type: ignore[arg-type]


def tar(path: Path, files: dict[str, bytes], *, link: str | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if link:
            info = tarfile.TarInfo("tales/link.txt")
            info.type, info.linkname = tarfile.SYMTYPE, link
            archive.addfile(info)
    return path


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_an_archive_already_there_is_used_without_a_network(tmp_path: Path) -> None:
    (tmp_path / "old-tales-1.0.tar.gz").write_bytes(b"as pinned")
    assert fetch(source(b"as pinned"), tmp_path).read_bytes() == b"as pinned"


def test_a_wrong_checksum_names_package_and_both_sums(tmp_path: Path) -> None:
    path = tmp_path / "old-tales-1.0.tar.gz"
    path.write_bytes(b"tampered")
    wrong, right = (hashlib.sha256(content).hexdigest() for content in (b"tampered", b"as pinned"))
    message = f"old-tales 1.0: old-tales-1.0.tar.gz has SHA-256 {wrong}, expected {right}; delete it"
    with pytest.raises(InputError, match=message):
        verify(path, source(b"as pinned"))


@pytest.mark.parametrize("got", [b"as pinned", b"tampered"])
def test_what_the_index_delivers_is_kept_only_if_it_is_what_was_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, got: bytes
) -> None:
    page = tmp_path / "index" / "old-tales"
    page.mkdir(parents=True)
    (page / "old-tales-1.0.tar.gz").write_bytes(got)
    (page / "index.html").write_text('<a href="./old-tales-1.0.tar.gz#sha256=0">old-tales-1.0.tar.gz</a>')

    def opened(address: str, **options: object) -> io.BufferedReader:
        path = Path(address.removeprefix("file://").partition("#")[0])
        return (path / "index.html" if path.is_dir() else path).open("rb")

    monkeypatch.setenv("PIP_INDEX_URL", f"file://{tmp_path}/index")
    monkeypatch.delenv("PIP_CERT", raising=False)
    monkeypatch.setattr("recipes.fetch._certificate", lambda: None)
    monkeypatch.setattr("urllib.request.urlopen", opened)
    folder = tmp_path / "downloads"
    if got == b"as pinned":
        assert fetch(source(b"as pinned"), folder).read_bytes() == got
    else:
        with pytest.raises(InputError, match=r"old-tales 1\.0: .*, expected "):
            fetch(source(b"as pinned"), folder)
        assert list(folder.iterdir()) == []
    with pytest.raises(InputError, match=r"lists 1 files but not other\.zip"):
        fetch(source(b"", file="other.zip"), folder)


def test_members_are_read_in_place_and_never_written(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_text("not part of the archive")
    path = tar(inside / "a.tar.gz", {"../escaped.txt": b"x", "/tmp/root.txt": b"y"}, link=str(secret))
    assert dict(read_members(path, ["*.txt"])) == {"../escaped.txt": b"x", "/tmp/root.txt": b"y"}
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.tar.gz", "inside", "secret.txt"]


def test_a_zip_inside_a_wheel_and_gzip_members_are_opened(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "a.whl"
    path.write_bytes(zipped({"d/news.zip": zipped({"news.csv": b"text\nhi\n"}), "d/t.gz": gzip.compress(b"raw")}))
    assert list(read_members(path, ["d/*"])) == [("d/news.zip/news.csv", b"text\nhi\n"), ("d/t.gz", b"raw")]
    assert list(read_members(path, ["d/*"], leave_out=["*.zip"])) == [("d/t.gz", b"raw")]


def test_the_files_of_a_debian_package_are_read(tmp_path: Path) -> None:
    data = tar(tmp_path / "data.tar.gz", {"./usr/share/doc/a.txt": b"text"}).read_bytes()
    parts = {"debian-binary": b"2.0\n", "control.tar.gz": b"odd", "data.tar.gz": data}
    package = b"!<arch>\n"
    for name, content in parts.items():
        package += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        package += b"\n" * (len(content) % 2)
    path = tmp_path / "a.deb"
    path.write_bytes(package)
    assert list(read_members(path, ["./usr/*"])) == [("./usr/share/doc/a.txt", b"text")]
    path.write_bytes(package[: package.index(b"data.tar")])
    with pytest.raises(
        InputError, match=r"a\.deb: neither a tar nor a zip archive: a Debian package without data\.tar"
    ):
        list(read_members(path, ["./usr/*"]))


def test_a_pattern_without_a_member_and_no_archive_are_named(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar.gz", {"a.txt": b""})
    with pytest.raises(InputError, match=r"a\.tar\.gz: no member matches b/\*; correct sources\.toml"):
        list(read_members(path, ["*.txt", "b/*"]))
    (tmp_path / "b.tar.gz").write_bytes(b"no archive at all")
    with pytest.raises(InputError, match=r"b\.tar\.gz: neither a tar nor a zip archive"):
        list(read_members(tmp_path / "b.tar.gz", ["*"]))


def test_the_recipes_are_well_formed() -> None:
    from recipes.readers import READERS

    assert recipe_names() == ["chinese-small", "cove-en-es", "english-small"]
    for name in recipe_names():
        recipe = load_recipe(name)
        assert len({entry.name for entry in recipe.sources}) == len(recipe.sources)
        for entry in recipe.sources:
            assert entry.reader in READERS
            assert len(entry.sha256) == 64
            assert entry.kind is not None
            # The plots of NarrativeQA's test part are Wikipedia articles; nothing here is measured on them.
            names = [Path(member).name for member in entry.members if entry.name != "plots"]
            assert not any("test" in name or "valid" in name for name in names)
            assert entry.needs is None or entry.needs in {table.name for table in recipe.tables}
    with pytest.raises(InputError, match="no recipe 'klingon'; choose one of chinese-small, cove-en-es, english-small"):
        load_recipe("klingon")


def test_lists_of_debian_packages_are_renewed_on_a_new_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An apt-get of which the lists are empty until they are updated."""
    tools = tmp_path / "tools"
    tools.mkdir()
    script = tools / "apt-get"
    script.write_text(
        f"#!/bin/sh\nif [ $1 = update ]; then touch {tmp_path}/lists; exit 0; fi\n"
        f"[ -e {tmp_path}/lists ] || {{ echo \"E: Version '1.0' for 'old-tales' was not found\" >&2; exit 100; }}\n"
        "[ $2 = old-tales=1.0 ] && printf pinned > old-tales_1.0_all.deb\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    wanted = source(b"pinned", registry="debian", file="old-tales_1.0_all.deb")
    assert fetch(wanted, tmp_path / "archives").read_bytes() == b"pinned"
