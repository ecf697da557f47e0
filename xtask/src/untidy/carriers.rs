//! Flows whose rows came in packets of other flows: what a tunnel carries is of the flow of the tunnel's first packet, whichever way
//! its packets went.

use std::collections::BTreeMap;

use super::fate::ConnectionFate;
use super::judged::{JudgedCapture, flows_of_records, id, number};
use super::tables::{CALL_PACKETS, FLOW_PACKETS, FLOWS};

/// The changes of the other flows in whose packets rows of a flow came.
pub(super) fn carriers(
    tidy: &JudgedCapture<'_>,
    states: &BTreeMap<u64, ConnectionFate>,
) -> BTreeMap<u64, ConnectionFate> {
    let of_records = flows_of_records(tidy.answer);
    let mut carriers: BTreeMap<u64, ConnectionFate> = BTreeMap::new();
    for (table, rows) in &tidy.answer.tables {
        if [FLOWS, FLOW_PACKETS, CALL_PACKETS].contains(table) {
            continue;
        }
        for row in rows {
            let carrier = number(row, "frame.number").and_then(|it| of_records.get(&it));
            if let (Some(flow), Some(carrier)) = (id(row), carrier)
                && flow != *carrier
                && let Some(state) = states.get(carrier)
            {
                carriers.entry(flow).or_default().join(state);
            }
        }
    }
    carriers
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_testkit::untidy::{Capture, How};

    use super::super::answers::TableAnswers;
    use super::super::tables::STREAM;
    use super::*;

    #[test]
    fn a_row_depends_on_the_flow_of_its_packet() {
        let row = |frame: u64, flow: u64| {
            let row = json!({"frame.number": frame, "flow.id": flow});
            row.as_object().unwrap().clone()
        };
        let answer = TableAnswers {
            tables: BTreeMap::from([
                (FLOW_PACKETS, vec![row(1, 2), row(2, 3), row(3, 4)]),
                (STREAM, vec![row(1, 2), row(2, 2), row(3, 4)]),
            ]),
        };
        let capture = Capture::default();
        let tidy = JudgedCapture {
            capture: &capture,
            answer: &answer,
        };
        let mut lost = ConnectionFate::default();
        lost.hows.insert(How::Lost);
        let found = carriers(&tidy, &BTreeMap::from([(3, lost)]));
        assert!(found[&2].lacks());
        assert_eq!(found.len(), 1);
    }
}
