"""A folder is cleaned of unfinished files when it is locked."""

from zoo.storage.lock import folder_lock


def test_unfinished_files_are_deleted_and_links_not_followed(tmp_path):
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    (folder / "a.part").mkdir(parents=True)
    (folder / "a.part" / "b").touch()
    (folder / "c.part").touch()
    (folder / "kept").touch()
    elsewhere.mkdir()
    (elsewhere / "mine.part").touch()
    (folder / "d.part").symlink_to(elsewhere, target_is_directory=True)
    (folder / "e.part").symlink_to(tmp_path / "missing")
    (folder / "link").symlink_to(elsewhere, target_is_directory=True)
    with folder_lock(folder):
        assert sorted(path.name for path in folder.iterdir() if "lock" not in path.name) == ["kept", "link"]
    assert (elsewhere / "mine.part").exists()
