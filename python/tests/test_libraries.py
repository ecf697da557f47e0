"""The libraries beside SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
import weir
from weir import clf, h248, sip, ws

MEGACO = b"!/1 [124.124.124.222]:55555\nP=9999{C=-{MF=11111111/00000000/00000000}}"
INVITE = (
    b"INVITE sip:bob@biloxi.example SIP/2.0\r\n"
    b"Via: SIP/2.0/UDP pc33.atlanta.example:5061;branch=z9hG4bK776asdhds\r\n"
    b"From: Alice <sip:alice@atlanta.example>;tag=1928301774\r\n"
    b"To: Bob <sip:bob@biloxi.example>\r\n"
    b"Call-ID: a84b4c76e66710\r\nCSeq: 314159 INVITE\r\nMax-Forwards: 70\r\nContent-Length: 4\r\n\r\nbody"
)


def test_megaco_in_every_encoding_says_the_same() -> None:
    message = h248.decode(MEGACO)
    assert message.value and "9999" in message.text()
    for encoding in ("pretty", "compact", "ber", "per", "erl", "erl-mc", "erl-z", "erl-mc-z"):
        octets = message.encode(encoding)  # type: ignore[arg-type]
        assert h248.decode(octets) == message
        assert h248.convert(octets, "compact") == message.encode("compact")
    assert message.encoding == "compact"
    assert h248.check(MEGACO) == [] or all(finding.message for finding in h248.check(MEGACO))
    with pytest.raises(weir.DecodeError):
        h248.decode(b"not megaco")
    with pytest.raises(ValueError, match="unknown encoding"):
        message.encode("xml")  # type: ignore[arg-type]


def test_megaco_is_values_and_back() -> None:
    """Every message of the demo, through dataclasses and back into every encoding."""
    found = weir.sql("SELECT DISTINCT udp.payload FROM 'demo/megaco.pcap' WHERE udp.payload IS NOT NULL")
    messages = [h248.decode(octets) for (octets,) in found.rows()]
    assert len(messages) > 20
    for message in messages:
        record = message.record
        assert type(record).__name__ == "MegacoMessage"
        ways = 0
        for encoding in ("pretty", "compact", "ber", "per", "erl"):
            try:
                octets = message.encode(encoding)  # type: ignore[arg-type]
            except weir.DecodeError as error:
                # Names that binary encodings have no place for.
                assert encoding in ("ber", "per") and "groups of eight bits" in str(error)
                continue
            assert h248.encode(record, encoding) == octets  # type: ignore[arg-type]
            assert h248.decode(octets) == message
            ways += 1
        assert ways >= 3


def test_megaco_is_made_of_values() -> None:
    r = h248.records
    body = h248.Choice("transactions", [h248.Choice("transactionPending", r.TransactionPending(7))])
    made = r.MegacoMessage(mess=r.Message(1, h248.Choice("ip4Address", r.IP4Address(b"\n\0\0\1", None)), body))
    assert h248.encode(made).startswith(b"!/1 [10.0.0.1]")
    assert h248.decode(h248.encode(made, "ber")).record.mess.mid == made.mess.mid
    for wrong, error in (
        (None, TypeError),
        (r.MegacoMessage(), TypeError),
        (r.MegacoMessage(mess=r.Message(1, object(), None)), TypeError),
        (r.MegacoMessage(mess=r.Message(1, None, None)), weir.DecodeError),
        (r.MegacoMessage(mess=r.Message(1, None, r.Signal(name=b"x", direction="both"))), ValueError),
    ):
        with pytest.raises(error):
            h248.encode(wrong)


def test_records_of_megaco_are_those_of_the_decoder() -> None:
    """`sequence!` in weir-h248 says what the records are."""
    import re

    from weir import _h248_records

    root = Path(__file__).parent.parent.parent / "crates/weir-h248/src"
    known: dict[str, list[tuple[str, int]]] = {}
    for path in root.rglob("*.rs"):
        text = re.sub(r"//[^\n]*", "", path.read_text())
        for found in re.finditer(r'\nsequence! \{\s*(?:#\[[^\]]*\]\s*)*\w+(?:<[^>]*>)?\s*"(\w+)" extensible \d+ \{(.*?)\n\}', text, re.DOTALL):
            fields = re.findall(r"\[\d+\] \w+(?:\((\d+)\))? (?:r#)?(\w+)\s*:", found[2])
            known[found[1]] = [(name, int(since or 1)) for since, name in fields]
    ours = {
        name: [
            (word.partition(":")[0].rstrip("_"), int(word.partition(":")[2] or 1)) for word in words.split()
        ]
        for name, words in _h248_records._FIELDS.items()
    }
    # Terminations are written by hand there, as Erlang has them.
    assert ours.pop("megaco_term_id") == [("contains_wildcards", 1), ("id", 1)]
    assert len(known) > 70 and known == ours


def test_megaco_is_compared() -> None:
    comparison = h248.compare({"one": MEGACO}, microseconds=1)
    assert "ber" in str(comparison).lower() and comparison.value
    assert comparison.html().startswith("<!")
    with pytest.raises(weir.DecodeError, match="^2: "):
        h248.compare([MEGACO, b"nothing"])


def test_sip_messages() -> None:
    message = sip.parse(INVITE)
    assert message.is_request and message.method == "INVITE" and message.status is None
    assert message.from_ == sip.Address(
        "Alice", "sip:alice@atlanta.example", "alice", "atlanta.example", "1928301774"
    )
    assert message.vias == [sip.Via("UDP", "pc33.atlanta.example", 5061, "z9hG4bK776asdhds")]
    assert message.cseq == sip.CSeq(314159, "INVITE")
    assert message.body == b"body" and message.header("MAX-FORWARDS") == "70"
    assert not [fault for fault in message.faults if fault.severity == "error"]
    reply = sip.parse("SIP/2.0 486 Busy Here\r\nCall-ID: x\r\n\r\n")
    assert (reply.status, reply.reason, reply.is_request) == (486, "Busy Here", False)
    assert reply.faults
    with pytest.raises(weir.DecodeError):
        sip.parse("SIP/2.0 486 Busy Here\r\nCall-ID: x\r\n\r\n", strict=True)
    with pytest.raises(weir.DecodeError):
        sip.parse(b"GET / HTTP/1.1\r\n\r\n")


def test_a_ladder_is_that_of_the_command_line(tmp_path: Path) -> None:
    import os
    import shutil
    import subprocess

    call = weir.open("demo/voip.pcap").calls().select("sip.call_id").fetchall()[0][0]
    program = os.environ.get("WEIR_PROGRAM") or shutil.which("weir")
    assert program
    drawn = sip.ladder("demo/voip.pcap", call)
    words = [program, "sip", "ladder", "demo/voip.pcap", "--call-id", call]
    assert str(drawn) == subprocess.run(words, capture_output=True, text=True, check=True).stdout
    for name in ("x.svg", "x.html"):
        subprocess.run([*words, "-q", "-o", str(tmp_path / name)], check=True)
        drawn.save(tmp_path / f"own-{name}")
        assert (tmp_path / name).read_text() == (tmp_path / f"own-{name}").read_text()
    assert drawn._repr_svg_().startswith("<svg")
    with pytest.raises(weir.RunError, match="no SIP message"):
        sip.ladder("demo/voip.pcap", "nobody's")


def test_logs_are_written_asked_and_converted(tmp_path: Path) -> None:
    path = tmp_path / "calls.clf"
    with clf.create(path, headers=["Max-Forwards"]) as log:
        for number in range(10):
            log.write(INVITE, time_ns=1_700_000_000_000_000_000 + number, source="10.0.0.1:5060")
    relation = clf.open(path)
    assert relation.agg("count(*)").fetchall() == [(10,)]
    assert relation.columns
    for form in ("text", "json", "rfc6873"):
        converted = clf.convert(path, tmp_path / f"{form}.log", form)  # type: ignore[arg-type]
        assert converted.records == 10 and converted.damage == []
    with pytest.raises(weir.DecodeError), clf.create(tmp_path / "x.clf") as log:
        log.write(b"nothing")
    with pytest.raises(ValueError, match="unknown format"):
        clf.create(tmp_path / "y.clf", form="xml")  # type: ignore[arg-type]


def test_websocket_settings() -> None:
    messages = ['{"type":"msg","sender":"ann","text":"good morning"}'] * 50
    study = ws.study(messages)
    # One kind of message, and all together.
    assert len(study.rows()) == 2 * 1296
    advice = ws.advise(messages, connections=1_000_000, memory="20g")
    assert advice.value["chosen"] and advice.reason
    assert advice.html().lstrip().lower().startswith("<!doctype")
    of_capture = ws.advise(weir.open("demo/websocket.pcap"), connections=10, memory="1g")
    assert of_capture.value["chosen"] and of_capture.reason
    few = ws.advise([(0, True, b"x"), (0, False, "y")], connections=1, memory=1)
    assert few.reason
