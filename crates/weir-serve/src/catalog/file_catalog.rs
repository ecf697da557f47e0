//! The files of a server as relations of the catalog, with their OIDs.

use std::collections::HashMap;

use super::identifier::name_parts;
use super::relation::{RELATIONS, relation};
use crate::columns::Columns;
use crate::files::{Listed, SCHEMA};

/// The files below the roots of a server as relations of its catalog.
#[derive(Debug)]
pub(crate) struct FileCatalog {
    pub(super) columns: Columns,
    /// Statements of the server may only read.
    pub(super) is_read_only: bool,
}

impl FileCatalog {
    pub(crate) const fn new(columns: Columns, is_read_only: bool) -> Self {
        Self {
            columns,
            is_read_only,
        }
    }

    /// The files that are tables, with their OIDs, which are the same in all processes.
    pub(super) fn files(&self) -> Vec<(i64, Listed)> {
        let mut taken = HashMap::new();
        let files = self.columns.tables().into_iter().map(|file| {
            let mut oid = file_oid(&file.name);
            while taken.insert(oid, ()).is_some() {
                oid = next_oid(oid);
            }
            (oid, file)
        });
        files.collect()
    }

    /// The number of a relation that a text names, as `regclass` reads it: a number, or a name with or without its schema.
    pub(super) fn oid_of(&self, text: &str) -> Option<i64> {
        if let Ok(oid) = text.parse() {
            return Some(oid);
        }
        let (schema, name) = match name_parts(text)?.as_slice() {
            [name] => (None, name.clone()),
            [schema, name] => (Some(schema.clone()), name.clone()),
            // A file may be named without quotes.
            [_, ..] => (None, text.to_owned()),
            [] => return None,
        };
        if let Some(known) = relation(schema.as_deref(), &name) {
            return Some(known.oid);
        }
        let names = [name.as_str(), text];
        let files = self.files().into_iter();
        let mut files = files.filter(|(_, file)| names.contains(&file.name.as_str()));
        files.next().map(|(oid, _)| oid)
    }

    /// The schema and the name of a relation.
    pub(super) fn relation_of(&self, oid: i64) -> Option<(&'static str, String)> {
        if oid < FILES_BEGIN {
            let known = RELATIONS.iter().find(|relation| relation.oid == oid)?;
            return Some((known.schema, known.name.to_owned()));
        }
        let mut files = self.files().into_iter();
        let (_, file) = files.find(|(known, _)| *known == oid)?;
        Some((SCHEMA, file.name))
    }

    /// The bytes of a file that a number or a name means; other relations have none.
    pub(super) fn bytes_of(&self, text: &str) -> Option<i64> {
        let oid = self.oid_of(text)?;
        let mut files = self.files().into_iter();
        let file = files.find(|(known, _)| *known == oid);
        Some(file.map_or(0, |(_, file)| bytes(file.size)))
    }

    /// The bytes of all files.
    pub(super) fn bytes(&self) -> i64 {
        let files = self.columns.tables().into_iter();
        bytes(files.map(|file| file.size).fold(0, u64::saturating_add))
    }
}

fn bytes(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// The number of a file by its name (FNV-1a), so that all processes give it the same.
fn file_oid(name: &str) -> i64 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    FILES_BEGIN + i64::from(hash) % (OIDS_MAX - FILES_BEGIN)
}

/// The OID after one that is in use.
const fn next_oid(oid: i64) -> i64 {
    match oid + 1 < OIDS_MAX {
        true => oid + 1,
        false => FILES_BEGIN,
    }
}

/// Numbers of what PostgreSQL does not have of its own begin here.
const FILES_BEGIN: i64 = 16_385;
/// Clients hold numbers as 32 bits with a sign.
const OIDS_MAX: i64 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_files_are_in_their_range() {
        for name in ["", "office.pcapng", "a/b c.pcap", "\u{1f980}"] {
            assert!((FILES_BEGIN..OIDS_MAX).contains(&file_oid(name)), "{name}");
        }
        assert_ne!(file_oid("a.pcap"), file_oid("b.pcap"));
        assert_eq!(next_oid(OIDS_MAX - 1), FILES_BEGIN);
    }
}
