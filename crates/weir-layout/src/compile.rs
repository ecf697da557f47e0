//! Places the fields of a draft and makes the steps that decode a record.

use std::collections::HashMap;

use super::draft::{Draft, DraftEntry, KindDraft, PayloadDraft};
use super::error::{At, Checked, FaultAt};
use super::expression::{EvalError, Expr};
use super::field::{FieldPlace, NONE};
use super::machine::{MachineStep, Size};
use super::parser::{self, FieldNames};
use super::source::Text;
use super::{Column, ColumnOutput, Layout};
use weir_packet::Kind;

/// Works through a draft from the first field to the last.
#[derive(Default)]
pub(super) struct Compiler {
    pub(super) layout: Layout,
    /// The position of each field in the text, for errors that are found later.
    pub(super) origins: Vec<(At, String)>,
    pub(super) names: HashMap<String, u16>,
    /// Names of columns that belong to no field of that name.
    extra_names: HashMap<String, ()>,
    pub(super) named_enums: HashMap<String, u16>,
    cursor: Cursor,
    /// Bit order of the last bit field.
    pub(super) least_first: bool,
    /// End of the fields at fixed places of the present group.
    group_high: u32,
    pub(super) group: u16,
    /// The group around each group, or [`NONE`].
    parents: Vec<u16>,
    /// Fields and groups of fields so far.
    entries: usize,
}

/// The position of the next field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// This many bits behind the start of the record.
    Fixed(u64),
    /// The position is the current one of decoding, plus this number of bits (0 to 7).
    Moving(u32),
}

impl Cursor {
    /// The bit of its byte.
    fn bit(self) -> u64 {
        match self {
            Self::Fixed(bits) => bits % 8,
            Self::Moving(bit) => u64::from(bit),
        }
    }
}

impl Default for Cursor {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

/// A group that has been begun.
struct Open {
    /// The step that decides about it.
    step: usize,
    group: u16,
    outer: u16,
    outer_high: u32,
    start: Cursor,
}

impl Compiler {
    pub(super) fn compile(draft: Draft) -> Checked<Layout> {
        let mut compiler = Self {
            group: NONE,
            ..Self::default()
        };
        compiler.layout.name = draft.name.unwrap_or_default();
        compiler.layout.doc = draft.doc.unwrap_or_default();
        compiler.layout.file_header_len = draft.file.header_len;
        compiler.layout.magic = draft.file.magic;
        for (name, values) in draft.enums {
            let index = compiler.add_enum(values.names)?;
            compiler.named_enums.insert(name, index);
        }
        if !draft.kinds.is_empty() {
            compiler.extra_names.insert("kind".to_owned(), ());
            compiler.add_column(
                "kind",
                Kind::Text,
                "Kind of the record",
                None,
                ColumnOutput::Kind,
            );
        }
        compiler.entries(draft.entries)?;
        let mut payloads = Vec::new();
        compiler.kinds(draft.kinds, &mut payloads)?;
        payloads.extend(draft.payloads.into_iter().map(|payload| (NONE, payload)));
        compiler.finish(&draft.record, payloads)
    }

    fn entries(&mut self, entries: Vec<DraftEntry>) -> Checked<()> {
        entries.into_iter().try_for_each(|entry| self.entry(entry))
    }

    fn entry(&mut self, mut entry: DraftEntry) -> Checked<()> {
        self.entries += 1;
        if self.entries > Layout::FIELDS_MAX {
            let expected = format!("at most {} fields", Layout::FIELDS_MAX);
            return Err(FaultAt::limit(entry.at, &entry.element, expected, "more"));
        }
        let Some(inner) = entry.group.take() else {
            return self.field(entry);
        };
        entry.only_group_keys()?;
        let open = match &entry.when {
            Some(when) => Some(self.begin(Some(when), NONE, &entry.element, entry.at)?),
            None => None,
        };
        if let Some(place) = &entry.place {
            self.seek(place, 0, &entry.element, NONE)?;
        }
        self.entries(inner)?;
        match open {
            Some(open) => self.end(&open, &entry.element, entry.at),
            None => Ok(()),
        }
    }

    fn field(&mut self, entry: DraftEntry) -> Checked<()> {
        let open = match &entry.when {
            Some(when) => Some(self.begin(Some(when), NONE, &entry.element, entry.at)?),
            None => None,
        };
        let (element, at) = (entry.element.clone(), entry.at);
        self.place_field(entry)?;
        match open {
            Some(open) => self.end(&open, &element, at),
            None => Ok(()),
        }
    }

    /// Begins fields that are there only when `when` holds.
    fn begin(&mut self, when: Option<&Text>, kind: u16, element: &str, at: At) -> Checked<Open> {
        let when = match when {
            Some(when) => Some(self.expression(when, &format!("{element}.when"))?),
            None => None,
        };
        self.whole_byte(element, at)?;
        if let Cursor::Fixed(bits) = self.cursor {
            self.layout.steps.push(MachineStep::Go(bytes_of(bits)));
        }
        let group = self.layout.groups;
        self.layout.groups += 1;
        self.parents.push(self.group);
        let step = self.layout.steps.len();
        self.layout.steps.push(MachineStep::Group {
            when,
            group,
            kind,
            skip: 0,
        });
        let open = Open {
            step,
            group,
            outer: self.group,
            outer_high: self.group_high,
            start: self.cursor,
        };
        self.group = group;
        self.group_high = 0;
        Ok(open)
    }

    fn end(&mut self, open: &Open, element: &str, at: At) -> Checked<()> {
        self.whole_byte(element, at)?;
        if let Cursor::Fixed(bits) = self.cursor
            && (self.cursor != open.start || self.group_high > 0)
        {
            self.layout.steps.push(MachineStep::Pass {
                cursor: bytes_of(bits),
                high: self.group_high.max(bytes_of(bits)),
                field: u16::try_from(self.layout.fields.len())
                    .unwrap_or(NONE)
                    .saturating_sub(1),
            });
        }
        let next = u16::try_from(self.layout.steps.len()).unwrap_or(u16::MAX);
        if let Some(MachineStep::Group { skip, .. }) = self.layout.steps.get_mut(open.step) {
            *skip = next;
        }
        if self.cursor != open.start {
            self.cursor = Cursor::Moving(0);
        }
        self.group = open.outer;
        self.group_high = open.outer_high;
        Ok(())
    }

    /// Kinds exclude each other, so that each begins where the common fields end.
    fn kinds(
        &mut self,
        kinds: Vec<KindDraft>,
        payloads: &mut Vec<(u16, PayloadDraft)>,
    ) -> Checked<()> {
        let count = kinds.len();
        if count > Layout::KINDS_MAX {
            let at = kinds.first().map_or(At::default(), |kind| kind.at);
            let expected = format!("at most {} kinds", Layout::KINDS_MAX);
            return Err(FaultAt::limit(at, "kind", expected, count.to_string()));
        }
        let start = self.cursor;
        let mut moved = false;
        for (index, kind) in (0_u16..).zip(kinds) {
            if kind.when.is_none() && usize::from(index) + 1 < count {
                let expected = "a condition `when`, which only the last kind may lack";
                return Err(FaultAt::missing(kind.at, &kind.element, expected, "none"));
            }
            self.cursor = start;
            self.layout.kinds.push(kind.name.text.into_boxed_str());
            let open = self.begin(kind.when.as_ref(), index, &kind.element, kind.at)?;
            self.entries(kind.entries)?;
            self.end(&open, &kind.element, kind.at)?;
            moved |= self.cursor != start;
            payloads.extend(
                kind.payloads
                    .into_iter()
                    .map(|payload| (open.group, payload)),
            );
        }
        if moved {
            self.cursor = Cursor::Moving(0);
        }
        Ok(())
    }

    /// Moves to an explicit place.
    pub(super) fn seek(
        &mut self,
        place: &Text,
        bit: u32,
        element: &str,
        field: u16,
    ) -> Checked<()> {
        let path = format!("{element}.at");
        let place_at = place.at;
        match self.expression(place, &path)? {
            Expr::Const(bytes) => {
                let most = i64::try_from(Layout::RECORD_LEN_MAX).unwrap_or(i64::MAX);
                if !(0..most).contains(&bytes) {
                    let expected = format!("an offset from 0 to {most}");
                    let found = bytes.to_string();
                    return Err(FaultAt::value(place_at, &path, expected, found));
                }
                self.cursor = Cursor::Fixed(bytes.unsigned_abs() * 8 + u64::from(bit));
            }
            place => {
                self.layout.steps.push(MachineStep::Seek { place, field });
                self.cursor = Cursor::Moving(bit);
            }
        }
        Ok(())
    }

    /// Places `bits` at the cursor; returns the position in whole bytes and the first bit in it, and adds a step when the position
    /// is not fixed.
    pub(super) fn take(&mut self, field: u16, bits: u64) -> Checked<(FieldPlace, u32)> {
        let (place, bit) = match self.cursor {
            Cursor::Fixed(from) => {
                let bit = from % 8;
                let to = from + bits;
                let start = bytes_of(from - bit);
                let len = bytes_of(to.next_multiple_of(8)) - start;
                self.cursor = Cursor::Fixed(to);
                self.note_high(start.saturating_add(len));
                (FieldPlace::Fixed { start, len }, bit)
            }
            Cursor::Moving(bit) => {
                let to = u64::from(bit) + bits;
                let size = Size::Bytes(bytes_of(to.next_multiple_of(8)));
                let place = self.put(field, size, bytes_of(to - to % 8));
                self.cursor = Cursor::Moving(low(to % 8));
                (place, u64::from(bit))
            }
        };
        self.limit_end(field)?;
        Ok((place, low(bit)))
    }

    /// Places a field whose length is found in each record.
    pub(super) fn take_open(&mut self, field: u16, size: Size) -> FieldPlace {
        if let Cursor::Fixed(bits) = self.cursor {
            self.layout.steps.push(MachineStep::Go(bytes_of(bits)));
        }
        self.cursor = Cursor::Moving(0);
        self.put(field, size, 0)
    }

    fn put(&mut self, field: u16, size: Size, advance: u32) -> FieldPlace {
        let slot = self.new_slot();
        self.layout.steps.push(MachineStep::Put {
            field,
            slot,
            size,
            advance,
        });
        FieldPlace::Slot(slot)
    }

    pub(super) fn new_slot(&mut self) -> u16 {
        let slot = self.layout.slots;
        self.layout.slots += 1;
        slot
    }

    fn note_high(&mut self, end: u32) {
        if self.group == NONE {
            self.layout.fixed_end = self.layout.fixed_end.max(end);
        } else {
            self.group_high = self.group_high.max(end);
        }
    }

    fn limit_end(&self, field: u16) -> Checked<()> {
        match self.cursor {
            Cursor::Fixed(bits) if bits / 8 > Layout::RECORD_LEN_MAX as u64 => {
                let (at, element) = self.origin(field);
                let expected = format!("fields within {} bytes", Layout::RECORD_LEN_MAX);
                Err(FaultAt::limit(at, &element, expected, "more"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn origin(&self, field: u16) -> (At, String) {
        let origin = self.origins.get(usize::from(field)).cloned();
        origin.unwrap_or_default()
    }

    pub(super) fn is_within_byte(&self) -> bool {
        self.cursor.bit() > 0
    }

    /// A field that is no bit field begins, and a group of fields ends, at a whole byte.
    pub(super) fn whole_byte(&self, element: &str, at: At) -> Checked<()> {
        let bit = self.cursor.bit();
        if bit == 0 {
            return Ok(());
        }
        let found = format!("an offset at bit {bit} of a byte");
        let fault = FaultAt::place(at, element, "an offset at a whole byte", found);
        Err(fault.hint(format!(
            "pad the bit fields before it with {{ bits = {} }}",
            8 - bit
        )))
    }

    /// Compiles an expression over the fields so far.
    pub(super) fn expression(&self, text: &Text, element: &str) -> Checked<Expr> {
        let ops = parser::parse(text, element, self)?;
        Expr::from_ops(&ops).map_err(|trouble| {
            let found = match trouble {
                EvalError::Arithmetic => "an overflow or a division by zero",
                EvalError::Absent | EvalError::Cut(_) => "none",
            };
            FaultAt::expression(text.at, element, "a number", found)
        })
    }

    /// Enters a name for the field that comes next.
    pub(super) fn enter(&mut self, name: &Text, element: &str, field: u16) -> Checked<()> {
        check_name(name, element)?;
        let taken =
            self.names.contains_key(&name.text) || self.extra_names.contains_key(&name.text);
        if taken {
            let fault = FaultAt::duplicate(
                name.at,
                &format!("{element}.name"),
                "a name that no other field or column has",
                format!("`{}`", name.text),
            );
            let hint = "a field of the base layout is replaced with `override = true`";
            return Err(fault.hint(hint));
        }
        self.names.insert(name.text.clone(), field);
        Ok(())
    }

    /// Enters the column of an enumeration's names.
    pub(super) fn enter_extra(&mut self, name: String, at: At, element: &str) -> Checked<()> {
        if self.names.contains_key(&name) || self.extra_names.insert(name.clone(), ()).is_some() {
            let expected = "an unused name for the column of its enum's names";
            let found = format!("`{name}`, which is already used");
            return Err(FaultAt::duplicate(at, element, expected, found));
        }
        Ok(())
    }

    pub(super) fn add_enum(&mut self, names: Vec<(i64, Box<str>)>) -> Checked<u16> {
        let index = u16::try_from(self.layout.enums.len()).unwrap_or(NONE);
        if index == NONE {
            let at = At::default();
            return Err(FaultAt::limit(at, "enum", "fewer enums", "65535"));
        }
        self.layout.enums.push(names.into());
        Ok(index)
    }

    pub(super) fn add_column(
        &mut self,
        name: &str,
        kind: Kind,
        doc: &str,
        unit: Option<String>,
        output: ColumnOutput,
    ) {
        self.layout.columns.push(Column {
            name: name.to_owned(),
            kind,
            doc: doc.to_owned(),
            unit,
        });
        self.layout.outputs.push(output);
    }

    /// The field called by this text.
    pub(super) fn lookup(&self, name: &Text, element: &str) -> Checked<u16> {
        self.names.get(&name.text).copied().ok_or_else(|| {
            let found = format!("`{}`", name.text);
            FaultAt::name(name.at, element, "a field defined before", found)
                .near(&name.text, self.names.keys().map(String::as_str))
        })
    }

    /// Whether every record that has the group `inner` also has `outer`.
    pub(super) fn implies(&self, inner: u16, outer: u16) -> bool {
        let mut group = inner;
        loop {
            if group == outer || outer == NONE {
                return true;
            }
            match self.parents.get(usize::from(group)) {
                Some(parent) => group = *parent,
                None => return false,
            }
        }
    }
}

impl FieldNames for Compiler {
    fn field(&self, name: &str, at: At) -> Checked<u16> {
        let index = self.names.get(name).copied();
        let integer = |index: &u16| {
            let field = self.layout.fields.get(usize::from(*index));
            field.is_some_and(|field| field.meaning.is_integer())
        };
        match index {
            Some(index) if integer(&index) => Ok(index),
            Some(_) => {
                let found = format!("`{name}`, which is of another type");
                Err(FaultAt::name(at, "", "an integer field", found))
            }
            None => {
                let expected = "an integer field defined before";
                let known = self.names.iter().filter(|(_, index)| integer(index));
                Err(FaultAt::name(at, "", expected, format!("`{name}`"))
                    .near(name, known.map(|(name, _)| name.as_str())))
            }
        }
    }

    fn named_value(&self, field: u16, name: &str, at: At) -> Checked<i64> {
        let field = self.layout.fields.get(usize::from(field));
        let names = field.and_then(|field| self.layout.enums.get(usize::from(field.enumeration)));
        let Some(names) = names else {
            let expected = "a number, because the field has no enum";
            return Err(FaultAt::name(at, "", expected, format!("'{name}'")));
        };
        let number = names.iter().find(|(_, known)| known.as_ref() == name);
        number.map(|(number, _)| *number).ok_or_else(|| {
            let expected = "a name of the field's enum";
            FaultAt::name(at, "", expected, format!("'{name}'"))
                .near(name, names.iter().map(|(_, name)| name.as_ref()))
        })
    }
}

/// Names are those that SQL reads without quotes: lower case, with dots between words.
fn check_name(name: &Text, element: &str) -> Checked<()> {
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next();
        first.is_some_and(|letter| letter.is_ascii_lowercase() || letter == '_')
            && letters.all(|letter| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'
            })
    };
    let reserved = name.text == "record.length";
    if name.text.len() <= Layout::NAME_LEN_MAX && name.text.split('.').all(word) && !reserved {
        return Ok(());
    }
    let shown: String = name.text.chars().take(40).collect();
    let fault = FaultAt::value(
        name.at,
        &format!("{element}.name"),
        "a name of lower-case letters, digits, `_` and dots between words",
        format!("`{shown}`"),
    );
    let lower = name.text.to_ascii_lowercase().replace(['-', ' '], "_");
    Err(if lower != name.text && lower.split('.').all(word) {
        fault.hint(format!("write `{lower}`"))
    } else {
        fault
    })
}

fn bytes_of(bits: u64) -> u32 {
    u32::try_from(bits / 8).unwrap_or(u32::MAX)
}

fn low(bits: u64) -> u32 {
    u32::try_from(bits).unwrap_or(u32::MAX)
}
