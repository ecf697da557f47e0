//! The comparison of the program's answers for an untidy capture with those for the tidy one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weir_testkit::untidy::{Account, Capture, Connections, Ends, How};

use super::answers::TableRow;
use super::carriers::carriers;
use super::compare::{
    differences, frames, is_less, is_shorter, is_uncertain, last_frame, likeness,
};
use super::fate::{ConnectionFate, fragmented, is_absent, unidentified};
use super::gone::{lost, unseen};
use super::judged::{JudgedCapture, ends, flows_of_records, id, number};
use super::labels::{Labels, timestamp};
use super::tables::{
    CALL_PACKETS, Dependency, FLOW_PACKETS, FLOWS, LOOKUPS, MEDIA, RowScope, SIGNALLING, STREAM,
    STREAM_DATA, TABLES, TableRule,
};
use super::{overlap, silence, tunnel};

/// Something that does not hold.
#[derive(Clone, Debug)]
pub(super) struct Discrepancy {
    pub(super) table: &'static str,
    /// The broken rule.
    pub(super) rule: &'static str,
    /// The kinds of changes to the connection of the row, without amounts.
    pub(super) hows: BTreeSet<&'static str>,
    /// The rows of the tidy and of the untidy capture, as far as known.
    pub(super) tidy: Option<TableRow>,
    pub(super) untidy: Option<TableRow>,
    pub(super) more: String,
}

/// Everything that does not hold.
pub(super) fn faults(
    tidy: &JudgedCapture<'_>,
    untidy: &JudgedCapture<'_>,
    account: &Account,
) -> Vec<Discrepancy> {
    let mut faults = Vec::new();
    let judge = Judge::new(tidy, untidy, account, &mut faults);
    judge.times(&mut faults);
    for table in TABLES {
        match table.name {
            STREAM => judge.streams(table, &mut faults),
            _ => judge.table(table, &mut faults),
        }
    }
    faults
}

struct Judge<'s> {
    tidy: &'s JudgedCapture<'s>,
    untidy: &'s JudgedCapture<'s>,
    /// The changes of each flow of the tidy capture.
    states: BTreeMap<u64, ConnectionFate>,
    /// The flow of the tidy capture that each one of the untidy capture is.
    flows: BTreeMap<u64, u64>,
    /// The flows of the tidy capture of which it is not known how many they are, each with the first of them.
    undecided: BTreeMap<u64, u64>,
    /// The changes of the other flows in whose packets rows of a flow came.
    carriers: BTreeMap<u64, ConnectionFate>,
    labels: Labels,
    signalling: ConnectionFate,
    call: ConnectionFate,
    all: ConnectionFate,
    /// The frames that are not there any more, or not to the end of their headers, from 1.
    lost: BTreeSet<u64>,
    /// Those of them of which no other frame shows that there was one.
    unseen: BTreeSet<u64>,
    /// The frames that were divided into fragments.
    fragmented: BTreeSet<u64>,
}

impl<'s> Judge<'s> {
    fn new(
        tidy: &'s JudgedCapture<'s>,
        untidy: &'s JudgedCapture<'s>,
        account: &'s Account,
        faults: &mut Vec<Discrepancy>,
    ) -> Self {
        let connections = tidy.capture.connections();
        let by_ends = states(tidy.capture, &connections, account);
        let has_other_times = account.times.values().any(|shift| *shift != 0)
            || account.touches.iter().any(|touch| is_absent(touch.how));
        let mut states = BTreeMap::new();
        for row in tidy.answer.rows(FLOWS) {
            if let (Some(id), Some(ends)) = (id(row), ends(row)) {
                let ends = connections.named(ends);
                let mut state = by_ends.get(&ends).cloned().unwrap_or_default();
                state.is_tcp = ends.protocol == 6;
                state.has_other_times = has_other_times;
                states.insert(id, state);
            }
        }
        let contradicted = overlap::contradicted(tidy.capture);
        let leaping = overlap::leaping(tidy.capture);
        for row in tidy.answer.rows(FLOWS) {
            if let (Some(state), Some(ends)) =
                (id(row).and_then(|id| states.get_mut(&id)), ends(row))
            {
                let ends = connections.named(ends);
                state.has_other_octets = contradicted.contains(&ends)
                    && state.has(|how| matches!(how, How::Moved | How::Lost | How::Split(_)));
                state.has_leaps = leaping.contains(&ends);
            }
        }
        for flow in retimed(tidy, account) {
            states.entry(flow).or_default().is_retimed = true;
        }
        let mut undecided = silence::undecided(tidy, account);
        let joined = silence::joined(tidy, untidy, &states);
        for (flow, other) in joined.into_iter().chain(tunnel::joined(tidy, &states)) {
            let first = *undecided.entry(other).or_insert(other);
            undecided.insert(flow, first);
        }
        let lost = lost(tidy.capture, untidy.capture);
        for (flow, first) in &undecided {
            let mut state = states.get(flow).cloned().unwrap_or_default();
            state.is_undecided = true;
            states.entry(*first).or_default().join(&state);
        }
        let mut judge = Self {
            tidy,
            untidy,
            carriers: carriers(tidy, &states),
            states,
            flows: BTreeMap::new(),
            undecided,
            labels: Labels::new(untidy.capture, account),
            signalling: ConnectionFate::default(),
            call: ConnectionFate::default(),
            all: ConnectionFate::default(),
            unseen: unseen(tidy.capture, &lost),
            lost,
            fragmented: fragmented(account),
        };
        judge.flows = judge.same_flows(faults);
        let carries = |tables: &[&str]| {
            let mut state = ConnectionFate::default();
            for row in tables.iter().flat_map(|table| tidy.answer.rows(table)) {
                state.join(&judge.own(id(row)));
            }
            state
        };
        let (signalling, media) = (carries(SIGNALLING), carries(MEDIA));
        judge.call = signalling.clone();
        judge.call.join(&media);
        judge.signalling = signalling;
        let mut all = ConnectionFate::default();
        for state in judge.states.values() {
            all.join(state);
        }
        judge.all = all;
        judge
    }

    /// The flow of the tidy capture for each flow of the untidy one. The packets of an untidy flow must belong to one tidy flow,
    /// and a tidy flow must not become two, unless packets are missing that distinguish connections, or their timeouts have
    /// passed.
    fn same_flows(&self, faults: &mut Vec<Discrepancy>) -> BTreeMap<u64, u64> {
        let mut tidy_of: BTreeMap<u64, u64> = BTreeMap::new();
        for row in self.tidy.answer.rows(FLOW_PACKETS) {
            let origin = number(row, "frame.number").and_then(|it| self.tidy.origin(it));
            if let (Some(origin), Some(flow)) = (origin, self.tidy_id(row)) {
                tidy_of.insert(origin, flow);
            }
        }
        let mut flows: BTreeMap<u64, u64> = BTreeMap::new();
        let mut back: BTreeMap<u64, u64> = BTreeMap::new();
        for row in self.untidy.answer.rows(FLOW_PACKETS) {
            let origin = number(row, "frame.number").and_then(|it| self.untidy.origin(it));
            let (Some(origin), Some(flow)) = (origin, id(row)) else {
                continue;
            };
            let Some(tidy) = tidy_of.get(&origin).copied() else {
                continue;
            };
            let first = *flows.entry(flow).or_insert(tidy);
            let same = *back.entry(tidy).or_insert(flow);
            let state = self.own(Some(tidy));
            let is_split = same != flow && !state.is_undecided;
            if (first != tidy || is_split) && !state.lacks() {
                faults.push(Discrepancy {
                    table: FLOW_PACKETS,
                    rule: "packets of one flow are packets of one flow",
                    hows: state.names(),
                    tidy: None,
                    untidy: Some(row.clone()),
                    more: format!("frame {origin} of the tidy capture, whose flow is {tidy}"),
                });
            }
        }
        self.same_ends(&mut flows, &tidy_of.into_values().collect());
        flows
    }

    /// Flows without packets of their own, of packets whose fragments did not all come, are those with the same ends. Such flows of the
    /// tidy capture have packets where all fragments came.
    fn same_ends(&self, flows: &mut BTreeMap<u64, u64>, with_packets: &BTreeSet<u64>) {
        let named = |side: &JudgedCapture<'_>| -> Vec<(u64, Ends)> {
            let rows = side.answer.rows(FLOWS).iter();
            rows.filter_map(|row| Some((id(row)?, ends(row)?)))
                .collect()
        };
        let connections = self.tidy.capture.connections();
        let found: BTreeSet<u64> = flows.values().copied().collect();
        let mut left = named(self.tidy);
        left.retain(|(id, ends)| {
            let has_fragments = connections.named(*ends) == ends.hosts();
            let taken = if has_fragments { &found } else { with_packets };
            !taken.contains(&self.first_of(*id))
        });
        for (id, ends) in named(self.untidy) {
            if !flows.contains_key(&id)
                && let Some(at) = left.iter().position(|(_, other)| *other == ends)
            {
                flows.insert(id, left.remove(at).0);
            }
        }
    }

    /// The flow of a row of the tidy capture; the first one where it is not known how many there are.
    fn tidy_id(&self, row: &TableRow) -> Option<u64> {
        id(row).map(|flow| self.first_of(flow))
    }

    fn first_of(&self, flow: u64) -> u64 {
        self.undecided.get(&flow).copied().unwrap_or(flow)
    }

    fn own(&self, flow: Option<u64>) -> ConnectionFate {
        match flow {
            Some(flow) => self.states.get(&flow).cloned().unwrap_or_default(),
            None => self.all.clone(),
        }
    }

    fn state(&self, table: &TableRule, flow: Option<u64>) -> ConnectionFate {
        let mut state = self.own(flow);
        if ![FLOWS, FLOW_PACKETS].contains(&table.name)
            && let Some(carriers) = flow.and_then(|flow| self.carriers.get(&flow))
        {
            state.join(carriers);
        }
        match table.scope {
            RowScope::Own => {}
            RowScope::Signalled => state.join(&self.signalling),
            RowScope::Call => state.join(&self.call),
        }
        state
    }

    /// The time of a row is that of its record.
    fn times(&self, faults: &mut Vec<Discrepancy>) {
        for (name, rows) in &self.untidy.answer.tables {
            for row in rows {
                let frame = number(row, "frame.number")
                    .and_then(|it| self.untidy.capture.frames.get(it as usize - 1));
                let (Some(frame), Some(Value::String(time))) = (frame, row.get("frame.time"))
                else {
                    continue;
                };
                if *time != timestamp(frame.time_ns) {
                    faults.push(Discrepancy {
                        table: name,
                        rule: "the time of a row is the time of its record",
                        hows: BTreeSet::new(),
                        tidy: None,
                        untidy: Some(row.clone()),
                        more: timestamp(frame.time_ns),
                    });
                }
            }
        }
    }

    /// The rows of each flow of the tidy capture, with its numbers, flows and times.
    fn rows(
        &self,
        table: &TableRule,
        side: &JudgedCapture<'_>,
    ) -> BTreeMap<Option<u64>, Vec<TableRow>> {
        let is_untidy = std::ptr::eq(side.capture, self.untidy.capture);
        let mut by_flow: BTreeMap<Option<u64>, Vec<TableRow>> = BTreeMap::new();
        let by_record = match table.name {
            CALL_PACKETS => flows_of_packets(side),
            _ => BTreeMap::new(),
        };
        let rows = side.answer.rows(table.name).iter();
        for row in rows.filter(|row| !tunnel::is_of_dose(table, row)) {
            let mut row = row.clone();
            // A packet belongs to the flow of its record.
            if let Some(flow) = number(&row, "frame.number").and_then(|it| by_record.get(&it)) {
                row.insert("flow.id".to_owned(), (*flow).into());
            }
            let flow = match id(&row) {
                Some(own) if is_untidy => match self.flows.get(&own) {
                    Some(same) => Some(*same),
                    // Added flows have numbers beyond all others.
                    None => Some(ADDED + own),
                },
                _ => self.tidy_id(&row),
            };
            // A row that is complete only at the end of the capture has the time of the last record, of whatever connection.
            if row.get("frame.number").is_some_and(Value::is_null) {
                row.remove("frame.time");
            }
            for (column, value) in &mut row {
                match (table.kind(column), &*value) {
                    _ if column == "flow.id" => *value = flow.into(),
                    (Dependency::Frame | Dependency::WireFrame, Value::Number(number)) => {
                        let origin = number.as_u64().and_then(|it| side.origin(it));
                        *value = origin.map_or_else(|| "added".into(), Value::from);
                    }
                    (Dependency::Time | Dependency::LastTime, Value::String(time)) => {
                        if let Some(label) = self.labels.of(time, is_untidy) {
                            *value = label.into();
                        }
                    }
                    _ => {}
                }
            }
            by_flow.entry(flow).or_default().push(row);
        }
        by_flow
    }

    fn table(&self, table: &'static TableRule, faults: &mut Vec<Discrepancy>) {
        let mut tidy = self.rows(table, self.tidy);
        let mut untidy = self.rows(table, self.untidy);
        let flows: BTreeSet<_> = tidy.keys().chain(untidy.keys()).copied().collect();
        for flow in flows {
            let (mut said, mut says) = (
                tidy.remove(&flow).unwrap_or_default(),
                untidy.remove(&flow).unwrap_or_default(),
            );
            for rows in [&mut said, &mut says] {
                rows.retain(|row| !self.is_of_none(table, row) && !is_added(table, row));
            }
            if flow.is_some_and(|flow| flow >= ADDED) {
                added(table, &says, faults);
                continue;
            }
            let state = self.state(table, flow);
            if !state.judges(table.name) {
                continue;
            }
            let rows = FlowRows {
                table,
                state: &state,
                said: &said,
                says: &says,
            };
            match state.lacks() {
                true => self.less(&rows, faults),
                false => rows.same(faults),
            }
        }
    }

    /// Checks a flow with missing octets: each row must agree with a tidy row as far as it has values, or be marked as uncertain.
    /// A row may be missing only when a change precedes its end and the loss is counted.
    fn less(&self, rows: &FlowRows<'_>, faults: &mut Vec<Discrepancy>) {
        let FlowRows {
            table,
            state,
            said,
            says,
        } = *rows;
        let fault =
            |rule, tidy: Option<&TableRow>, untidy: Option<&TableRow>, more: String| Discrepancy {
                table: table.name,
                rule,
                hows: state.names(),
                tidy: tidy.cloned(),
                untidy: untidy.cloned(),
                more,
            };
        // Lists have what was captured of a datagram that was cut, and the closing note counts such rows.
        let may_be_shorter = !state.is_tcp && state.has(|how| matches!(how, How::Cut(_)));
        let is_less = |row: &TableRow, than: &TableRow| match may_be_shorter {
            true => is_shorter(table, row, than),
            false => is_less(table, row, than),
        };
        for row in says {
            let is_known = said.iter().any(|one| is_less(row, one));
            if !is_known && !is_uncertain(table, row) {
                let nearest = said.iter().max_by_key(|one| likeness(table, row, one));
                faults.push(fault(
                    "a row was there, or says that it is uncertain",
                    nearest,
                    Some(row),
                    String::new(),
                ));
            }
        }
        let first = state.first.unwrap_or(u64::MAX);
        for row in said {
            if says.iter().any(|one| is_less(one, row)) {
                continue;
            }
            let last = last_frame(table, row);
            if last.is_some_and(|last| last < first) {
                let nearest = says.iter().max_by_key(|one| likeness(table, one, row));
                faults.push(fault(
                    "a row is there when nothing before its end was touched",
                    Some(row),
                    nearest,
                    format!("the first frame that was touched is {first}"),
                ));
            } else if !self.is_counted(rows, row) {
                faults.push(fault(
                    "nothing is gone without a count",
                    Some(row),
                    None,
                    String::new(),
                ));
            }
        }
    }

    /// Returns true when a packet of the row is lost, or a count or mark reports missing octets.
    fn is_counted(&self, rows: &FlowRows<'_>, row: &TableRow) -> bool {
        let is_lost =
            |row: &TableRow| number(row, "frame.number").is_some_and(|it| self.lost.contains(&it));
        match rows.table.name {
            // A packet that is not there has no row, and a connection without packets has none.
            FLOW_PACKETS => return is_lost(row),
            FLOWS => return self.is_gone(id(row)),
            CALL_PACKETS if is_lost(row) => return true,
            // A connection that is not there at all has no rows.
            _ if self.is_gone(id(row)) => return true,
            // Datagrams have no numbers that would show how many there were.
            _ if !rows.state.is_tcp => return true,
            // The octets are behind all that was captured or acknowledged.
            _ if frames(rows.table, row).any(|frame| self.unseen.contains(&frame)) => return true,
            _ => {}
        }
        let missed = |side: &JudgedCapture<'_>, flow: Option<u64>| {
            let rows = side.answer.rows(FLOWS).iter();
            let own = rows.filter(
                |row| match std::ptr::eq(side.capture, self.untidy.capture) {
                    true => id(row).and_then(|id| self.flows.get(&id)).copied() == flow,
                    false => self.tidy_id(row) == flow,
                },
            );
            own.filter_map(|row| number(row, "flow.missed_bytes"))
                .sum::<u64>()
        };
        let flow = id(row);
        let is_uncertain = rows.says.iter().any(|row| is_uncertain(rows.table, row));
        let is_cut = rows.state.has(|how| matches!(how, How::Cut(_)));
        is_uncertain || is_cut || missed(self.untidy, flow) > missed(self.tidy, flow)
    }

    /// Returns true for a packet of no flow, as its headers are not there, or for a fragment that waits.
    fn is_of_none(&self, table: &TableRule, row: &TableRow) -> bool {
        let lacks = |it: u64| self.lost.contains(&it) || self.fragmented.contains(&it);
        let has_none = id(row).is_none() && number(row, "frame.number").is_some_and(lacks);
        table.name == FLOW_PACKETS && has_none
    }

    /// Returns true when all packets of a flow are lost.
    fn is_gone(&self, flow: Option<u64>) -> bool {
        let is_lost = |row: &TableRow| {
            let origin = number(row, "frame.number").and_then(|it| self.tidy.origin(it));
            origin.is_some_and(|origin| self.lost.contains(&origin))
        };
        let mut packets = self.tidy.answer.rows(FLOW_PACKETS).iter();
        packets.all(|packet| self.tidy_id(packet) != flow || is_lost(packet))
    }

    /// The octets of each direction are those that were there.
    fn streams(&self, table: &'static TableRule, faults: &mut Vec<Discrepancy>) {
        let tidy = self.rows(table, self.tidy);
        let untidy = self.rows(table, self.untidy);
        for flow in tidy.keys().chain(untidy.keys()).collect::<BTreeSet<_>>() {
            let state = self.state(table, *flow);
            let (said, says) = (
                tidy.get(flow).map_or(&[][..], Vec::as_slice),
                untidy.get(flow).map_or(&[][..], Vec::as_slice),
            );
            if !state.is_tcp {
                let rows = FlowRows {
                    table,
                    state: &state,
                    said,
                    says,
                };
                match state.lacks() {
                    true => self.less(&rows, faults),
                    false => rows.same(faults),
                }
                continue;
            }
            // Streams of several connections have the same octets.
            if state.has(|how| matches!(how, How::Records(_)))
                || state.is_undecided
                || state.has_other_octets
            {
                continue;
            }
            let (said, says) = (directions(said), directions(says));
            let mut fault = |rule, more| {
                faults.push(Discrepancy {
                    table: STREAM,
                    rule,
                    hows: state.names(),
                    tidy: None,
                    untidy: None,
                    more,
                });
            };
            for (way, octets) in &says {
                let before = said.get(way).map_or(&[][..], Vec::as_slice);
                let name = format!("flow {flow:?}, {way}");
                if !state.lacks() {
                    if octets != before {
                        let at = octets.iter().zip(before).position(|(one, two)| one != two);
                        fault(
                            "the octets of a stream are the same",
                            format!(
                                "{name}: {} octets, {} before; the first other one is {at:?}",
                                octets.len(),
                                before.len()
                            ),
                        );
                    }
                    continue;
                }
                let differs = octets.iter().zip(before).position(
                    |(one, two)| matches!((one, two), (Some(one), Some(two)) if one != two),
                );
                // The start of a stream is only known when its SYN was captured.
                if let (Some(at), true) = (differs, self.has_syns(*flow)) {
                    fault(
                        "each octet of a stream is the one that was there",
                        format!("{name}: octet {at} is another"),
                    );
                }
            }
            if !state.lacks() && said.len() != says.len() {
                fault(
                    "a direction that said something says something",
                    format!("flow {flow:?}: {:?}, {:?} before", says.keys(), said.keys()),
                );
            }
        }
    }

    /// Returns true when both SYNs of a flow are in the capture.
    fn has_syns(&self, flow: Option<u64>) -> bool {
        let tidy = self.tidy.capture;
        let connections = tidy.connections();
        let own = self
            .tidy
            .answer
            .rows(FLOWS)
            .iter()
            .find(|row| id(row) == flow);
        let ends = own.and_then(ends).map(|ends| connections.named(ends));
        let mut ways = BTreeSet::new();
        for frame in &tidy.frames {
            let Some(header) = tidy.header(frame) else {
                continue;
            };
            if Some(connections.ends(&header)) != ends {
                continue;
            }
            if header.tcp.is_some_and(|tcp| tcp.has(2)) {
                if frame
                    .origin
                    .is_some_and(|origin| self.lost.contains(&(origin as u64 + 1)))
                {
                    return false;
                }
                ways.insert(header.from_low());
            }
        }
        ways.len() == 2
    }
}

/// The rows of one flow.
#[derive(Clone, Copy)]
struct FlowRows<'r> {
    table: &'static TableRule,
    state: &'r ConnectionFate,
    said: &'r [TableRow],
    says: &'r [TableRow],
}

impl FlowRows<'_> {
    /// Checks a flow without missing octets: the rows are equal in all columns that its changes must not affect.
    fn same(&self, faults: &mut Vec<Discrepancy>) {
        let Self {
            table,
            state,
            said,
            says,
        } = *self;
        let text = |row: &TableRow| {
            let kept = row
                .iter()
                .filter(|(column, _)| state.keeps(table.kind(column)));
            let kept: Vec<_> = kept
                .map(|(column, value)| format!("{column}={value}"))
                .collect();
            kept.join("\n")
        };
        // The number of rows of each text, in the tidy and in the untidy capture.
        let mut counts: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for row in said {
            counts.entry(text(row)).or_default().0 += 1;
        }
        for row in says {
            counts.entry(text(row)).or_default().1 += 1;
        }
        let is_many = [FLOW_PACKETS, CALL_PACKETS].contains(&table.name) || state.is_again();
        let is_gone = |(before, now): (i64, i64)| now < before && !(is_many && now > 0);
        let is_new = |(before, now): (i64, i64)| now > before && !(is_many && before > 0);
        // The copy of an answer is the answer to a question that was sent again, unless an identification says that it is a copy.
        let is_answered_now = |row: &TableRow| {
            let may_be = table.name == LOOKUPS && state.has_unidentified_copies;
            may_be && says.iter().any(|one| is_less(table, row, one))
        };
        let gone = said.iter().find(|row| {
            counts.get(&text(row)).copied().is_some_and(is_gone) && !is_answered_now(row)
        });
        let new = says
            .iter()
            .filter(|row| counts.get(&text(row)).copied().is_some_and(is_new));
        // A datagram that comes again may have a row that says less: a question whose answer belongs to the first one.
        let mut new =
            new.filter(|row| !state.is_again() || !said.iter().any(|one| is_less(table, row, one)));
        let first = match gone {
            Some(gone) => new.max_by_key(|row| likeness(table, row, gone)),
            None => new.next(),
        };
        let rule = match (gone, first) {
            (None, None) => return,
            (Some(_), Some(_)) => "a row is the same",
            (Some(_), None) => "a row is there",
            (None, Some(_)) => "no row is more",
        };
        faults.push(Discrepancy {
            table: table.name,
            rule,
            hows: state.names(),
            tidy: gone.cloned(),
            untidy: first.cloned(),
            more: gone.zip(first).map_or_else(String::new, |(one, two)| {
                differences(table, state, one, two)
            }),
        });
    }
}

/// Returns true for a packet that was added to a flow of the tidy capture. No message may have come in it.
fn is_added(table: &TableRule, row: &TableRow) -> bool {
    let is_flow_of_tidy = id(row).is_some_and(|flow| flow < ADDED);
    let number = row.get("frame.number").and_then(Value::as_str);
    table.name == FLOW_PACKETS && is_flow_of_tidy && number == Some("added")
}

/// A flow that has no packet of the tidy capture is a refused attempt, or was closed without data, and has no messages.
fn added(table: &'static TableRule, says: &[TableRow], faults: &mut Vec<Discrepancy>) {
    let is_closed = |state: &Value| state == "REJ" || state == "SF";
    for row in says {
        let is_right = match table.name {
            FLOW_PACKETS => true,
            FLOWS => row.get("flow.state").is_some_and(is_closed),
            _ => false,
        };
        if !is_right {
            faults.push(Discrepancy {
                table: table.name,
                rule: "an added connection was rejected or closed, and has no messages",
                hows: BTreeSet::from(["attempts"]),
                tidy: None,
                untidy: Some(row.clone()),
                more: String::new(),
            });
        }
    }
}

/// The flow of each record, with the fragments of a packet that came before its last one: these have no flow of their own yet.
fn flows_of_packets(side: &JudgedCapture<'_>) -> BTreeMap<u64, u64> {
    let mut flows = flows_of_records(side.answer);
    let known = flows.iter();
    let of_origins: BTreeMap<u64, u64> = known
        .filter_map(|(record, flow)| Some((side.origin(*record)?, *flow)))
        .collect();
    for record in 1..=side.capture.frames.len() as u64 {
        let origin = side.origin(record);
        if let Some(flow) = origin.and_then(|origin| of_origins.get(&origin)) {
            flows.entry(record).or_insert(*flow);
        }
    }
    flows
}

/// The changes of each connection.
fn states(
    tidy: &Capture,
    connections: &Connections,
    account: &Account,
) -> BTreeMap<Ends, ConnectionFate> {
    let mut states: BTreeMap<Ends, ConnectionFate> = BTreeMap::new();
    let unidentified = unidentified(tidy);
    for touch in &account.touches {
        let state = states.entry(touch.ends).or_default();
        state.hows.insert(touch.how);
        state.has_unidentified_copies |=
            touch.how == How::Doubled && unidentified.contains(&touch.origin);
        let number = touch.origin as u64 + 1;
        state.first = Some(state.first.map_or(number, |first| first.min(number)));
    }
    // The times of a connection are others when not all are as much later.
    let mut shifts: BTreeMap<Ends, i64> = BTreeMap::new();
    for frame in &tidy.frames {
        let (Some(header), Some(origin)) = (tidy.header(frame), frame.origin) else {
            continue;
        };
        let ends = connections.ends(&header);
        let shift = account.times.get(&origin).copied().unwrap_or(0);
        if *shifts.entry(ends).or_insert(shift) != shift {
            states.entry(ends).or_default().is_retimed = true;
        }
    }
    states
}

/// Flows of which not all packets are as much later, by the program's own table: behind headers that are not known here, too.
fn retimed(tidy: &JudgedCapture<'_>, account: &Account) -> BTreeSet<u64> {
    let shift = |row: &TableRow| {
        let origin = number(row, "frame.number").and_then(|it| tidy.origin(it))?;
        let origin = usize::try_from(origin.checked_sub(1)?).ok()?;
        Some(account.times.get(&origin).copied().unwrap_or(0))
    };
    let mut shifts: BTreeMap<u64, i64> = BTreeMap::new();
    let rows = tidy.answer.rows(FLOW_PACKETS).iter();
    let packets = rows.filter_map(|row| Some((id(row)?, shift(row)?)));
    packets
        .filter(|(flow, shift)| *shifts.entry(*flow).or_insert(*shift) != *shift)
        .map(|(flow, _)| flow)
        .collect()
}

/// The octets of each direction of a stream; `None` for those that are missing.
fn directions(rows: &[TableRow]) -> BTreeMap<String, Vec<Option<u8>>> {
    let mut directions: BTreeMap<String, Vec<Option<u8>>> = BTreeMap::new();
    for row in rows {
        let Some(data) = row.get(STREAM_DATA).and_then(Value::as_str) else {
            continue;
        };
        let at = number(row, "stream.offset").unwrap_or(0) as usize;
        let way = format!("from {}", row.get("port.src").unwrap_or(&Value::Null));
        let octets = directions.entry(way).or_default();
        let end = at + data.len() / 2;
        if at > 1 << 26 {
            continue;
        }
        octets.resize(octets.len().max(end), None);
        for (index, to) in octets[at..end].iter_mut().enumerate() {
            *to = data
                .get(2 * index..2 * index + 2)
                .and_then(|two| u8::from_str_radix(two, 16).ok());
        }
    }
    directions
}

/// Numbers of flows that no flow of the tidy capture has.
const ADDED: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use weir_testkit::untidy::{Dose, Plan};

    use super::super::answers::TableAnswers;
    use super::*;

    /// A question of DNS and its answer.
    fn capture() -> Capture {
        let files = weir_testkit::demo::demo_files().unwrap();
        let voip = files
            .into_iter()
            .find(|(file, _)| file.file_name == "voip.pcap");
        let mut capture = Capture::read(&voip.unwrap().1).unwrap();
        capture.frames.truncate(2);
        capture
    }

    /// A made-up answer for these frames of the capture, with a row in `dns` for each name.
    fn answer(capture: &Capture, frames: &[(u64, &str)]) -> TableAnswers {
        let row = |value: Value| value.as_object().unwrap().clone();
        let flow = row(serde_json::json!({
            "flow.id": 1, "ip.proto": 17, "addr.src": "10.1.0.5", "port.src": 40001,
            "addr.dst": "10.1.0.1", "port.dst": 53, "flow.missed_bytes": 0,
        }));
        let packets = (1..=capture.frames.len())
            .map(|number| row(serde_json::json!({"frame.number": number, "flow.id": 1})));
        let dns = frames.iter().map(|(number, name)| {
            let time = timestamp(capture.frames[*number as usize - 1].time_ns);
            row(serde_json::json!({
                "frame.number": number, "frame.time": time, "flow.id": 1, "dns.qry.name": name,
            }))
        });
        TableAnswers {
            tables: BTreeMap::from([
                (FLOWS, vec![flow]),
                (FLOW_PACKETS, packets.collect()),
                ("dns", dns.collect()),
            ]),
        }
    }

    /// The rules that are broken when the program says this of the capture with one dose.
    fn broken(dose: Dose, only: usize, says: &[(u64, &str)]) -> Vec<&'static str> {
        let tidy = capture();
        let mut plan = Plan::new(1, vec![dose]);
        plan.only = Some(BTreeSet::from([only]));
        let (untidy, account) = plan.apply(&tidy);
        let (before, now) = (answer(&tidy, &[(1, "a"), (2, "b")]), answer(&untidy, says));
        let tidy = JudgedCapture {
            capture: &tidy,
            answer: &before,
        };
        let untidy = JudgedCapture {
            capture: &untidy,
            answer: &now,
        };
        let faults = faults(&tidy, &untidy, &account);
        faults.into_iter().map(|fault| fault.rule).collect()
    }

    #[test]
    fn what_is_not_touched_has_to_be_the_same() {
        let nothing = Dose::Tags { per_mille: 0 };
        assert!(broken(nothing, 0, &[(1, "a"), (2, "b")]).is_empty());
        assert_eq!(
            broken(nothing, 0, &[(1, "a"), (2, "c")]),
            ["a row is the same"]
        );
        assert_eq!(broken(nothing, 0, &[(1, "a")]), ["a row is there"]);
        let more = broken(nothing, 0, &[(1, "a"), (2, "b"), (2, "b")]);
        assert_eq!(more, ["no row is more"]);
    }

    #[test]
    fn what_comes_twice_says_the_same_twice() {
        let twice = Dose::Duplicates {
            per_mille: 1_000,
            distance: 0,
        };
        assert!(broken(twice, 1, &[(1, "a"), (2, "b"), (3, "b")]).is_empty());
        assert_eq!(
            broken(twice, 1, &[(1, "a"), (2, "b"), (3, "c")]),
            ["no row is more"]
        );
    }

    #[test]
    fn a_fragment_is_of_the_flow_of_its_packet() {
        let tidy = capture();
        let dose = Dose::Fragments {
            per_mille: 1_000,
            octets: 24,
        };
        let (untidy, _) = Plan::new(1, vec![dose]).apply(&tidy);
        let last = untidy.frames.iter().rposition(|it| it.origin == Some(0));
        let last = last.unwrap() as u64 + 1;
        assert!(last > 1);
        let row = serde_json::json!({"frame.number": last, "flow.id": 7});
        let row = row.as_object().unwrap().clone();
        let answer = TableAnswers {
            tables: BTreeMap::from([(FLOW_PACKETS, vec![row])]),
        };
        let side = JudgedCapture {
            capture: &untidy,
            answer: &answer,
        };
        let flows = flows_of_packets(&side);
        let expected: BTreeMap<u64, u64> = (1..=last).map(|record| (record, 7)).collect();
        assert_eq!(flows, expected);
    }

    /// Of an answer without an identification nothing shows whether it is a copy of the one before.
    #[test]
    fn the_copy_of_an_answer_may_be_that_of_a_question_that_was_sent_again() {
        let row = |code: Option<u8>| {
            let row = serde_json::json!({"lookup.query": "a", "lookup.rcode": code});
            row.as_object().unwrap().clone()
        };
        let said = [row(Some(0)), row(None)];
        let says = [row(Some(0)), row(Some(0))];
        let faults = |has_unidentified_copies: bool| {
            let state = ConnectionFate {
                hows: BTreeSet::from([How::Doubled]),
                has_unidentified_copies,
                ..ConnectionFate::default()
            };
            let rows = FlowRows {
                table: TABLES.iter().find(|it| it.name == LOOKUPS).unwrap(),
                state: &state,
                said: &said,
                says: &says,
            };
            let mut faults = Vec::new();
            rows.same(&mut faults);
            faults.len()
        };
        assert_eq!([faults(false), faults(true)], [1, 0]);
    }

    #[test]
    fn what_is_lost_takes_nothing_else_with_it() {
        let loss = Dose::Loss { per_mille: 1_000 };
        assert!(broken(loss, 1, &[(1, "a")]).is_empty());
        assert_eq!(
            broken(loss, 1, &[(1, "c")]),
            [
                "a row was there, or says that it is uncertain",
                "a row is there when nothing before its end was touched",
            ]
        );
        assert_eq!(
            broken(loss, 1, &[]),
            ["a row is there when nothing before its end was touched"]
        );
    }

    #[test]
    fn times_are_written_as_the_program_writes_them() {
        for (ns, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_827_696_000_000_001, "2000-02-29T12:34:56.000000001Z"),
            (1_767_225_600_123_456_789, "2026-01-01T00:00:00.123456789Z"),
        ] {
            assert_eq!(timestamp(ns), text);
        }
    }
}
