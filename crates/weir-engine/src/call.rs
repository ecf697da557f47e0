//! The packets of a call.

/// The query of `packets` for those that carry a call, as `call_packets` has them: all that its SIP messages with `call_id` came
/// in, fragments and segments too, and the RTP, RTCP and T.38 that its SDP announced. `captures` are the arguments of a table function, as SQL writes them; so is `call_id`.
///
/// ```
/// let query = weir_engine::packets_of_call("'trace.pcap'", "'a84b4c76e66710'");
/// assert!(query.starts_with("SELECT p.*"));
/// ```
#[must_use]
pub fn packets_of_call(captures: &str, call_id: &str) -> String {
    let all = format!(
        "SELECT DISTINCT frame.file AS of_file, frame.number AS of_number FROM call_packets({captures}) \
         WHERE sip.call_id = {call_id}"
    );
    format!(
        "SELECT p.* FROM packets({captures}) p JOIN ({all}) m ON p.frame.number = m.of_number AND \
         p.frame.file = m.of_file ORDER BY p.frame.file, p.frame.number"
    )
}

/// The query of `packets` for the packets of flows, with all fragments that carried them. `captures` are the arguments of a table
/// function, as SQL writes them; `flows` is a list of flow numbers.
///
/// ```
/// let query = weir_engine::packets_of_flows("'trace.pcap'", "4, 5");
/// assert!(query.starts_with("SELECT p.*"));
/// ```
#[must_use]
pub fn packets_of_flows(captures: &str, flows: &str) -> String {
    let of = |table: &str| {
        format!(
            "SELECT frame.file AS of_file, frame.number AS of_number FROM {table}({captures}) WHERE flow.id IN ({flows})"
        )
    };
    // A fragment that completes its packet is in both.
    let all = format!("{} UNION {}", of("flow_packets"), of("flow_fragments"));
    format!(
        "SELECT p.* FROM packets({captures}) p JOIN ({all}) m ON p.frame.number = m.of_number AND \
         p.frame.file = m.of_file ORDER BY p.frame.file, p.frame.number"
    )
}
