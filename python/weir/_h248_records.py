"""Megaco messages as values: a dataclass for each record of the ASN.1, and back.

The way goes over Erlang's external term format, in which a message is its records, position by position.
"""

from __future__ import annotations

import dataclasses
import struct
import types
from typing import Any, NamedTuple

__all__ = ["Choice", "of_term", "records", "to_term"]


class Choice(NamedTuple):
    """An alternative of a choice: its name in ASN.1, and what it holds."""

    name: str
    value: Any


# The fields of each record in their order; a number behind a name is the version that brought it.
_FIELDS = {
    "ActionReply": "context_id error context_reply commands",
    "ActionRequest": "context_id context_request context_audit commands",
    "AmmRequest": "termination_ids descriptors",
    "AmmsReply": "termination_ids audit",
    "AuditDescriptor": "tokens properties:2",
    "AuditRequest": "termination_id audit termination_ids:3",
    "AuditResult": "termination_id audit",
    "AuthenticationHeader": "spi seq data",
    "CommandRequest": "command optional wildcard_return",
    "ContextAttrAuditRequest": "topology emergency priority ieps:3 "
    "properties:3 select_priority:3 select_emergency:3 select_ieps:3 select_logic:3",
    "ContextRequest": "priority emergency topology ieps:3 properties:3 contexts:3",
    "DigitMapDescriptor": "name value",
    "DigitMapValue": "start_timer short_timer long_timer body duration_timer:2",
    "DomainName": "name port",
    "ErrorDescriptor": "code text",
    "EventParameter": "name value extra",
    "EventSpec": "name stream_id parameters",
    "EventsDescriptor": "request_id events",
    "H221NonStandard": "country_code_1 country_code_2 extension manufacturer_code",
    "IP4Address": "address port",
    "IP6Address": "address port",
    "IndAudDigitMapDescriptor": "name",
    "IndAudEventBufferDescriptor": "name stream_id",
    "IndAudEventsDescriptor": "request_id name stream_id",
    "IndAudLocalControlDescriptor": "mode reserve_value reserve_group properties select_mode:3",
    "IndAudLocalRemoteDescriptor": "group_id properties",
    "IndAudMediaDescriptor": "termination_state streams",
    "IndAudPackagesDescriptor": "name version",
    "IndAudPropertyParm": "name property:3",
    "IndAudSeqSigList": "id signal",
    "IndAudSignal": "name stream_id request_id:3",
    "IndAudStatisticsDescriptor": "name",
    "IndAudStreamDescriptor": "id parms",
    "IndAudStreamParms": "local_control local remote statistics:3",
    "IndAudTerminationStateDescriptor": "properties event_buffer_control service_state select_service_state:3",
    "LocalControlDescriptor": "mode reserve_value reserve_group properties",
    "LocalRemoteDescriptor": "groups",
    "MediaDescriptor": "termination_state streams",
    "MegacoMessage": "auth_header mess",
    "Message": "version mid body",
    "ModemDescriptor": "types properties non_standard",
    "MuxDescriptor": "mux_type termination_ids non_standard",
    "NonStandardData": "identifier data",
    "NotifyReply": "termination_ids error",
    "NotifyRequest": "termination_ids observed_events error",
    "ObservedEvent": "name stream_id parameters time",
    "ObservedEventsDescriptor": "request_id events",
    "PackagesItem": "name version",
    "PropertyParm": "name value extra",
    "RegulatedEmbeddedDescriptor": "second_event signals",
    "RequestedActions": "keep_active digit_map second_event signals notify:3 reset_events:3",
    "RequestedEvent": "name stream_id action parameters",
    "SecondEventsDescriptor": "request_id events",
    "SecondRequestedActions": "keep_active digit_map signals notify:3 reset_events:3",
    "SecondRequestedEvent": "name stream_id action parameters",
    "SegmentReply": "id segment_number segmentation_complete",
    "SeqSigList": "id signals",
    "ServiceChangeParm": "method address version profile reason "
    "delay mgc_id timestamp non_standard info:2 incomplete:3",
    "ServiceChangeProfile": "name version",
    "ServiceChangeReply": "termination_ids result",
    "ServiceChangeRequest": "termination_ids parms",
    "ServiceChangeResParm": "mgc_id address version profile timestamp",
    "SigParameter": "name value extra",
    "Signal": "name stream_id signal_type duration notify_completion "
    "keep_active parameters direction:3 request_id:3 intersignal_delay:3",
    "StatisticsParameter": "name value",
    "StreamDescriptor": "id parms",
    "StreamParms": "local_control local remote statistics:3",
    "SubtractRequest": "termination_ids audit",
    "TermListAuditResult": "termination_ids audit",
    "TerminationStateDescriptor": "properties event_buffer_control service_state",
    "TimeNotation": "date time",
    "TopologyRequest": "from_ to direction stream_id:2 direction_extension:3",
    "TransactionAck": "first last",
    "TransactionPending": "id",
    "TransactionReply": "id imm_ack_required result segment_number:3 segmentation_complete:3",
    "TransactionRequest": "id actions",
    # As Erlang's megaco has it: wildcards are words in lists, for each octet.
    "megaco_term_id": "contains_wildcards id",
}


class _Record:
    """What all records have in common: they can be told from other dataclasses."""


def _made(name: str, words: str) -> type[Any]:
    fields = [(word.partition(":")[0], Any, dataclasses.field(default=None)) for word in words.split()]
    made = dataclasses.make_dataclass(name, fields, bases=(_Record,))
    made.__module__ = "weir.h248.records"
    made.__doc__ = f"{name}, of the ASN.1 of H.248.1: {', '.join(field[0] for field in fields)}."
    return made


_CLASSES = {name: _made(name, words) for name, words in _FIELDS.items()}
_SINCE = {
    name: [int(word.partition(":")[2] or 1) for word in words.split()] for name, words in _FIELDS.items()
}
#: The dataclasses of records, by their names in ASN.1.
records: Any = types.SimpleNamespace(**_CLASSES)
_NO_VALUE = "asn1_NOVALUE"
_DEPTH_MAX = 200


def of_term(octets: bytes) -> Any:
    """The value of a term, as :func:`weir.h248.convert` to ``erl`` writes it."""
    value, end = _read(octets, 1, 0)
    if octets[:1] != b"\x83" or end != len(octets):
        raise ValueError("no term, or more than one")
    return value


def _read(octets: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEPTH_MAX:
        raise ValueError("a term is nested too deep")
    tag, at = octets[at], at + 1
    if tag == 97:
        return octets[at], at + 1
    if tag == 98:
        return struct.unpack_from(">i", octets, at)[0], at + 4
    if tag == 110:
        size, sign = octets[at], octets[at + 1]
        whole = int.from_bytes(octets[at + 2 : at + 2 + size], "little")
        return -whole if sign else whole, at + 2 + size
    if tag in (100, 118):
        size = struct.unpack_from(">H", octets, at)[0]
        return _word(octets[at + 2 : at + 2 + size]), at + 2 + size
    if tag in (115, 119):
        size = octets[at]
        return _word(octets[at + 1 : at + 1 + size]), at + 1 + size
    if tag == 106:
        return [], at
    if tag == 107:
        size = struct.unpack_from(">H", octets, at)[0]
        return bytes(octets[at + 2 : at + 2 + size]), at + 2 + size
    if tag == 109:
        size = struct.unpack_from(">I", octets, at)[0]
        return bytes(octets[at + 4 : at + 4 + size]), at + 4 + size
    if tag == 108:
        count, at = struct.unpack_from(">I", octets, at)[0], at + 4
        items = []
        for _ in range(count):
            item, at = _read(octets, at, depth + 1)
            items.append(item)
        # The tail of a list, which is empty.
        return items, _read(octets, at, depth + 1)[1]
    if tag in (104, 105):
        if tag == 104:
            arity, at = octets[at], at + 1
        else:
            arity, at = struct.unpack_from(">I", octets, at)[0], at + 4
        items = []
        for _ in range(arity):
            item, at = _read(octets, at, depth + 1)
            items.append(item)
        return _tuple(items), at
    raise ValueError(f"no term of Megaco begins with {tag}")


def _word(name: bytes) -> object:
    word = name.decode("latin-1")
    return {"true": True, "false": False, _NO_VALUE: None}.get(word, word)


def _tuple(items: list[Any]) -> Any:
    first = items[0] if items else None
    if isinstance(first, str):
        made = _CLASSES.get(first)
        if made is not None and len(items) - 1 <= len(_SINCE[first]):
            return made(*items[1:])
        if len(items) == 2:
            return Choice(first, items[1])
    return tuple(items)


def to_term(value: Any) -> bytes:
    """A value as a term."""
    message = getattr(value, "mess", None)
    version = getattr(message, "version", None)
    if not isinstance(version, int):
        raise TypeError("a message is a MegacoMessage, whose mess is a Message with a version")
    return b"\x83" + _written(value, version, 0)


def _written(value: Any, version: int, depth: int) -> bytes:
    if depth > _DEPTH_MAX:
        raise ValueError("a value is nested too deep")
    if value is None:
        return _atom(_NO_VALUE)
    if isinstance(value, bool):
        return _atom("true" if value else "false")
    if isinstance(value, int):
        if 0 <= value < 256:
            return bytes([97, value])
        if -(1 << 31) <= value < 1 << 31:
            return b"b" + struct.pack(">i", value)
        size = (abs(value).bit_length() + 7) // 8
        if size > 255:
            raise ValueError("no number of Megaco has so many digits")
        return bytes([110, size, value < 0]) + abs(value).to_bytes(size, "little")
    if isinstance(value, str):
        return _atom(value)
    if isinstance(value, (bytes, bytearray)):
        if not value:
            return b"j"
        if len(value) < 1 << 16:
            return b"k" + struct.pack(">H", len(value)) + bytes(value)
        return _listed([bytes([97, octet]) for octet in value])
    if isinstance(value, list):
        return _listed([_written(item, version, depth + 1) for item in value]) if value else b"j"
    if isinstance(value, _Record):
        name = type(value).__name__
        fields = dataclasses.fields(value)  # type: ignore[arg-type]
        known = []
        for field, since in zip(fields, _SINCE[name]):
            held = getattr(value, field.name)
            if since <= version:
                known.append(held)
            elif held is not None:
                raise ValueError(f"{name}.{field.name} came with version {since}, and this is {version}")
        return bytes([104, 1 + len(known)]) + _atom(name) + b"".join(
            _written(held, version, depth + 1) for held in known
        )
    if isinstance(value, tuple):
        if len(value) > 255:
            raise ValueError("no tuple of Megaco is so long")
        return bytes([104, len(value)]) + b"".join(
            _written(item, version, depth + 1) for item in value
        )
    raise TypeError(f"no value of Megaco is a {type(value).__name__}")


def _listed(items: list[bytes]) -> bytes:
    return b"l" + struct.pack(">I", len(items)) + b"".join(items) + b"j"


def _atom(name: str) -> bytes:
    octets = name.encode("latin-1")
    if len(octets) > 255:
        raise ValueError("no name of Megaco is so long")
    return b"d" + struct.pack(">H", len(octets)) + octets
