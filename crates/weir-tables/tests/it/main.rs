//! Does tshark agree?
//!
//! Every capture beside the checkout that is listed (`weir_testkit::captures`) and every generated one is read twice,
//! by a scan of the packets table and by tshark with the reassembly of IP off, and each column that tshark has too is
//! compared record by record. Differences must be in [`differences`], with a reason; from the same list the page
//! `docs/reference/wireshark-differences.md` is made.
//!
//! ```text
//! cargo test -p weir-tables --test it -- --nocapture     the summary, a line a column
//! WEIR_ORACLE_STRIDE=10                                  only every tenth capture
//! WEIR_ORACLE_CAPTURES=FOLDER                            other captures, nothing listed: what is found is printed
//! WEIR_ORACLE_REPORT=FILE                                every (file, column) that differs, as TSV
//! WEIR_BLESS=1                                           writes the page
//! ```

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bundles;
mod call_packets;
mod captures;
mod columns;
mod compare;
mod descriptions;
mod differences;
mod dns;
mod early;
mod early_media;
mod faxes;
mod fields;
mod filters;
mod floods;
mod flow_packets;
mod guesses;
mod late_requests;
mod logs;
mod networks;
mod oracle;
mod quic;
mod relayed;
mod robustness;
mod sealed;
mod segments;
mod several_captures;
mod sip;
mod snap;
mod starttls;
mod tally;
mod transports;
mod tshark;
mod tunnels;
mod untidy;
mod untidy_connections;
mod untidy_counterparts;
mod untidy_handshakes;
mod untidy_media;
mod untidy_mqtt;
mod untidy_segments;
mod untidy_websockets;
mod value;
mod websocket;
mod wire;
mod zeek;
