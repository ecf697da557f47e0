//! The properties of a layout that depend on all of its fields: payloads, the end of records, time.

use super::compile::Compiler;
use super::decode::PayloadRule;
use super::draft::{PayloadDraft, RecordDraft, TimeDraft};
use super::error::{At, Checked, FaultAt};
use super::expression::Expr;
use super::field::{Field, FieldPlace, Meaning};
use super::framing::Cutting;
use super::machine::{MachineStep, Size};
use super::parser::FieldNames;
use super::source::Text;
use super::view::TimeSource;
use super::{Layout, Start};

impl Compiler {
    pub(super) fn finish(
        mut self,
        record: &RecordDraft,
        payloads: Vec<(u16, PayloadDraft)>,
    ) -> Checked<Layout> {
        if self.layout.fields.is_empty() {
            let found = "none";
            return Err(
                FaultAt::missing(At::default(), "", "at least one field", found)
                    .hint("fields are written as [[field]] with a name and a type"),
            );
        }
        let (last_at, last) = self.origins.last().cloned().unwrap_or_default();
        self.whole_byte(&last, last_at)?;
        if payloads.len() > Layout::PAYLOADS_MAX {
            let at = payloads.first().map_or(last_at, |(_, payload)| payload.at);
            let expected = format!("at most {} payload rules", Layout::PAYLOADS_MAX);
            let found = payloads.len().to_string();
            return Err(FaultAt::limit(at, "payload", expected, found));
        }
        for (group, payload) in payloads {
            let rule = self.payload(group, &payload, record)?;
            self.layout.payloads.push(rule);
        }
        if let Some(limit) = &record.length_max {
            self.layout.record_len_max = usize::try_from(limit.value).unwrap_or(usize::MAX);
        }
        self.cutting(record)?;
        if let Some(time) = &record.time {
            self.layout.time = Some(self.time(time)?);
        }
        if let Some(wire_len) = &record.wire_len {
            self.layout.wire_len = Some(self.expression(wire_len, "record.wire_len")?);
        }
        let fields = &self.layout.fields;
        let time = self
            .layout
            .time
            .as_ref()
            .map_or(0, |time| time.ready(fields));
        let wire_len = self
            .layout
            .wire_len
            .as_ref()
            .map_or(0, |len| len.ready(fields));
        self.layout.ready_for_frame = time.max(wire_len);
        self.layout.checks = (0_u16..)
            .zip(fields)
            .filter(|(_, field)| field.equals.is_some() && field.fixed_end() > 0)
            .map(|(index, _)| index)
            .collect();
        let checked = self
            .layout
            .checks
            .iter()
            .filter_map(|check| fields.get(usize::from(*check)));
        let checked = checked.map(Field::fixed_end).max().unwrap_or(0);
        self.layout.prefix = self.layout.prefix.max(checked);
        self.reserved_names()?;
        Ok(self.layout)
    }

    fn payload(
        &self,
        group: u16,
        payload: &PayloadDraft,
        record: &RecordDraft,
    ) -> Checked<PayloadRule> {
        let path = |key: &str| format!("{}.{key}", payload.element);
        let expression = |key: &str, text: &Option<Text>| {
            let text = text.as_ref();
            text.map(|text| self.expression(text, &path(key)))
                .transpose()
        };
        if payload.length.is_none() && record.length.is_none() && record.delimiter.is_none() {
            let expected = "a length, because [record] does not say where the record ends";
            return Err(FaultAt::missing(
                payload.at,
                &payload.element,
                expected,
                "none",
            ));
        }
        Ok(PayloadRule {
            start: Start::read(&payload.protocol, &payload.element)?,
            group,
            when: expression("when", &payload.when)?,
            place: expression("at", &payload.place)?,
            length: expression("length", &payload.length)?,
        })
    }

    /// Decides how records are cut out of the file.
    fn cutting(&mut self, record: &RecordDraft) -> Checked<()> {
        if let Some(delimiter) = &record.delimiter {
            self.layout.cutting = Cutting::Delimited(delimiter.value.clone());
            return Ok(());
        }
        let Some(length) = &record.length else {
            return self.cutting_by_fields();
        };
        let element = "record.length";
        let expr = self.expression(length, element)?;
        if let Expr::Const(len) = expr {
            return self.cutting_fixed(len, length.at);
        }
        let steps = expr.ready(&self.layout.fields);
        self.layout.prefix = expr.fixed_end(&self.layout.fields);
        if expr.needs_record_len() {
            let expected = "an expression without record.length, which it defines";
            return Err(FaultAt::expression(length.at, element, expected, "it"));
        }
        self.framing_steps(usize::from(steps), length.at, element)?;
        self.layout.cutting = Cutting::Computed {
            length: Some(expr),
            steps: usize::from(steps),
        };
        Ok(())
    }

    fn cutting_fixed(&mut self, len: i64, at: At) -> Checked<()> {
        let element = "record.length";
        let most = self.layout.record_len_max;
        let Some(len) = usize::try_from(len)
            .ok()
            .filter(|len| (1..=most).contains(len))
        else {
            let expected = format!("a length from 1 to {most} bytes");
            return Err(FaultAt::value(at, element, expected, len.to_string()));
        };
        let beyond = (0_u16..)
            .zip(&self.layout.fields)
            .find(|(_, field)| matches!(field.place, FieldPlace::Fixed { start, len: own } if start as usize + own as usize > len));
        if let Some((index, field)) = beyond {
            let (at, element) = self.origin(index);
            let end = match field.place {
                FieldPlace::Fixed { start, len } => start.saturating_add(len),
                FieldPlace::Slot(_) => 0,
            };
            let expected = format!("a field within the record's {len} bytes");
            let found = format!("a field that ends at byte {end}");
            return Err(FaultAt::place(at, &element, expected, found));
        }
        self.layout.cutting = Cutting::Fixed(len);
        Ok(())
    }

    /// A record without a length ends with its fields and its payload.
    fn cutting_by_fields(&mut self) -> Checked<()> {
        if self.layout.steps.is_empty() && self.layout.payloads.is_empty() {
            let (at, _) = self.origin(0);
            return self.cutting_fixed(i64::from(self.layout.fixed_end), at);
        }
        let (at, _) = self.origin(0);
        let steps = self.layout.steps.len();
        self.framing_steps(steps, at, "record.length")?;
        let asks = |expr: &Option<Expr>| expr.as_ref().is_some_and(Expr::needs_record_len);
        let payloads = &self.layout.payloads;
        if payloads
            .iter()
            .any(|rule| asks(&rule.when) || asks(&rule.place) || asks(&rule.length))
        {
            return Err(undefined_length(at, "payload"));
        }
        self.layout.prefix = self.layout.fixed_end;
        self.layout.cutting = Cutting::Computed {
            length: None,
            steps,
        };
        Ok(())
    }

    /// Checks that the first `count` steps can run before the end of the record is known.
    fn framing_steps(&self, count: usize, at: At, element: &str) -> Checked<()> {
        let (mut fields, mut groups) = (0, 0);
        for step in self.layout.steps.iter().take(count) {
            let asks = match step {
                MachineStep::Go(_) | MachineStep::Pass { .. } | MachineStep::Check(_) => false,
                MachineStep::Seek { place, .. } => place.needs_record_len(),
                MachineStep::Group { when, .. } => {
                    groups += 1;
                    when.as_ref().is_some_and(Expr::needs_record_len)
                }
                MachineStep::Put { size, .. } => {
                    fields += 1;
                    match size {
                        Size::Rest => true,
                        Size::Computed(size) => size.needs_record_len(),
                        Size::Bytes(_) | Size::Until(_) => false,
                    }
                }
                MachineStep::Compute { value, .. } => {
                    fields += 1;
                    value.needs_record_len()
                }
            };
            if asks {
                return Err(undefined_length(at, element));
            }
        }
        let fields = fields.max(groups);
        if fields > Layout::FRAMING_FIELDS_MAX {
            let most = Layout::FRAMING_FIELDS_MAX;
            let expected = format!(
                "at most {most} optional, computed or variable fields up to the record's length"
            );
            return Err(FaultAt::limit(at, element, expected, fields.to_string())
                .hint("give [record] a length that depends on fields near the start"));
        }
        Ok(())
    }

    fn time(&self, time: &TimeDraft) -> Checked<TimeSource> {
        let integer = |name: &Text, key: &str| {
            FieldNames::field(self, &name.text, name.at).map_err(|mut fault| {
                fault.element = format!("record.time.{key}");
                fault
            })
        };
        match time {
            TimeDraft::Field(name) => {
                let element = "record.time";
                let field = self.lookup(name, element)?;
                match self.layout.fields.get(usize::from(field)) {
                    Some(Field {
                        meaning: Meaning::Time(_),
                        ..
                    }) => Ok(TimeSource::Field(field)),
                    _ => {
                        let found = format!("`{}`, which is of another type", name.text);
                        let expected = "a field of a time type";
                        Err(FaultAt::value(name.at, element, expected, found).hint(
                            "numbers make a time with { seconds = \"…\", microseconds = \"…\" }",
                        ))
                    }
                }
            }
            TimeDraft::Pair {
                seconds,
                part,
                epoch_s,
            } => Ok(TimeSource::Pair {
                seconds: integer(seconds, "seconds")?,
                part: match part {
                    Some((name, unit)) => Some((integer(name, "part")?, *unit)),
                    None => None,
                },
                epoch_s: *epoch_s,
            }),
        }
    }

    /// Columns of records must not have the names of those of packets, when there is a payload to decode.
    fn reserved_names(&self) -> Checked<()> {
        for (name, index) in &self.names {
            let frame = name.starts_with("frame.");
            let packet = || weir_packet::fields().any(|(field, _)| field.name == name);
            if frame || !self.layout.payloads.is_empty() && packet() {
                let (at, element) = self.origin(*index);
                let expected = "a name that no packet column has";
                let found = format!("`{name}`");
                return Err(FaultAt::duplicate(at, &element, expected, found)
                    .hint("put a prefix of your own before it, such as `rec.`"));
            }
        }
        Ok(())
    }
}

fn undefined_length(at: At, element: &str) -> Box<FaultAt> {
    let expected = "a record whose length is known from its first fields";
    let found = "a length that depends on itself";
    FaultAt::missing(at, element, expected, found).hint("give [record] a length or a delimiter")
}
