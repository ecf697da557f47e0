//! Tables of which each row is read from the packets of one VLAN, as networks behind different tags may use the same addresses.

use std::collections::BTreeMap;

use weir_flow::{SharedFlows, vlan};

use super::extraction::Extract;
use super::note::Note;
use super::settings::Settings;
use crate::rows::Rows;
use crate::{Column, Row};

/// An extractor for each network. It knows nothing of the packets of the others, but numbers of flows are those of all.
pub(super) struct Networks {
    start: fn(&Settings) -> Box<dyn Extract>,
    settings: Settings,
    columns: Vec<Column>,
    /// Whether the extractors [keep](Extract::keeps_records) the numbers of records.
    keeps_records: bool,
    /// The extractors, by the outermost VLAN as [`vlan`] has it, and that of further networks.
    open: BTreeMap<u32, Box<dyn Extract>>,
    /// The notes of those that are finished.
    notes: Vec<Note>,
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
        let keeps_records = start(settings).keeps_records();
        let mut settings = settings.clone();
        settings.networks = Some(SharedFlows::new());
        Self {
            start,
            settings,
            columns: Vec::new(),
            keeps_records,
            open: BTreeMap::new(),
            notes: Vec::new(),
            further: 0,
        }
    }
}

impl Extract for Networks {
    fn keeps_records(&self) -> bool {
        self.keeps_records
    }

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

    fn notes(&self) -> Vec<Note> {
        let open = self.open.values().flat_map(|extract| extract.notes());
        let mut notes = Note::sum(self.notes.iter().cloned().chain(open));
        let further = format!(
            "packets are of VLANs that were not distinguished, because there were more than {NETWORKS_MAX}"
        );
        notes.extend(Note::of("", [(self.further, further)]));
        notes
    }
}
