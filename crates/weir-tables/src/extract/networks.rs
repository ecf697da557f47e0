//! Tables of which each row is read from the packets of one VLAN, as networks behind different tags may use the same addresses.

use std::collections::BTreeMap;

use weir_flow::{SharedFlows, vlan};

use super::Extract;
use super::settings::Settings;
use crate::scan::Rows;
use crate::{Column, Row};

/// An extractor for each network. It knows nothing of the packets of the others, but numbers of flows are those of all.
pub(super) struct Networks {
    start: fn(&Settings) -> Box<dyn Extract>,
    settings: Settings,
    columns: Vec<Column>,
    /// The extractors, by the outermost VLAN as [`vlan`] has it, and that of further networks.
    open: BTreeMap<u32, Box<dyn Extract>>,
    /// The notes of those that are finished.
    notes: Vec<String>,
    /// The number of packets of networks beyond the limit.
    further: u64,
}

/// The number of networks with an extractor of their own, at most, as each extractor has its own limits.
const NETWORKS_MAX: usize = 256;
/// The place of the extractor for all further networks.
const FURTHER: u32 = u32::MAX;

impl Networks {
    /// The state before the first packet.
    pub(super) fn new(start: fn(&Settings) -> Box<dyn Extract>, settings: &Settings) -> Self {
        let mut settings = settings.clone();
        settings.networks = Some(SharedFlows::new());
        Self {
            start,
            settings,
            columns: Vec::new(),
            open: BTreeMap::new(),
            notes: Vec::new(),
            further: 0,
        }
    }
}

impl Extract for Networks {
    fn set_columns(&mut self, columns: &[Column]) {
        self.columns = columns.to_vec();
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let mut network = vlan(row.packet);
        if self.open.len() >= NETWORKS_MAX && !self.open.contains_key(&network) {
            network = FURTHER;
            self.further = self.further.saturating_add(1);
        }
        let (start, settings, columns) = (self.start, &self.settings, &self.columns);
        let extract = self.open.entry(network).or_insert_with(|| {
            let mut extract = start(settings);
            extract.set_columns(columns);
            extract
        });
        extract.packet(row, rows);
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        while let Some(mut first) = self.open.first_entry() {
            if first.get_mut().finish(rows) {
                return true;
            }
            self.notes.append(&mut first.remove().notes());
        }
        false
    }

    fn notes(&self) -> Vec<String> {
        let open = self.open.values().flat_map(|extract| extract.notes());
        let mut notes = added_up(self.notes.iter().cloned().chain(open));
        if self.further > 0 {
            notes.push(format!(
                "{} packets are of VLANs that were not distinguished, because there were more than {NETWORKS_MAX}",
                self.further
            ));
        }
        notes
    }
}

/// Notes of several networks, of which those that differ in their count only are one.
fn added_up(notes: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<(String, u64, String)> = Vec::new();
    for note in notes {
        let (before, count, behind) = counted(&note);
        let same = all
            .iter_mut()
            .find(|known| known.0 == before && known.2 == behind);
        match same {
            Some(known) => known.1 = known.1.saturating_add(count),
            None => all.push((before.to_owned(), count, behind.to_owned())),
        }
    }
    let lines = all.into_iter().map(|(before, count, behind)| {
        let number = if behind.is_empty() {
            String::new()
        } else {
            count.to_string()
        };
        format!("{before}{number}{behind}")
    });
    lines.collect()
}

/// A note's text before its count, the count, and the text behind it; all of the text before a note without a count.
fn counted(note: &str) -> (&str, u64, &str) {
    let mut at = 0_usize;
    for word in note.split(' ') {
        let end = at.saturating_add(word.len());
        if let (Ok(count), Some(before), Some(behind)) =
            (word.parse(), note.get(..at), note.get(end..))
        {
            return (before, count, behind);
        }
        at = end.saturating_add(1);
    }
    (note, 0, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_several_networks_are_added_up() {
        let notes = [
            "h248: 3 messages of 16,384 were cut",
            "2 rows are missing",
            "nothing is counted",
            "h248: 4 messages of 16,384 were cut",
            "nothing is counted",
            "h248: 4 messages were long",
        ];
        assert_eq!(
            added_up(notes.iter().map(|note| (*note).to_owned())),
            [
                "h248: 7 messages of 16,384 were cut",
                "2 rows are missing",
                "nothing is counted",
                "h248: 4 messages were long",
            ]
        );
    }
}
