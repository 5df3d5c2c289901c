"""Google Cloud Storage, as far as it speaks as S3 does: the server is moto's."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING

from bpefleet import train
from tests.acceptance.test_corpora import DOCUMENTS, lines, text
from tests.stores import serving

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_folder_of_a_google_bucket_is_listed_and_read(
    s3_server: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody signs in; the objects are such that everyone may read them."""
    account = {"gcs_base_url": s3_server, "disable_oauth": True}
    account |= dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
    (tmp_path / "account.json").write_text(json.dumps(account))
    environment.setenv("GOOGLE_SERVICE_ACCOUNT", str(tmp_path / "account.json"))
    serving.bucket(s3_server, name := "corpora")  # of letters: obstore writes others as escapes
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    (tmp_path / "corpus").mkdir()
    for file, data in (("a b.txt", text(DOCUMENTS)), ("c.jsonl", lines(DOCUMENTS))):
        (tmp_path / "corpus" / file).write_bytes(data)
        url = f"{s3_server}/{name}/corpus/{file.replace(' ', '%20')}"
        headers = {"x-amz-acl": "public-read", "Content-Type": "application/octet-stream"}
        opener.open(urllib.request.Request(url, data, headers, method="PUT")).close()  # noqa: S310

    found: list[bytes] = []
    for source in (f"gs://{name}/corpus", str(tmp_path / "corpus")):
        out = tmp_path / f"out-{len(found)}"
        train(source, vocab_size=600, out=out, workers=0, chunk_size=100_000)
        found.append((out / "tokenizer.tiktoken").read_bytes())

    assert found[0] == found[1]
