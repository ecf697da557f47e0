//! The fields of a head of HTTP/2.

use std::sync::Arc;

use crate::http::HttpFault;
use crate::http::hpack::Field;

/// Octets of the fields of a head that are kept.
pub const FIELD_OCTETS_MAX: usize = 1 << 16;
/// Fields of a head that are kept.
const FIELDS_MAX: usize = 256;

/// The fields of a head, as many as are kept.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) fields: Vec<(String, String)>,
    octets: usize,
    is_cut: bool,
    /// Some refer to those of earlier frames, which were not seen.
    pub(super) is_unknown: bool,
}

impl Fields {
    pub(super) fn add(&mut self, (name, value): Field) {
        let octets = self.octets.saturating_add(name.len() + value.len());
        if octets > FIELD_OCTETS_MAX || self.fields.len() >= FIELDS_MAX {
            self.is_cut = true;
            return;
        }
        self.octets = octets;
        let text = |text: Arc<str>| text.as_ref().to_owned();
        self.fields.push((text(name), text(value)));
    }

    pub(super) const fn fault(&self) -> Option<HttpFault> {
        match (self.is_cut, self.is_unknown) {
            (true, _) => Some(HttpFault::Fields),
            (false, true) => Some(HttpFault::Missing),
            (false, false) => None,
        }
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        let mut all = self.fields.iter();
        all.any(|(name, _)| names.contains(&name.as_str()))
    }

    /// Whether a field is there that only requests have.
    pub(super) fn is_of_request(&self) -> bool {
        self.has(&[":method", ":path", ":scheme", ":authority"])
    }

    pub(super) fn pseudo(&self, wanted: &str) -> String {
        let found = self.fields.iter().find(|(name, _)| name == wanted);
        found.map_or_else(String::new, |(_, value)| value.clone())
    }
}
