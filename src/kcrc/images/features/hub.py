"""An image encoder from a model hub: ``hub:OWNER/NAME``, or ``hub:OWNER/NAME@REVISION``.

The hub is contacted once, because the user named it: for the list of files at a revision, the ONNX file, and the file
that says how pictures are preprocessed. The result is the feature ``onnx`` with that file: a gallery stores its
SHA-256, the name and the commit, and needs neither the hub nor this module again. Only numbers of the repository are
used; its code is not fetched. Needs the extra ``hub`` (huggingface_hub).
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
from kcrc.images.features.preparation import PREPARATION, onnx_options
from kcrc.images.network.onnx_runtime import LARGEST, first_line

PREFIX = "hub:"
USUAL = ("onnx/vision_model.onnx", "vision_model.onnx", "onnx/model.onnx", "model.onnx")
_PART = r"[A-Za-z0-9][\w.-]{0,95}"  # no name begins with a dot, because names become folders of a cache
_ADDRESS = re.compile(rf"hub:({_PART}/{_PART})(?:@({_PART}(?:/{_PART}){{0,4}}))?")
_LARGEST_TEXT = 1 << 20


@dataclass(frozen=True)
class Fetched:
    """The files of a repository.

    ``network`` is the ONNX file, ``file`` its name on the hub, ``preparation`` how pictures are preprocessed (None if
    no file says so), and ``sha256`` the hash of the ONNX file if the hub gives it.
    """

    network: Path
    file: str
    preparation: Mapping[str, Any] | None
    commit: str
    sha256: str | None


def from_hub(address: str, *, file: str | None = None, **options: Any) -> Onnx:
    """Return the feature for an address; ``file`` selects one of several networks in the repository.

    Options of the feature ``onnx`` override those of the repository.
    """
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        raise ParameterError(
            f"The name of an encoder must be hub:OWNER/NAME or hub:OWNER/NAME@REVISION; got {address!r}."
        )
    fetched = _fetch_repository(parts[1], parts[2] or "main", file)
    source = f"{PREFIX}{parts[1]}@{fetched.commit}/{fetched.file}"
    defaults = {**onnx_options(fetched.preparation, source), "pooling": "auto", "source": source}
    feature = Onnx(fetched.network, **{**defaults, **options})
    feature.check()
    if fetched.sha256 is not None and feature.sha256 != fetched.sha256:
        raise DataError(
            f"{source}: the file must have the SHA-256 that the hub gives, {fetched.sha256[:12]}…; got "
            f"{feature.sha256[:12]}…. Delete it from the hub's cache and try again."
        )
    return feature


def _fetch_repository(repository: str, revision: str, file: str | None) -> Fetched:
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
    except Exception as problem:  # no connection, reported by one of several libraries: use the cache
        commit, names = _from_cache(hub, repository, revision, cache, token, problem)
        there = dict.fromkeys(names)
    network = _network_in(list(there), file, repository)

    def fetch(name: str, limit: int) -> Path:
        def stop(received: int) -> None:
            if received > limit:  # the file is longer than the hub said
                raise _TooLarge(f"has more than {limit} bytes")

        try:
            size = getattr(there[name], "size", None)
            if size is None and there[name] is not None:  # the list need not give sizes, so request the file's own
                url = hub.hf_hub_url(repository, name, revision=revision, endpoint=endpoint)
                size = hub.get_hf_file_metadata(url, token=token).size
                if size is None:
                    raise _TooLarge("has a size that the hub does not give")
            if size is not None and size > limit:
                raise _TooLarge(f"has {size} bytes")
            # With the revision's own name, so that the cache can find the commit without a connection.
            place: dict[str, Any] = {"revision": revision, "cache_dir": cache, "endpoint": endpoint, "token": token}
            path = Path(hub.hf_hub_download(repository, name, **place | bar_of_download(hub, stop)))
        except _TooLarge as problem:
            raise DataError(f"{PREFIX}{repository}: {name} {problem}; at most {limit} are fetched.") from None
        except ParameterError:
            raise
        except Exception as problem:  # from several libraries, which share no base class
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
            raise DataError(f"{PREFIX}{repository}: {PREPARATION} must be a JSON object of settings.")
    digest = getattr(getattr(there[network], "lfs", None), "sha256", None)  # the hub gives none for small files
    return Fetched(fetch(network, LARGEST), network, preparation, commit, digest)


class _TooLarge(Exception):
    """A file on the hub is too large; the message says how large."""


def _token(hub: Any) -> bool | None:
    """Return None to use the user's token if there is one, or False to use none.

    If the token's file cannot be reached (the home folder is another user's, or /dev/null), the library fails even for
    public repositories, unless it is given False.
    """
    try:
        hub.get_token()
    except (NotADirectoryError, PermissionError):
        return False
    return None


def _from_cache(
    hub: Any, repository: str, revision: str, cache: str | None, token: bool | None, problem: Exception
) -> tuple[str, Sequence[str]]:
    place: dict[str, Any] = {"revision": revision, "cache_dir": cache, "token": token}
    try:
        folder = Path(hub.snapshot_download(repository, local_files_only=True, **place))
    except Exception:  # from several libraries: it is not in the cache, so report why the hub failed
        raise DataError(
            f"The hub could not be reached for {repository!r}, and it is not in the cache: {first_line(problem)}"
        ) from problem
    return folder.name, sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _network_in(names: Sequence[str], file: str | None, repository: str) -> str:
    networks = sorted(name for name in names if name.endswith(".onnx"))
    if file is not None:
        if file not in networks:
            raise ParameterError(f"{repository!r} has no file {file!r}. Its networks: {', '.join(networks) or 'none'}.")
        return file
    for usual in USUAL:
        if usual in networks:
            return usual
    if len(networks) == 1:
        return networks[0]
    if not networks:
        raise DataError(
            f"{repository!r} has no ONNX file. Many encoders have one in a repository of their own; look for "
            f"'{repository.rpartition('/')[2]} ONNX' on the hub."
        )
    first = ", ".join(networks[:20])
    raise ParameterError(f"{repository!r} has several networks: {first}. Choose one: --option file=NAME.")
