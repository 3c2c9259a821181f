"""The page as a browser fetches it: a few files, compressed, kept by their hash."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import httpx
import pytest

from kcrc.web.page_files import files, one_script


def addresses(html: str) -> set[str]:
    return set(re.findall(r'(?:href|src)="(/static/[^"]*)"', html))


def test_the_page_is_three_files_that_a_browser_may_keep(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["cache-control"] == "no-cache"
    named = addresses(page.text)
    assert sorted(re.sub(r"-\w{16}\.", ".", name) for name in named) == [
        "/static/icon.svg",
        "/static/page.css",
        "/static/page.js",
    ]
    for name in named:
        answer = client.get(name)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]


def test_what_a_browser_has_is_not_sent_again(client: httpx.Client) -> None:
    page = client.get("/")
    again = client.get("/", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/", headers={"If-None-Match": '"another"'}).status_code == 200


@pytest.mark.parametrize("address", ["/", "/static/app.js", "/api/openapi.json"])
def test_texts_are_compressed_for_those_who_read_that(client: httpx.Client, address: str) -> None:
    plain = client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    with client.stream("GET", address, headers={"Accept-Encoding": "gzip"}) as answer:
        sent = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "Accept-Encoding"
    assert int(answer.headers["content-length"]) == len(sent) < len(plain.content) / 1.5
    assert gzip.decompress(sent) == plain.content


def test_pictures_and_short_answers_are_sent_as_they_are(client: httpx.Client, sent: Callable[..., str]) -> None:
    for path in ("/api/health", "/api/thumbnails/1", f"/api/pictures/{sent()}"):
        assert "content-encoding" not in client.get(path).headers


def test_a_thumbnail_is_kept_while_its_address_stands_for_one_picture(client: httpx.Client) -> None:
    key = client.get("/api/gallery").json()["pictures"]
    kept = {of: client.get("/api/thumbnails/1", params={"of": of}).headers["cache-control"] for of in (key, "other")}
    assert kept == {key: "private, max-age=86400, immutable", "other": "private, max-age=600"}


def test_the_page_of_separate_modules_is_there_for_a_debugger(client: httpx.Client) -> None:
    page = client.get("/static/index.html").text
    assert '<script type="module" src="/static/app.js">' in page
    assert all(client.get(name).status_code == 200 for name in addresses(page))


def test_the_script_holds_every_module_once() -> None:
    script = next(file for name, file in files().items() if re.fullmatch(r"page-\w+\.js", name)).data.decode()
    modules = re.findall(r"^const (\w+_js) = \(\(\) => \{$", script, re.MULTILINE)
    assert len(modules) == len(set(modules)) > 20
    assert modules[-1] == "app_js"
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)


def test_modules_come_after_those_that_they_import() -> None:
    sources = {
        "a.js": 'import {\n  one,\n  two as other,\n} from "./b.js";\nimport * as c from "./c.js";\none(other, c.x);\n',
        "b.js": 'import { x } from "./c.js";\nexport function one() {}\nexport const two = x;\n',
        "c.js": "export class x {}\n",
        "not_used.js": "nothing();\n",
    }
    assert one_script(sources, "a.js") == (
        "const c_js = (() => {\nclass x {}\nreturn { x };\n})();\n"
        "const b_js = (() => {\nconst { x } = c_js;\nfunction one() {}\nconst two = x;\nreturn { one, two };\n})();\n"
        "const a_js = (() => {\nconst { one, two: other, } = b_js;\nconst c = c_js;\none(other, c.x);\n"
        "return {  };\n})();\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        'import b from "./b.js";\n',
        'import "./b.js";\n',
        "export let count = 0;\n",
        "export default 1;\n",
        'const b = await import("./b.js");\n',
    ],
)
def test_a_form_that_cannot_be_joined_is_an_error(source: str) -> None:
    with pytest.raises(ValueError, match="in a form that cannot be joined"):
        one_script({"a.js": source, "b.js": "\n"}, "a.js")


def test_a_circle_of_modules_is_an_error() -> None:
    sources = {"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}
    with pytest.raises(ValueError, match=r"in a circle: a\.js -> b\.js -> a\.js"):
        one_script(sources, "a.js")
