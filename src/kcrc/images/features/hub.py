"""An image encoder by its name on a model hub: ``hub:OWNER/NAME``, or ``hub:OWNER/NAME@REVISION``.

The hub is asked once, because the user named it: for the list of files at a revision, the ONNX file and the file that
says how pictures are prepared. What comes of it is the feature ``onnx`` over that very file: a gallery keeps its
SHA-256, the name and the commit, and needs neither the hub nor this module again. Nothing of the repository but numbers
is used; its code is not fetched. Needs the extra ``hub`` (huggingface_hub).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcrc._base.progress import bar_of_download
from kcrc.errors import DataError, ParameterError
from kcrc.files.plain_files import read_json, read_plain
from kcrc.images.features.onnx import Onnx
from kcrc.images.features.preparation import PREPARATION, prepared_by
from kcrc.images.network.onnx_runtime import LARGEST, first_line

PREFIX = "hub:"
USUAL = ("onnx/vision_model.onnx", "vision_model.onnx", "onnx/model.onnx", "model.onnx")
_PART = r"[A-Za-z0-9][\w.-]{0,95}"  # none begins with a dot: names become folders of a cache
_ADDRESS = re.compile(rf"hub:({_PART}/{_PART})(?:@({_PART}(?:/{_PART}){{0,4}}))?")
_LARGEST_TEXT = 1 << 20


@dataclass(frozen=True)
class Fetched:
    """What the hub gave: the ONNX file, its name there, how pictures are prepared (None where no file says so), the
    commit, and the SHA-256 of the ONNX file where the hub tells it."""

    network: Path
    file: str
    preparation: Mapping[str, Any] | None
    commit: str
    sha256: str | None


def from_hub(address: str, *, file: str | None = None, **options: Any) -> Onnx:
    """The feature that ``address`` names; ``file`` where the repository has several networks. Options of the feature
    ``onnx`` go before what the repository says."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ParameterError(f"An encoder is named hub:OWNER/NAME or hub:OWNER/NAME@REVISION; got {address!r}.")
    got = _fetched(found[1], found[2] or "main", file)
    source = f"{PREFIX}{found[1]}@{got.commit}/{got.file}"
    said = {**prepared_by(got.preparation, source), "pooling": "auto", "source": source}
    feature = Onnx(got.network, **{**said, **options})
    feature.check()
    if got.sha256 is not None and feature.sha256 != got.sha256:
        raise DataError(
            f"{source}: what was fetched is not what the hub describes (SHA-256 {feature.sha256[:12]}… in place of "
            f"{got.sha256[:12]}…). Delete it from the hub's cache and try again."
        )
    return feature


def _fetched(repository: str, revision: str, file: str | None) -> Fetched:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import huggingface_hub as hub
    except ImportError:
        raise ParameterError(
            f"{PREFIX}{repository} needs huggingface_hub, which is not installed. Install it: pip install 'kcrc[hub]'."
        ) from None
    endpoint, cache = os.environ.get("HF_ENDPOINT") or None, os.environ.get("HF_HUB_CACHE") or None
    token = _token(hub)
    there: dict[str, Any]
    try:
        about = hub.HfApi(endpoint=endpoint, token=token).model_info(repository, revision=revision, files_metadata=True)
        commit, there = str(about.sha), {str(sibling.rfilename): sibling for sibling in about.siblings or ()}
    except hub.errors.RepositoryNotFoundError:
        raise DataError(f"There is no repository {repository!r} on the hub, or you may not read it.") from None
    except hub.errors.RevisionNotFoundError:
        raise DataError(f"The repository {repository!r} has no revision {revision!r}.") from None
    except Exception as problem:  # no connection, in the many words of several libraries: is it here from before?
        commit, names = _from_before(hub, repository, revision, cache, token, problem)
        there = dict.fromkeys(names)
    network = _network_in(list(there), file, repository)

    def fetch(name: str, limit: int) -> Path:
        def stop(came: int) -> None:
            if came > limit:  # the file is longer than the hub said
                raise _TooLarge(f"has more than {limit} bytes")

        try:
            size = getattr(there[name], "size", None)
            if size is None and there[name] is not None:  # a list of files need not tell sizes: the file itself does
                url = hub.hf_hub_url(repository, name, revision=revision, endpoint=endpoint)
                size = hub.get_hf_file_metadata(url, token=token).size
                if size is None:
                    raise _TooLarge("has a size that the hub does not tell")
            if size is not None and size > limit:
                raise _TooLarge(f"has {size} bytes")
            # By the revision's own name, so that the cache knows which commit that was when there is no connection.
            place: dict[str, Any] = {"revision": revision, "cache_dir": cache, "endpoint": endpoint, "token": token}
            path = Path(hub.hf_hub_download(repository, name, **place | bar_of_download(hub, stop)))
        except _TooLarge as problem:
            raise DataError(f"{PREFIX}{repository}: {name} {problem}; at most {limit} are fetched.") from None
        except ParameterError:
            raise
        except Exception as problem:  # of several libraries, which share no base class
            raise DataError(f"{PREFIX}{repository}: {name} could not be fetched: {first_line(problem)}") from problem
        if commit not in path.parts:
            raise DataError(f"{PREFIX}{repository} was changed while it was fetched. Try again.")
        return path

    preparation: Any = None
    if PREPARATION in there:
        path = fetch(PREPARATION, _LARGEST_TEXT)
        try:
            preparation = read_json(read_plain(path, limit=_LARGEST_TEXT, what="preparation"))
        except ValueError:
            preparation = None
        if not isinstance(preparation, Mapping):
            raise DataError(f"{PREFIX}{repository}: its {PREPARATION} is not a table of settings in JSON.")
    digest = getattr(getattr(there[network], "lfs", None), "sha256", None)  # of small files the hub tells none
    return Fetched(fetch(network, LARGEST), network, preparation, commit, digest)


class _TooLarge(Exception):
    """Of a file on the hub: what is said of its size."""


def _token(hub: Any) -> bool | None:
    """None: the user's token, if there is one. False: no token, as the file of it is out of reach; the library ends
    then, even if the repository is open to all. It is so where the home folder is another user's, or /dev/null."""
    try:
        hub.get_token()
    except (NotADirectoryError, PermissionError):
        return False
    return None


def _from_before(
    hub: Any, repository: str, revision: str, cache: str | None, token: bool | None, problem: Exception
) -> tuple[str, Sequence[str]]:
    place: dict[str, Any] = {"revision": revision, "cache_dir": cache, "token": token}
    try:
        folder = Path(hub.snapshot_download(repository, local_files_only=True, **place))
    except Exception:  # of several libraries: it is not there, and what counts is why the hub could not be asked
        raise DataError(
            f"The hub could not be asked for {repository!r}, and it was not fetched before: {first_line(problem)}"
        ) from problem
    return folder.name, sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _network_in(names: Sequence[str], file: str | None, repository: str) -> str:
    there = sorted(name for name in names if name.endswith(".onnx"))
    if file is not None:
        if file not in there:
            raise ParameterError(f"{repository!r} has no file {file!r}. Its networks: {', '.join(there) or 'none'}.")
        return file
    for usual in USUAL:
        if usual in there:
            return usual
    if len(there) == 1:
        return there[0]
    if not there:
        raise DataError(
            f"{repository!r} has no ONNX file. Many encoders have one in a repository of their own; look for "
            f"'{repository.rpartition('/')[2]} ONNX' on the hub."
        )
    some = ", ".join(there[:20])
    raise ParameterError(f"{repository!r} has several networks: {some}. Choose one: --option file=NAME.")
