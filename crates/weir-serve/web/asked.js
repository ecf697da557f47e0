// What the page asks in SQL beside what the server draws.

import { Query } from "./api.js";
import { text } from "./sql.js";

/** The streams of RTP of a call, as a ladder has them: what they lost and how they sound. */
export async function media(path, callId) {
  const answer = await new Query(`SELECT addr.src, port.src, addr.dst, port.dst, media.codec, media.packets, media.lost, media.jitter_mean,
       media.mos, media.start
FROM media(${text(path)}) WHERE sip.call_id = ${text(callId)} ORDER BY media.start`, { limit: 1_000 }).answer;
  return answer.rows.map(([source, sourcePort, target, targetPort, codec, packets, lost, jitter, mos, start]) => ({
    from: `${source}:${sourcePort}`, to: `${target}:${targetPort}`, codec, packets, lost, jitter, mos, start,
  }));
}
