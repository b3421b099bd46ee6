from __future__ import annotations

from pathlib import Path

import pytest

from metagym.errors import BadInput, StoreError
from metagym.scaffold import FILES, Names, names_for, write_family


def test_names_follow_from_the_family() -> None:
    assert names_for("LampPost") == Names("LampPost", "lamp_post", "lamp_post", "metagym-lamp-post")
    assert [names_for(name).package for name in ("XMLMaze", "Maze2D", "A1")] == ["xml_maze", "maze_2_d", "a_1"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lamp", "a capital first"),
        ("Lamp-Post", "letters and digits"),
        ("", "letters and digits"),
        ("Größe", "letters and digits"),
        ("../Up", "letters and digits"),
        ("AlfWorld", "there is a family ALFWorld already"),
        ("Class", "a word of Python"),
        ("Match", "a word of Python"),
        ("Random", "would hide random"),
        ("Numpy", "would hide numpy"),
        ("Metagym", "would hide metagym"),
    ],
)
def test_unusable_names_are_refused_before_anything_is_written(name: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        names_for(name)


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x", encoding="utf-8")
    for folder in (tmp_path, tmp_path / "mine"):
        with pytest.raises(BadInput, match="is there already"):
            write_family(names_for("LampPost"), folder)
    assert [item.name for item in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(StoreError, match="cannot be written"):
        write_family(names_for("LampPost"), tmp_path / "mine" / "below")


def test_every_file_is_written_and_no_mark_of_a_template_is_left(tmp_path: Path) -> None:
    written = write_family(names_for("LampPost"), tmp_path / "new")
    assert len(written) == len(FILES) == sum(path.is_file() for path in (tmp_path / "new").rglob("*"))
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "{{" not in text and "}}" not in text
        if path.suffix == ".py":
            compile(text, str(path), "exec")
            assert max(map(len, text.splitlines())) <= 120
