//! Reads a layout with the base layouts that it extends, and merges them into one draft.

use toml::de::DeTable;

use super::Layout;
use super::draft::{Draft, DraftEntry, RecordDraft, TimeDraft};
use super::error::{At, Checked, FaultAt};
use super::read::{
    Defaults, LAYOUT_KEYS, RECORD_KEYS, bit_order, byte_order, bytes, read_entries, read_enum,
    read_header, read_kind, read_pair, read_payloads,
};
use super::source::{Section, Source, Text};

/// The texts of a layout with their paths: the layout itself first (no path), then its bases.
pub(super) type Files = Vec<(Option<String>, String)>;

/// Reads a layout and those that it extends. `files` gets the texts, also when this fails.
pub(super) fn read(
    text: &str,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
    files: &mut Files,
) -> Checked<Draft> {
    files.push((None, text.to_owned()));
    read_file(text, 0, load, files)
}

fn read_file(
    text: &str,
    file: usize,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
    files: &mut Files,
) -> Checked<Draft> {
    let start = At { file, offset: 0 };
    if text.len() > Layout::TEXT_LEN_MAX {
        let expected = format!("a text of at most {} bytes", Layout::TEXT_LEN_MAX);
        let found = format!("{} bytes", text.len());
        return Err(FaultAt::limit(start, "", expected, found));
    }
    let table = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let at = At { file, offset };
        let message = error.message().trim().replace('\n', ", ");
        FaultAt::syntax(at, "", "TOML", format!("an error in it: {message}"))
    })?;
    let whole = Section::whole(table.get_ref(), Source { text, file });
    whole.only(LAYOUT_KEYS)?;
    let mut draft = match whole.text("extends", "the path of a layout")? {
        Some(path) => read_base(&path, load, files)?,
        None => Draft::default(),
    };
    draft.extend_with(&whole)?;
    Ok(draft)
}

fn read_base(
    path: &Text,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
    files: &mut Files,
) -> Checked<Draft> {
    let fault =
        |expected: String, found: String| FaultAt::extends(path.at, "extends", expected, found);
    if files
        .iter()
        .any(|(known, _)| known.as_deref() == Some(path.text.as_str()))
    {
        let found = format!("`{}`, which leads back to itself", path.text);
        return Err(fault(
            "a layout that does not extend itself".to_owned(),
            found,
        ));
    }
    if files.len() > Layout::EXTENDS_MAX {
        let expected = format!(
            "at most {} layouts that extend each other",
            Layout::EXTENDS_MAX
        );
        return Err(fault(expected, "more".to_owned()));
    }
    let text =
        load(&path.text).map_err(|reason| fault("a readable layout file".to_owned(), reason))?;
    let file = files.len();
    files.push((Some(path.text.clone()), text.clone()));
    read_file(&text, file, load, files)
}

impl Draft {
    /// Adds a text to what its base says.
    fn extend_with(&mut self, whole: &Section<'_>) -> Checked<()> {
        let plain = |text: Text| text.text;
        if let Some(name) = whole.text("name", "a text")? {
            self.name = Some(plain(name));
        }
        if let Some(doc) = whole.text("doc", "a text")? {
            self.doc = Some(plain(doc));
        }
        let defaults = Defaults {
            little: byte_order(whole)?.unwrap_or(false),
            least_first: bit_order(whole)?.unwrap_or(false),
        };
        if let Some(file) = whole.section("file")? {
            self.file = read_header(&file)?;
        }
        if let Some(record) = whole.section("record")? {
            self.record.extend_with(&record)?;
        }
        self.add_enums(whole)?;
        let entries = read_entries(whole, defaults, 0)?;
        self.add_entries(entries)?;
        for kind in whole.sections("kind")?.unwrap_or_default() {
            let kind = read_kind(&kind, defaults)?;
            if let Some(same) = self
                .kinds
                .iter()
                .find(|old| old.name.text == kind.name.text)
            {
                let found = format!("`{}`", same.name.text);
                let expected = "a name that no other kind has";
                let at = kind.name.at;
                return Err(FaultAt::duplicate(at, &kind.element, expected, found));
            }
            self.kinds.push(kind);
        }
        if let Some(payloads) = read_payloads(whole)? {
            self.payloads = payloads;
        }
        Ok(())
    }

    fn add_enums(&mut self, whole: &Section<'_>) -> Checked<()> {
        let Some(enums) = whole.section("enum")? else {
            return Ok(());
        };
        for (name, at) in enums.keys() {
            let Some(section) = enums.section(name)? else {
                continue;
            };
            let values = read_enum(&section)?;
            if self.enums.insert(name.to_owned(), values).is_some() {
                let path = enums.path(name);
                let expected = "a name that no base layout uses";
                let found = format!("`{name}`");
                return Err(FaultAt::duplicate(at, &path, expected, found));
            }
        }
        Ok(())
    }

    /// Adds the fields after those of the base, or in place of those that they override.
    fn add_entries(&mut self, entries: Vec<DraftEntry>) -> Checked<()> {
        let base_len = self.entries.len();
        for entry in entries {
            let Some(at) = entry.replaces else {
                if let Some(kind) = self.kinds.first() {
                    let expected = "fields inside a kind, because the base layout has kinds";
                    let found = format!("a field of all records behind kind `{}`", kind.name.text);
                    let fault = FaultAt::place(entry.at, &entry.element, expected, found);
                    return Err(
                        fault.hint("add a `[[kind]]`, or set `override = true` to replace a field")
                    );
                }
                self.entries.push(entry);
                continue;
            };
            let name = entry
                .name
                .as_ref()
                .map_or(String::new(), |name| name.text.clone());
            let element = entry.path("override");
            let base = self.entries.get_mut(..base_len).unwrap_or_default();
            let mut with = Some(entry);
            let mut kinds = self.kinds.iter_mut();
            if !name.is_empty()
                && (replace(base, &name, &mut with)
                    || kinds.any(|kind| replace(&mut kind.entries, &name, &mut with)))
            {
                continue;
            }
            let expected = "the name of a field of the base layout";
            let found = format!("`{name}`");
            return Err(FaultAt::name(at, &element, expected, found));
        }
        Ok(())
    }
}

/// Replaces the field called `name`, also inside groups; true when there was one.
fn replace(entries: &mut [DraftEntry], name: &str, with: &mut Option<DraftEntry>) -> bool {
    entries.iter_mut().any(|entry| {
        if entry.name.as_ref().is_some_and(|own| own.text == name) {
            if let Some(new) = with.take() {
                *entry = new;
            }
            return true;
        }
        entry
            .group
            .as_mut()
            .is_some_and(|group| replace(group, name, with))
    })
}

impl RecordDraft {
    fn extend_with(&mut self, record: &Section<'_>) -> Checked<()> {
        record.only(RECORD_KEYS)?;
        if record.has("length") && record.has("delimiter") {
            let at = record.value_at("delimiter");
            let path = record.path("delimiter");
            let expected = "either a length or a delimiter";
            return Err(FaultAt::key(at, &path, expected, "both"));
        }
        if let Some(length) = record.expression("length")? {
            self.length = Some(length);
            self.delimiter = None;
        }
        if let Some(delimiter) = bytes(record, "delimiter")? {
            self.delimiter = Some(delimiter);
            self.length = None;
        }
        let most = Layout::RECORD_LEN_MAX as u64;
        if let Some(length_max) = record.number("length_max", 1, most)? {
            self.length_max = Some(length_max);
        }
        if record.is_table("time") {
            let pair = record.section("time")?.map(|pair| read_pair(&pair));
            self.time = pair.transpose()?;
        } else if let Some(time) = record.text("time", "the name of a time field")? {
            self.time = Some(TimeDraft::Field(time));
        }
        if let Some(wire_len) = record.expression("wire_len")? {
            self.wire_len = Some(wire_len);
        }
        Ok(())
    }
}
