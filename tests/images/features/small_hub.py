"""A model hub on the loopback address, as small as one can be: a list of files at a commit, and the files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "a" * 40


class SmallHub:
    """``repositories``: name -> file -> content. ``asked`` are the paths it was asked for; ``lies`` (file -> size and
    SHA-256) is what it says of files whatever they are; it sends ``endless`` files in pieces, without a length, and
    ``sent`` is how many bytes of files it got rid of."""

    def __init__(self, repositories: dict[str, dict[str, bytes]]) -> None:
        self.asked: list[str] = []
        self.lies: dict[str, dict[str, Any]] = {}
        self.endless: set[str] = set()
        self.sent = 0
        self.repositories = repositories
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.do_GET(body=False)

            def do_GET(self, body=True):
                hub.asked.append(self.path)
                path = self.path.split("?")[0]
                for name, files in repositories.items():
                    if path.startswith(f"/api/models/{name}"):
                        told = {
                            "id": name,
                            "modelId": name,
                            "sha": COMMIT,
                            "siblings": [hub.described(f, content) for f, content in files.items()],
                        }
                        revision = path.rpartition("/revision/")[2] if "/revision/" in path else "main"
                        if revision not in ("main", COMMIT):
                            return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, body)
                        return self.answer(200, json.dumps(told).encode(), {"Content-Type": "application/json"}, body)
                    for file, content in files.items():
                        if path in (f"/{name}/resolve/{COMMIT}/{file}", f"/{name}/resolve/main/{file}"):
                            etag = hashlib.sha256(content).hexdigest()
                            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}
                            if body and file in hub.endless:
                                return self.answer_in_pieces(content, headers)
                            if not body and "head" in hub.lies.get(file, {}):
                                headers["X-Linked-Size"] = str(hub.lies[file]["head"])
                            return self.answer(200, content, headers, body)
                return self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"}, body)

            def answer_in_pieces(self, content, headers):
                self.send_response(200)
                for key, value in {**headers, "Transfer-Encoding": "chunked"}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.close_connection = True
                with contextlib.suppress(OSError):  # whoever has enough goes away
                    for start in range(0, len(content), 1 << 16):
                        piece = content[start : start + (1 << 16)]
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                        hub.sent += len(piece)
                    self.wfile.write(b"0\r\n\r\n")

            def answer(self, code, content, headers, body):
                self.send_response(code)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if body:
                    self.wfile.write(content)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def described(self, file: str, content: bytes) -> dict[str, Any]:
        told = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **self.lies.get(file, {})}
        return {"rfilename": file, "size": told["size"], "lfs": {**told, "pointerSize": 130}}

    def __enter__(self) -> SmallHub:
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
