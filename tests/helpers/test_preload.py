"""Finding an allocator to preload."""

import pytest

from helpers import preload


def test_the_first_usual_place_wins(tmp_path, monkeypatch):
    library = tmp_path / "libtcmalloc.so.4"
    library.touch()
    monkeypatch.setattr(preload, "FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    assert preload.find("tcmalloc") == str(library)


def test_a_missing_library_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(preload, "FOLDERS", ())
    monkeypatch.setattr(preload.ctypes.util, "find_library", lambda name: None)
    with pytest.raises(preload.MissingLibrary, match=r"apt-get install .*gperftools"):
        preload.find("tcmalloc")


def test_an_unknown_allocator_is_an_error():
    with pytest.raises(ValueError, match="jemalloc"):
        preload.find("mimalloc")
