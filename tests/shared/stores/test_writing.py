"""Objects are written, found, read and removed; here in memory, through fsspec."""

from __future__ import annotations

import pytest

from bpefleet.shared.errors import SourceChangedError, SourceError, UsageError
from bpefleet.shared.stores.listing import found
from bpefleet.shared.stores.reading.remote_file import RemoteFile
from bpefleet.shared.stores.writing import delete, put


def test_an_object_is_there_or_not() -> None:
    url = "memory://writing/a/b.txt"
    put(url, b"one")
    put(url, b"two")
    with RemoteFile(url) as file:
        assert (file.size, file.pread(10, 1)) == (3, b"wo")
    assert [each.location.url for each in found("memory://writing")[0]] == [url]
    delete(url)
    delete(url)
    with RemoteFile(url) as file, pytest.raises(SourceError, match="no such object"):
        file.pread(1, 0)


def test_one_that_was_replaced_is_not_read() -> None:
    url = "memory://writing/c.txt"
    put(url, b"one")
    ((entry,), alone) = found(url)
    assert alone
    put(url, b"two")
    with RemoteFile(url, entry.version, entry.size) as file, pytest.raises(SourceChangedError):
        file.pread(1, 0)


def test_nothing_is_written_to_a_web_server() -> None:
    with pytest.raises(UsageError, match="web servers"):
        put("http://127.0.0.1/a", b"")
