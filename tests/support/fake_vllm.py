"""A process that speaks as much of vLLM's protocol as the supervisor asks for, and misbehaves on demand.

    python tests/support/fake_vllm.py --port 8000 [--mode raw_logprobs] [--no-dev] [--die-at-start] [--child] ...

``/v1/chat/completions`` answers ``v<N>`` and ``/v1/completions`` the token ``N``, where N counts the weight updates
that ``/update_weights`` brought: so a test sees which policy answered.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_CHILD = "import os, time; os.setsid(); print('child', os.getpid(), flush=True); time.sleep(600)"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--mode", default="processed_logprobs")
    parser.add_argument("--version", default="0.31.0")
    parser.add_argument("--no-dev", action="store_true", help="no /server_info")
    parser.add_argument("--no-weights", action="store_true", help="no weight transfer")
    parser.add_argument("--die-at-start", type=int, help="exit code")
    parser.add_argument("--silent", action="store_true", help="listens to nobody")
    parser.add_argument("--child", action="store_true", help="starts a child in a session of its own")
    parser.add_argument("--stubborn", action="store_true", help="ignores SIGTERM")
    given = parser.parse_args()
    print("pid", os.getpid(), flush=True)
    if given.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if given.child:
        subprocess.Popen([sys.executable, "-S", "-c", _CHILD])
        time.sleep(0.3)
    if given.die_at_start is not None:
        print("torch.OutOfMemoryError: CUDA out of memory", file=sys.stderr, flush=True)
        sys.exit(given.die_at_start)
    if given.silent:
        time.sleep(600)
    serve(given)


def serve(given: argparse.Namespace) -> None:
    state = {"weights": 0}
    config = {
        "model_config": {"model": given.model, "logprobs_mode": given.mode, "max_model_len": 64, "secret": "x"},
        "cache_config": {"enable_prefix_caching": True},
        "parallel_config": {"tensor_parallel_size": 1},
        "weight_transfer_config": None if given.no_weights else {"backend": "nccl"},
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/health":
                self.send(200, None)
            elif path == "/v1/models":
                self.send(200, {"object": "list", "data": [{"id": given.model, "owned_by": "vllm"}]})
            elif path == "/version":
                self.send(200, {"version": given.version})
            elif path == "/server_info" and not given.no_dev:
                self.send(200, {"vllm_config": config})
            else:
                self.send(404, {"error": "not found"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            if self.path == "/update_weights":
                state["weights"] += 1
                self.send(200, {})
            elif self.path == "/v1/chat/completions":
                message = {"role": "assistant", "content": f"v{state['weights']}"}
                self.send(200, {"model": given.model, "choices": [{"finish_reason": "stop", "message": message}]})
            elif self.path == "/v1/completions":
                rows = body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]
                self.send(200, {"choices": [self.completion(i, row) for i, row in enumerate(rows)]})
            else:
                self.send(404, {"error": "not found"})

        def completion(self, index: int, prompt: list[int]) -> dict[str, Any]:
            token = state["weights"]
            return {
                "index": index,
                "text": str(token),
                "finish_reason": "stop",
                "token_ids": [token],
                "prompt_token_ids": prompt,
                "logprobs": {"token_logprobs": [-0.5], "tokens": [f"token_id:{token}"], "top_logprobs": [{}]},
            }

        def send(self, status: int, data: Any) -> None:
            raw = b"" if data is None else json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    with ThreadingHTTPServer(("127.0.0.1", given.port), Handler) as http:
        http.daemon_threads = True
        http.serve_forever(0.05)


if __name__ == "__main__":
    main()
