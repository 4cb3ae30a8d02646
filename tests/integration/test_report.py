"""Does a report hold what was recorded, whatever a server said, and nothing that runs or is fetched?"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

from fuzzer.cli import main
from fuzzer.finding import Finding, FindingKind
from fuzzer.store import History, RunRecord, Store
from tests.integration.recorded import HOSTILE, record


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, text by the element that it stands in."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def count(self, tag: str, **attributes: str) -> int:
        return sum(name == tag and attributes.items() <= has.items() for name, has in self.elements)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


BLOCKS = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "code_block"),
    *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
    *(f"{part}_{end}" for part in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")),
}


def is_inert_markdown(text: str) -> None:
    """As a parser of CommonMark sees it: the sections of a report, and in them tables, lists, code and text alone."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert {token.type for token in tokens} <= BLOCKS
    assert {child.type for token in tokens for child in token.children or ()} <= {"text", "text_special"}
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert headings[1:] == ["Probes", "Deaths", "Conditions", "Environment", "Check it"]
    outside = [line for line in text.splitlines() if not line.startswith("    ")]
    assert not any("www." in line for line in outside), "GitHub makes a link of it"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def report(db: Path, *args: str) -> Result:
    done = CliRunner().invoke(main, ["report", "last", "--db", str(db), *args])
    assert done.exit_code == 0, done.output
    return done


def test_the_page_tells_the_run(db: Path) -> None:
    run = record(db, words="CUDA error")
    page = Page(report(db).stdout)
    with History.open(db) as history:
        seal = history.get(run).seal
    assert seal is not None
    for words in ("Death from 301 prompt tokens on", "288 recommended max_model_len", seal.head, "line one CUDA error"):
        assert words in page.text
    assert f"ctxfuzz audit {run} --expect {seal.head} --db {db}" in page.text
    assert f"ctxfuzz replay {run}:3 --db {db}" in page.text
    assert page.count("article") == 1
    assert page.count("tr") == 1 + 3
    drawn = [has["class"] for tag, has in page.elements if tag == "use" and has["class"] == "o-death"]
    assert len(drawn) == 3, "on the axis, in the narrowing, and in the key"


def test_what_a_server_says_is_text_and_nothing_else(db: Path) -> None:
    record(db, model=HOSTILE)
    html = report(db).stdout
    page = Page(html)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "link", "a", "form"}
    assert page.count("style") == 1
    assert not any(name.startswith("on") for _, has in page.elements for name in has)
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_nothing_is_fetched_and_nothing_would_be_allowed_to(db: Path) -> None:
    record(db)
    html = report(db).stdout
    page = Page(html)
    assert page.count("meta", content="default-src 'none'; style-src 'unsafe-inline'") == 1
    links = [value for _, has in page.elements for name, value in has.items() if name in {"href", "src", "action"}]
    assert links
    assert all(value is not None and value.startswith("#m-") for value in links)
    style = html[html.index("<style>") : html.index("</style>")]
    assert set(re.findall(r"url\(([^)]*)\)", style)) == {"#hatch"}
    assert "@import" not in style


def test_every_mark_has_its_shape(db: Path) -> None:
    record(db)
    page = Page(report(db).stdout)
    shapes = {has["id"] for tag, has in page.elements if tag == "symbol"}
    used = {(has["href"] or "")[1:] for tag, has in page.elements if tag == "use"}
    assert used <= shapes


def test_a_run_that_has_found_nothing_yet_has_a_page_too(db: Path) -> None:
    with Store.open(db) as store:
        store.begin(RunRecord("bisect", ("ctxfuzz",), "http://h", "tiny", "vllm", "bisect"))
    page = Page(report(db).stdout)
    assert "This run has not come to a finding (interrupted)" in page.text
    assert "not sealed" in page.text


def test_a_run_without_an_edge_has_a_page_too(db: Path) -> None:
    run = record(db, ending="halted")
    with Store.open(db) as store:
        store.reopen(run, (), at_s=7.0)
        store.finish(run, Finding(FindingKind.NONE, "nothing fails", verified_up_to=300), "done", at_s=8.0)
    assert "Nothing fails up to 300 prompt tokens" in Page(report(db).stdout).text


MARKUP = f"{HOSTILE} ![i](http://e.example/i) **b** [c](javascript:alert(1)) # h www.e.example"
LOG = "\n".join([MARKUP, "", f"# {MARKUP}", f"    {MARKUP}", "```", f"- {MARKUP}", "---", "</pre>"])


@pytest.mark.parametrize("words", [HOSTILE, MARKUP, LOG, f"\n\n{LOG}"])
def test_markdown_has_no_markup_of_a_server(db: Path, words: str) -> None:
    record(db, words=words, model=words)
    text = report(db, "--format", "md").stdout
    is_inert_markdown(text)
    log = [
        token.content for token in MarkdownIt("commonmark").enable("table").parse(text) if token.type == "code_block"
    ]
    assert log[0].startswith("line one\n")
    assert log[0].count("<script>alert(1)</script>") == words.count("<script>")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3, 8}


def test_junit_fails_where_there_is_an_edge(db: Path) -> None:
    record(db)
    suite = ET.fromstring(report(db, "--format", "junit").stdout)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "Death from 301 prompt tokens on"
    assert "<script>alert(1)</script>" in (failure.text or "")


def test_json_is_what_show_prints(db: Path) -> None:
    record(db)
    shown = CliRunner().invoke(main, ["show", "last", "--db", str(db), "--json"])
    told = json.loads(report(db, "--format", "json").stdout)
    assert told == json.loads(shown.stdout)
    assert told["last_words"][0]["last_words"].startswith("line one\n")


@pytest.mark.parametrize("form", ["html", "md", "junit", "json"])
def test_a_file_is_written_as_its_name_ends_unless_a_format_is_told(db: Path, tmp_path: Path, form: str) -> None:
    record(db)
    into = tmp_path / {"junit": "r.XML"}.get(form, f"r.{form}")
    for told, written in ([], form), (["--format", "md"], "md"):
        report(db, "-o", str(into), *told)
        assert into.read_text(encoding="utf-8").strip() == report(db, "--format", written).stdout.strip()


def test_a_file_of_another_kind_is_not_written_as_a_page(db: Path, tmp_path: Path) -> None:
    record(db)
    into = tmp_path / "r.pdf"
    refused = CliRunner().invoke(main, ["report", "last", "--db", str(db), "-o", str(into)])
    assert (refused.exit_code, into.exists()) == (2, False)
    assert "say --format" in refused.output
    report(db, "-o", str(into), "--format", "md")
    assert into.read_text(encoding="utf-8").startswith("# ")


def test_a_report_goes_to_a_file_and_a_file_that_cannot_be_written_is_said(db: Path, tmp_path: Path) -> None:
    record(db)
    assert report(db, "-o", str(tmp_path / "r.html")).stdout == ""
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    refused = CliRunner().invoke(main, ["report", "last", "--db", str(db), "-o", str(tmp_path / "no" / "r.html")])
    assert refused.exit_code == 2
    assert "Choose another file with -o" in refused.output
