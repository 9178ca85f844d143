"""Dockerfiles that can be followed without an image, and what of others is refused."""

from pathlib import Path

import pytest

from mesocosm.sandboxes.containers.dockerfile import read_dockerfile


def refused(text: str, context: Path) -> list[str]:
    return read_dockerfile(text, context).refused


def test_base_folder_variables_files_and_commands_are_followed(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("x")
    found = read_dockerfile(
        '# a comment\nFROM ubuntu:24.04\nARG PLACE=/srv\nENV A=1 B="two words"\nWORKDIR $PLACE\nWORKDIR app\n'
        'COPY data.txt ./\nRUN echo $A \\\n    && echo done\nCMD ["bash"]\nLABEL x=y\n',
        tmp_path,
    )
    assert (found.base, found.workdir, found.refused) == ("ubuntu:24.04", "/srv/app", [])
    assert found.env == {"PLACE": "/srv", "A": "1", "B": "two words"}
    copy, run = found.steps
    assert (copy.does, copy.sources, copy.target) == ("copy", ("data.txt",), "/srv/app/")
    assert (run.does, run.line, run.cwd, run.argv[:2]) == ("run", 8, "/srv/app", ("sh", "-c"))
    assert " ".join(run.argv[2].split()) == "echo $A && echo done"


def test_a_command_in_brackets_is_run_without_a_shell(tmp_path: Path) -> None:
    (run,) = read_dockerfile('FROM x\nRUN ["touch", "/app/a b"]\n', tmp_path).steps
    assert run.argv == ("touch", "/app/a b")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("FROM other", "a second stage"),
        ("RUN apt-get update && apt-get install -y git", "installs packages"),
        ("RUN pip install numpy", "installs packages"),
        ("RUN --mount=type=cache true", "flags of RUN"),
        ("COPY --from=build /a /b", "flags"),
        ("COPY missing.txt /app/", "does not exist"),
        ("COPY ../secret /app/", "outside of the build context"),
        ("COPY here.txt /usr/local/bin/", "the system is read-only"),
        ("ADD https://example.com/x /app/", "downloads"),
        ("ADD here.tar.gz /app/", "unpacks"),
        ("USER agent", "only the account root"),
        ('ENTRYPOINT ["/start"]', "needs an image"),
        ("HEALTHCHECK CMD true", "needs an image"),
        ("ONBUILD RUN true", "needs an image"),
        ("ARG VERSION", "need a default"),
        ("RUN cat <<END > /x", "here-documents"),
    ],
)
def test_what_needs_an_image_is_refused_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    context = tmp_path / "context"
    context.mkdir()
    (tmp_path / "secret").write_text("x")
    (context / "here.txt").write_text("x")
    (problem,) = refused(f"FROM base\n\n{line}\n", context)
    assert problem.startswith("line 3: ")
    assert why in problem


def test_a_file_without_a_base_is_refused(tmp_path: Path) -> None:
    assert refused("RUN true\n", tmp_path) == ["it has no FROM"]
