# Copyright (c) 2026, The nerd_isaaclab developers.
# SPDX-License-Identifier: BSD-3-Clause

"""The container files and the CI: linted, and everything that they copy, mount and call exists."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

DOCKERFILES = ("docker/Dockerfile", "docker/Dockerfile.isaacsim")

# The part of the Compose specification that our files use; a key or type outside it is a mistake.
_STRINGS = {"type": "array", "items": {"type": "string"}}
_DEVICE = {
    "type": "object",
    "properties": {"driver": {"const": "nvidia"}, "count": {"const": "all"}, "capabilities": _STRINGS},
    "required": ["driver", "count", "capabilities"],
    "additionalProperties": False,
}
_SERVICE = {
    "type": "object",
    "properties": {
        "image": {"type": "string"},
        "build": {
            "type": "object",
            "properties": {
                "context": {"type": "string"},
                "dockerfile": {"type": "string"},
                "args": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["context", "dockerfile"],
            "additionalProperties": False,
        },
        "command": _STRINGS,
        "entrypoint": _STRINGS,
        "profiles": _STRINGS,
        "ports": _STRINGS,
        "volumes": _STRINGS,
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
        "network_mode": {"enum": ["host"]},
        "shm_size": {"type": "string", "pattern": r"^\d+[kmg]b$"},
        "init": {"type": "boolean"},
        "stdin_open": {"type": "boolean"},
        "tty": {"type": "boolean"},
        "deploy": {
            "type": "object",
            "properties": {
                "resources": {
                    "type": "object",
                    "properties": {
                        "reservations": {
                            "type": "object",
                            "properties": {"devices": {"type": "array", "items": _DEVICE}},
                            "additionalProperties": False,
                        }
                    },
                    "additionalProperties": False,
                }
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
_COMPOSE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "services": {"type": "object", "additionalProperties": _SERVICE},
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
    },
    "required": ["services"],
    "patternProperties": {"^x-": {}},
    "additionalProperties": False,
}


def _compose(root: Path, name: str = "compose.yaml") -> dict:
    return yaml.safe_load((root / "docker" / name).read_text())


def _words_of_nerd(root: Path) -> set[str]:
    """Return what `./nerd` understands: its own words, those of nerd_core and the extension's entry points."""
    from nerd_core.cli import find_commands

    table = tomllib.loads((root / "exts/nerd_isaaclab/pyproject.toml").read_text())["project"]["entry-points"]
    return {"setup", "test", "--help"} | set(find_commands()) | set(table["nerd.commands"])


def _instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile as (word, rest), continued lines joined and comments dropped."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_dockerfile_passes_hadolint(repo_root: Path, name: str):
    """hadolint, with its shellcheck of every RUN line, has nothing to say."""
    hadolint = Path(sys.executable).with_name("hadolint")
    command = [str(hadolint), "--config", str(repo_root / "docker/.hadolint.yaml"), str(repo_root / name)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("name", DOCKERFILES)
def test_dockerfile_copies_and_calls_what_exists(repo_root: Path, name: str):
    """Every COPY source, and every path and word of ours in RUN, ENTRYPOINT and CMD, is in the repository."""
    copied, called = 0, 0
    for word, rest in _instructions(repo_root / name):
        if word == "COPY":
            *sources, _ = [part for part in rest.split() if not part.startswith("--")]
            copied += len(sources)
            assert all((repo_root / source).exists() for source in sources), rest
        elif word in ("RUN", "ENTRYPOINT"):
            for path in re.findall(r"(?<![\w/])(?:\./[\w./]+|(?:source|exts)/[\w/]+)", rest):
                called += 1
                assert (repo_root / path).exists(), f"{word} names {path}"
            for spoken in re.findall(r"(?:\./nerd|-m nerd_core) (\w[\w-]*)", rest):
                assert spoken in _words_of_nerd(repo_root), f"{word} calls nerd {spoken}"
    assert copied and called


def test_images_take_no_leftovers(repo_root: Path):
    """What .gitignore keeps out of git, .dockerignore keeps out of the images."""
    ignored = {line.rstrip("/") for line in (repo_root / ".dockerignore").read_text().splitlines()}
    for line in (repo_root / ".gitignore").read_text().splitlines():
        pattern = line.strip().rstrip("/")
        if pattern and not pattern.startswith("#"):
            assert pattern in ignored or f"**/{pattern}" in ignored, f".dockerignore lacks {pattern}"


@pytest.mark.parametrize("name", ["compose.yaml", "compose.gpu.yaml"])
def test_compose_file_is_well_formed(repo_root: Path, name: str):
    """The compose files hold only keys and types that the specification knows."""
    jsonschema.validate(_compose(repo_root, name), _COMPOSE)


def test_compose_services(repo_root: Path):
    """The promised services exist, are built from files that exist, and call words that nerd understands."""
    compose = _compose(repo_root)
    services = compose["services"]
    assert {"shell", "train", "collect", "test"} <= set(services)
    for name, service in services.items():
        context = (repo_root / "docker" / service["build"]["context"]).resolve()
        assert context == repo_root
        assert (context / service["build"]["dockerfile"]).is_file(), name
        if "entrypoint" not in service:
            assert service["command"][0] in _words_of_nerd(repo_root), service["command"]
        for volume in service.get("volumes", []):
            named = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", volume).partition(":")[0]
            assert named in compose["volumes"], volume
    gpu = _compose(repo_root, "compose.gpu.yaml")
    assert set(gpu["services"]) == set(services), "every service can be given the GPU"


def test_workflow_and_ci_script_are_one(repo_root: Path):
    """The GitHub workflow runs .ci/run, which runs ./nerd test: one way to test, everywhere."""
    jobs = yaml.safe_load((repo_root / ".github/workflows/ci.yaml").read_text())["jobs"]
    commands = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    assert ".ci/run" in commands
    script = repo_root / ".ci/run"
    assert script.stat().st_mode & 0o111 and "./nerd test" in script.read_text()
    assert (repo_root / "nerd").stat().st_mode & 0o111
