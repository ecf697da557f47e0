// Ladders and packets asked in SQL, for servers that do not draw them themselves.

import { Query, fields } from "./api.js";
import { text } from "./sql.js";

/** Rows of a question as objects. */
async function rows(sql, limit) {
  const answer = await new Query(sql, { limit }).answer;
  return answer.rows.map((row) => Object.fromEntries(answer.columns.map((column, index) => [column.name, row[index]])));
}

/** The messages and streams of a call. */
export async function ladder(path, callId) {
  const wanted = `(${text(path)}) WHERE sip.call_id = ${text(callId)}`;
  const [found, streams] = await Promise.all([
    rows(`SELECT frame.number, frame.time, addr.src, port.src, addr.dst, port.dst, sip.method, sip.status_code, sip.reason_phrase,
       sip.request_line, sip.status_line, sip.via, sip.from, sip.to, sip.call_id, sip.cseq, sip.contact, sip.user_agent,
       sip.content_type, sip.msg_body, sip.resend
FROM sip${wanted} ORDER BY frame.number`, 100_000),
    rows(`SELECT addr.src, port.src, addr.dst, port.dst, media.codec, media.packets, media.lost, media.jitter_mean, media.mos, media.start
FROM media${wanted} ORDER BY media.start`, 1_000).catch(() => []),
  ]);
  const end = (row, side) => `${row[`addr.${side}`]}:${row[`port.${side}`]}`;
  const messages = found.map((row) => ({
    time: row["frame.time"], from: end(row, "src"), to: end(row, "dst"), frame: row["frame.number"], resend: row["sip.resend"] === true,
    label: row["sip.status_code"] === null ? row["sip.method"] : `${row["sip.status_code"]} ${row["sip.reason_phrase"] ?? ""}`.trim(),
    failed: row["sip.status_code"] !== null && Number(row["sip.status_code"]) >= 400,
    text: [row["sip.request_line"] ?? row["sip.status_line"],
      ...[["Via", "sip.via"], ["From", "sip.from"], ["To", "sip.to"], ["Call-ID", "sip.call_id"], ["CSeq", "sip.cseq"], ["Contact", "sip.contact"], ["User-Agent", "sip.user_agent"], ["Content-Type", "sip.content_type"]]
        .filter(([, name]) => row[name] !== null).map(([head, name]) => `${head}: ${row[name]}`), "", row["sip.msg_body"] ?? ""].join("\n"),
  }));
  const media = streams.map((row) => ({
    from: end(row, "src"), to: end(row, "dst"), codec: row["media.codec"], packets: row["media.packets"], lost: row["media.lost"],
    jitter: row["media.jitter_mean"], mos: row["media.mos"], start: row["media.start"],
  }));
  return { participants: [...new Set(messages.flatMap((message) => [message.from, message.to]))], messages, media };
}

/** What the layers of a packet say: every column that has a value, by the protocol of its name. */
export async function packet(path, number) {
  const [[row], known] = await Promise.all([rows(`SELECT * FROM ${text(path)} WHERE frame.number = ${Number(number)}`, 1), fields()]);
  const meanings = new Map(known.map((field) => [field.name, field.meaning]));
  const layers = new Map();
  for (const [name, value] of Object.entries(row ?? {})) {
    if (value === null) continue;
    const layer = name.includes(".") ? name.split(".")[0] : "packet";
    if (!layers.has(layer)) layers.set(layer, []);
    layers.get(layer).push({ name, value, meaning: meanings.get(name) });
  }
  return { layers: [...layers].map(([name, list]) => ({ name, fields: list })), bytes: null };
}
