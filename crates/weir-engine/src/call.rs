//! The packets of a call.

/// The query of `packets` for those that carry a call: its SIP messages with `call_id`, and the RTP and RTCP that its SDP
/// announced. `captures` are the arguments of a table function, as SQL writes them; so is `call_id`.
///
/// ```
/// let query = weir_engine::packets_of_call("'trace.pcap'", "'a84b4c76e66710'");
/// assert!(query.starts_with("SELECT p.*"));
/// ```
#[must_use]
pub fn packets_of_call(captures: &str, call_id: &str) -> String {
    let of_table = |table: &str| {
        format!(
            "SELECT frame.file AS of_file, frame.number AS of_number FROM {table}({captures}) WHERE sip.call_id = {call_id}"
        )
    };
    let all = ["sip", "rtp", "rtcp"].map(of_table).join(" UNION ");
    format!(
        "SELECT p.* FROM packets({captures}) p JOIN ({all}) m ON p.frame.number = m.of_number AND \
         p.frame.file = m.of_file ORDER BY p.frame.file, p.frame.number"
    )
}
