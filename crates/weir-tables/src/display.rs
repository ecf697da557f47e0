//! Display filters of Wireshark over the headers of packets.
//!
//! A field has as many values as there are headers of its protocol in the packet, those in tunnels and those that
//! error messages quote among them, as in Wireshark; columns of tables have the outermost. A relation holds when it
//! holds for one of them (`!=`: for all), and never for a field that is not there.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::net::Ipv4Addr;

use regex::bytes::{Regex, RegexBuilder};
use weir_filter::{
    Calculation, Error, Filter, Operand, OperandKind, Quantifier, Range, Relation, parse,
};
use weir_packet::{Address, Field, Get, Kind, Layer, Needs, PROTOCOLS, Packet};

use crate::names::{Meaning, Name, advice};
use crate::predicate::Network;
use crate::{Column, Origin, Row, Table};

/// A display filter that is ready to decide on packets.
#[derive(Clone, Debug)]
pub struct DisplayFilter {
    text: String,
    test: Test,
    /// What is read of packets.
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
enum Test {
    All(Vec<Test>),
    One(Vec<Test>),
    Not(Box<Test>),
    /// A header of this protocol is there.
    Layer(Layer),
    /// Every packet has it.
    Always,
    /// There is a value, and it is not the number 0 when that is asked for.
    Exists(Source, bool),
    Compare(Quantifier, Source, Sign, Source),
    Matches(Quantifier, Source, Regex),
    In(Quantifier, Source, Vec<(Literal, Option<Literal>)>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// Where values come from.
#[derive(Clone, Debug)]
enum Source {
    /// Fields of packets; only those of the header of this number, when one is said.
    Fields(Vec<&'static Field>, Option<Layer>, Option<u32>),
    /// The bytes from the header of a protocol on.
    Header(Layer, Option<u32>),
    /// The frame whole.
    Frame,
    File,
    Literal(Literal),
    Slice(Box<Source>, Vec<Range>),
    Lower(Box<Source>),
    Upper(Box<Source>),
    Length(Box<Source>),
    Count(Box<Source>),
    Calculated(Calculation, Box<Source>, Box<Source>),
}

#[derive(Clone, Debug)]
enum Literal {
    Number(i128),
    Bytes(Vec<u8>),
    Network(Network),
}

/// A value of a packet.
#[derive(Clone, Debug)]
enum Found<'p> {
    Number(i128),
    Bytes(Cow<'p, [u8]>),
}

impl Found<'_> {
    /// The number, or that which a few bytes are.
    fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Bytes(bytes) if bytes.len() <= size_of::<u64>() => Some(
                bytes
                    .iter()
                    .fold(0, |all, byte| all << 8 | i128::from(*byte)),
            ),
            Self::Bytes(_) => None,
        }
    }
}

/// What a source gives, which says how literals beside it are read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Number,
    Flag,
    Time,
    /// Seconds since 1970.
    Seconds,
    Address,
    Bytes,
    Text,
    /// A literal: what the other side is.
    Open,
}

impl DisplayFilter {
    /// Reads a filter and finds its fields.
    ///
    /// # Errors
    /// When it is none, or asks for what packets do not have: what is wrong, where, and what to write.
    pub fn new(text: &str) -> Result<Self, Error> {
        let filter = parse(text)?;
        let table = Table::packets();
        let mut reader = Reader {
            table: &table,
            columns: Vec::new(),
        };
        let test = reader.test(&filter)?;
        let mut columns = reader.columns;
        if let Some(position) = table.position("frame.layers")
            && let Some(column) = table.columns().get(position)
        {
            columns.push(column.clone());
        }
        // Headers in tunnels have values, too.
        for column in &mut columns {
            if let Origin::Packet(_, needs) = &mut column.origin
                && *needs != Needs::Record
            {
                *needs = Needs::All;
            }
        }
        Ok(Self {
            text: text.to_owned(),
            test,
            columns,
        })
    }

    /// Whether the packet of a row passes.
    #[must_use]
    pub fn passes(&self, row: &Row<'_>) -> bool {
        self.test.holds(row)
    }

    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }
}

impl fmt::Display for DisplayFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "display_filter('{}')", self.text.replace('\'', "''"))
    }
}

impl Test {
    fn holds(&self, row: &Row<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(row)),
            Self::One(parts) => parts.iter().any(|part| part.holds(row)),
            Self::Not(inner) => !inner.holds(row),
            Self::Layer(layer) => row.packet.has(*layer),
            Self::Always => true,
            Self::Exists(source, not_zero) => source.any(row, &mut |value| match value {
                Found::Number(number) => !not_zero || number != 0,
                Found::Bytes(_) => true,
            }),
            Self::Compare(quantifier, left, sign, right) => {
                holds(*quantifier, |decide| {
                    left.each(row, &mut |left| {
                        right.each(row, &mut |right| decide(compare(&left, *sign, &right)))
                    })
                }) || self.holds_for_network(row)
            }
            Self::Matches(quantifier, source, pattern) => holds(*quantifier, |decide| {
                source.each(row, &mut |value| {
                    decide(match &value {
                        Found::Bytes(bytes) => pattern.is_match(bytes),
                        Found::Number(number) => pattern.is_match(number.to_string().as_bytes()),
                    })
                })
            }),
            Self::In(quantifier, source, set) => holds(*quantifier, |decide| {
                source.each(row, &mut |value| {
                    decide(set.iter().any(|(first, last)| match last {
                        None => first.is(&value),
                        Some(last) => first.at_most(&value) && last.at_least(&value),
                    }))
                })
            }),
        }
    }

    /// A comparison with a network.
    fn holds_for_network(&self, row: &Row<'_>) -> bool {
        let Self::Compare(quantifier, left, sign, right) = self else {
            return false;
        };
        let ((source, Source::Literal(Literal::Network(network)))
        | (Source::Literal(Literal::Network(network)), source)) = (left, right)
        else {
            return false;
        };
        holds(*quantifier, |decide| {
            source.each(row, &mut |value| {
                let within = matches!(&value, Found::Bytes(bytes) if network.contains(bytes));
                decide(match sign {
                    Sign::Equal => within,
                    Sign::NotEqual => !within,
                    _ => false,
                })
            })
        })
    }
}

/// Whether what `visit` hands to its argument holds for one, or for all of which there is one. It stops when it is
/// told false.
fn holds(quantifier: Quantifier, visit: impl FnOnce(&mut dyn FnMut(bool) -> bool) -> bool) -> bool {
    let (mut any, mut all) = (false, true);
    visit(&mut |holds| {
        any = true;
        match quantifier {
            Quantifier::Any => {
                all = holds;
                !holds
            }
            Quantifier::All => {
                all &= holds;
                holds
            }
        }
    });
    any && all
}

fn compare(left: &Found<'_>, sign: Sign, right: &Found<'_>) -> bool {
    let ordering = match (left, right) {
        (Found::Number(left), Found::Number(right)) => left.cmp(right),
        (Found::Bytes(left), Found::Bytes(right)) => {
            if sign == Sign::Contains {
                return contains(left, right);
            }
            left.cmp(right)
        }
        _ => return false,
    };
    match sign {
        Sign::Equal => ordering.is_eq(),
        Sign::NotEqual => ordering.is_ne(),
        Sign::Less => ordering.is_lt(),
        Sign::LessOrEqual => ordering.is_le(),
        Sign::Greater => ordering.is_gt(),
        Sign::GreaterOrEqual => ordering.is_ge(),
        Sign::Contains => false,
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

impl Literal {
    fn is(&self, value: &Found<'_>) -> bool {
        match self {
            Self::Network(network) => {
                matches!(value, Found::Bytes(bytes) if network.contains(bytes))
            }
            _ => self.order(value) == Some(Ordering::Equal),
        }
    }

    fn at_most(&self, value: &Found<'_>) -> bool {
        self.order(value).is_some_and(Ordering::is_le)
    }

    fn at_least(&self, value: &Found<'_>) -> bool {
        self.order(value).is_some_and(Ordering::is_ge)
    }

    fn order(&self, value: &Found<'_>) -> Option<Ordering> {
        match (self, value) {
            (Self::Number(own), Found::Number(value)) => Some(own.cmp(value)),
            (Self::Bytes(own), Found::Bytes(value)) => Some(own.as_slice().cmp(value)),
            _ => None,
        }
    }
}

impl Source {
    /// Hands each value to `f` until that gives false. Gives false when it was stopped.
    fn each(&self, row: &Row<'_>, f: &mut dyn FnMut(Found<'_>) -> bool) -> bool {
        match self {
            Self::Fields(fields, layer, number) => match (layer, number) {
                (Some(layer), Some(number)) => {
                    let mut at = 0_u32;
                    row.packet.each_of(*layer, &mut |packet| {
                        at = at.saturating_add(1);
                        at != *number || read_all(fields, packet, f)
                    })
                }
                (Some(layer), None) => row
                    .packet
                    .each_of(*layer, &mut |packet| read_all(fields, packet, f)),
                (None, _) => read_all(fields, row.packet, f),
            },
            Self::Header(layer, number) => {
                let headers = row.packet.headers().filter(|(found, _)| found == layer);
                for (at, (_, bytes)) in (1_u32..).zip(headers) {
                    if number.is_none_or(|number| number == at) && !f(Found::Bytes(bytes.into())) {
                        return false;
                    }
                }
                true
            }
            Self::Frame => f(Found::Bytes(row.packet.frame().data.into())),
            Self::File => f(Found::Bytes(row.file.as_bytes().into())),
            Self::Literal(literal) => match literal {
                Literal::Number(number) => f(Found::Number(*number)),
                Literal::Bytes(bytes) => f(Found::Bytes(bytes.as_slice().into())),
                // See `holds_for_network`.
                Literal::Network(_) => true,
            },
            Self::Slice(of, ranges) => of.each(row, &mut |value| {
                let Found::Bytes(bytes) = value else {
                    return true;
                };
                let parts: Option<Vec<&[u8]>> =
                    ranges.iter().map(|range| range.of(&bytes)).collect();
                match parts.as_deref() {
                    Some([part]) => f(Found::Bytes((*part).into())),
                    Some(parts) => f(Found::Bytes(parts.concat().into())),
                    None => true,
                }
            }),
            Self::Lower(of) => of.each(row, &mut |value| {
                f(changed(value, <[u8]>::to_ascii_lowercase))
            }),
            Self::Upper(of) => of.each(row, &mut |value| {
                f(changed(value, <[u8]>::to_ascii_uppercase))
            }),
            Self::Length(of) => of.each(row, &mut |value| match value {
                Found::Bytes(bytes) => f(Found::Number(bytes.len() as i128)),
                Found::Number(_) => true,
            }),
            Self::Count(of) => {
                let mut count = 0_i128;
                of.each(row, &mut |_| {
                    count += 1;
                    true
                });
                count == 0 || f(Found::Number(count))
            }
            Self::Calculated(calculation, left, right) => left.each(row, &mut |left| {
                right.each(row, &mut |right| {
                    let both = left.number().zip(right.number());
                    let outcome =
                        both.and_then(|(left, right)| calculated(*calculation, left, right));
                    outcome.is_none_or(|number| f(Found::Number(number)))
                })
            }),
        }
    }

    fn any(&self, row: &Row<'_>, is: &mut dyn FnMut(Found<'_>) -> bool) -> bool {
        !self.each(row, &mut |value| !is(value))
    }
}

fn changed(value: Found<'_>, change: fn(&[u8]) -> Vec<u8>) -> Found<'static> {
    match value {
        Found::Bytes(bytes) => Found::Bytes(change(&bytes).into()),
        Found::Number(number) => Found::Number(number),
    }
}

fn calculated(calculation: Calculation, left: i128, right: i128) -> Option<i128> {
    match calculation {
        Calculation::Add => left.checked_add(right),
        Calculation::Subtract => left.checked_sub(right),
        Calculation::Multiply => left.checked_mul(right),
        Calculation::Divide => left.checked_div(right),
        Calculation::Remainder => left.checked_rem(right),
        Calculation::And => Some(left & right),
    }
}

fn read_all(
    fields: &[&'static Field],
    packet: &Packet<'_>,
    f: &mut dyn FnMut(Found<'_>) -> bool,
) -> bool {
    fields.iter().all(|field| read(field, packet, f))
}

fn read(field: &Field, packet: &Packet<'_>, f: &mut dyn FnMut(Found<'_>) -> bool) -> bool {
    let number = match field.get {
        Get::Bool(get) => get(packet).map(i128::from),
        Get::U8(get) => get(packet).map(i128::from),
        Get::U16(get) => get(packet).map(i128::from),
        Get::U32(get) => get(packet).map(i128::from),
        Get::U64(get) => get(packet).map(i128::from),
        Get::Time(get) => get(packet).map(i128::from),
        Get::Address(get) => {
            return get(packet).is_none_or(|address| f(Found::Bytes(address.as_bytes().into())));
        }
        Get::Bytes(get) => return get(packet).is_none_or(|bytes| f(Found::Bytes(bytes.into()))),
        Get::Text(get) => {
            return get(packet).is_none_or(|text| f(Found::Bytes(text.as_bytes().into())));
        }
        Get::Write(write) => {
            let mut text = String::new();
            return match write(packet, &mut text) {
                Ok(true) => f(Found::Bytes(text.as_bytes().into())),
                _ => true,
            };
        }
    };
    number.is_none_or(|number| f(Found::Number(number)))
}

/// Finds what the words of a filter are.
struct Reader<'t> {
    table: &'t Table,
    columns: Vec<Column>,
}

impl Reader<'_> {
    fn test(&mut self, filter: &Filter) -> Result<Test, Error> {
        let all = |reader: &mut Self, parts: &[Filter]| {
            let parts = parts.iter().map(|part| reader.test(part));
            parts.collect::<Result<Vec<_>, _>>()
        };
        Ok(match filter {
            Filter::And(parts) => Test::All(all(self, parts)?),
            Filter::Or(parts) => Test::One(all(self, parts)?),
            Filter::Not(inner) => Test::Not(Box::new(self.test(inner)?)),
            Filter::Exists(operand) => self.exists(operand)?,
            Filter::Compare {
                quantifier,
                left,
                relation,
                right,
            } => self.compare(*quantifier, left, *relation, right)?,
            Filter::In {
                quantifier,
                operand,
                set,
            } => {
                let (source, kind) = self.source(operand)?;
                let mut literals = Vec::with_capacity(set.len());
                for (first, last) in set {
                    let last = match last {
                        Some(last) => Some(literal(last, kind)?),
                        None => None,
                    };
                    literals.push((literal(first, kind)?, last));
                }
                Test::In(*quantifier, source, literals)
            }
        })
    }

    fn exists(&mut self, operand: &Operand) -> Result<Test, Error> {
        if let OperandKind::Word(word) = &operand.kind {
            let lower = word.to_ascii_lowercase();
            if lower == "frame" {
                return Ok(Test::Always);
            }
            if let Some(layer) = layer_named(&lower) {
                return Ok(Test::Layer(layer));
            }
            if let Some(ports) = carried(&lower) {
                return self.test(&parse(ports).map_err(|_| unknown(operand, word))?);
            }
        }
        let (source, kind) = self.source(operand)?;
        if kind == Type::Open {
            return Err(unknown(operand, "a value alone is no condition"));
        }
        let is_calculated = matches!(operand.kind, OperandKind::Calculated(..));
        Ok(Test::Exists(source, is_calculated))
    }

    fn compare(
        &mut self,
        quantifier: Quantifier,
        left: &Operand,
        relation: Relation,
        right: &Operand,
    ) -> Result<Test, Error> {
        let sign = match relation {
            Relation::Equal => Sign::Equal,
            Relation::NotEqual => Sign::NotEqual,
            Relation::Less => Sign::Less,
            Relation::LessOrEqual => Sign::LessOrEqual,
            Relation::Greater => Sign::Greater,
            Relation::GreaterOrEqual => Sign::GreaterOrEqual,
            Relation::Contains => Sign::Contains,
            Relation::Matches => {
                let (source, kind) = self.source(left)?;
                let OperandKind::Text(pattern) = &right.kind else {
                    return Err(Error::new("a pattern is a text", right.start, right.end)
                        .with_hint("frame matches \"GET /[a-z]+\""));
                };
                if matches!(kind, Type::Number | Type::Flag | Type::Address | Type::Time) {
                    return Err(Error::new(
                        "a pattern is looked for in text or bytes",
                        left.start,
                        left.end,
                    ));
                }
                let pattern = pattern_text(pattern);
                let built = RegexBuilder::new(&pattern)
                    .case_insensitive(true)
                    .unicode(false)
                    .size_limit(PATTERN_BYTES_MAX)
                    .build();
                let built = built.map_err(|error| {
                    let text = error.to_string();
                    let line = text.lines().last().unwrap_or_default().trim();
                    let line = line.strip_prefix("error: ").unwrap_or(line).to_owned();
                    Error::new(format!("no pattern: {line}"), right.start, right.end)
                })?;
                return Ok(Test::Matches(quantifier, source, built));
            }
        };
        let open = (self.is_literal(left), self.is_literal(right));
        let (left_source, right_source) = match open {
            (false, true) => {
                let (source, kind) = self.source(left)?;
                let kind = match (sign, kind) {
                    (Sign::Contains, Type::Address) => Type::Bytes,
                    (_, kind) => kind,
                };
                if sign == Sign::Contains && matches!(kind, Type::Number | Type::Flag | Type::Time)
                {
                    return Err(
                        Error::new("a number contains nothing", left.start, left.end)
                            .with_hint("compare it with ==, or look at its bits: tcp.flags & 2"),
                    );
                }
                (source, Source::Literal(literal(right, kind)?))
            }
            (true, false) => {
                let (source, kind) = self.source(right)?;
                (Source::Literal(literal(left, kind)?), source)
            }
            (true, true) => {
                let word = match &left.kind {
                    OperandKind::Word(word) => word.as_str(),
                    _ => "two values",
                };
                return Err(unknown(left, word));
            }
            (false, false) => {
                let (left_source, left_kind) = self.source(left)?;
                let (right_source, right_kind) = self.source(right)?;
                let is_number = |kind| matches!(kind, Type::Number | Type::Flag | Type::Time);
                if is_number(left_kind) != is_number(right_kind) {
                    return Err(Error::new(
                        "a number is compared with bytes or text",
                        left.start,
                        right.end,
                    ));
                }
                (left_source, right_source)
            }
        };
        Ok(Test::Compare(quantifier, left_source, sign, right_source))
    }

    /// True of what is no field, protocol or function.
    fn is_literal(&self, operand: &Operand) -> bool {
        match &operand.kind {
            OperandKind::Text(_) | OperandKind::Character(_) => true,
            OperandKind::Word(word) => {
                let lower = word.to_ascii_lowercase();
                let is_known = lower == "frame"
                    || layer_named(&lower).is_some()
                    || self.fields(&lower).is_some();
                // What looks like a name of a field is one that is not known.
                let like_a_value = word
                    .starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == ':')
                    || word.contains([':', '/'])
                    || is_bytes(word)
                    || ["true", "false"].contains(&lower.as_str());
                !is_known && like_a_value
            }
            OperandKind::Calculated(_, left, right) => {
                self.is_literal(left) && self.is_literal(right)
            }
            _ => false,
        }
    }

    fn source(&mut self, operand: &Operand) -> Result<(Source, Type), Error> {
        Ok(match &operand.kind {
            OperandKind::Word(word) => self.word(operand, word, None)?,
            OperandKind::Layer(word, number) => self.word(operand, word, Some(*number))?,
            OperandKind::Text(_) | OperandKind::Character(_) => {
                (Source::Literal(literal(operand, Type::Text)?), Type::Open)
            }
            OperandKind::Slice(of, ranges) => {
                let (source, kind) = self.source(of)?;
                match kind {
                    Type::Address | Type::Bytes => {
                        (Source::Slice(Box::new(source), ranges.clone()), Type::Bytes)
                    }
                    Type::Text => (Source::Slice(Box::new(source), ranges.clone()), Type::Text),
                    _ => {
                        return Err(Error::new(
                            "only bytes and text have slices",
                            of.start,
                            of.end,
                        )
                        .with_hint("bits of a number: tcp.flags & 0x02"));
                    }
                }
            }
            OperandKind::Call(name, arguments) => self.call(operand, name, arguments)?,
            OperandKind::Calculated(calculation, left, right) => {
                let side = |reader: &mut Self, operand: &Operand| match reader.is_literal(operand) {
                    true if !matches!(operand.kind, OperandKind::Calculated(..)) => {
                        Ok(Source::Literal(literal(operand, Type::Number)?))
                    }
                    _ => match reader.source(operand)? {
                        (source, Type::Number | Type::Flag) => Ok(source),
                        // Of bytes, the bits are looked at: eth.dst[0] & 1.
                        (source, Type::Bytes) if *calculation == Calculation::And => Ok(source),
                        _ => Err(Error::new(
                            "only numbers are calculated with",
                            operand.start,
                            operand.end,
                        )),
                    },
                };
                let (left, right) = (side(self, left)?, side(self, right)?);
                (
                    Source::Calculated(*calculation, Box::new(left), Box::new(right)),
                    Type::Number,
                )
            }
        })
    }

    fn call(
        &mut self,
        operand: &Operand,
        name: &str,
        arguments: &[Operand],
    ) -> Result<(Source, Type), Error> {
        let lower = name.to_ascii_lowercase();
        let [argument] = arguments else {
            return Err(Error::new(
                format!("{lower} takes one field"),
                operand.start,
                operand.end,
            ));
        };
        if !["len", "count", "lower", "upper"].contains(&lower.as_str()) {
            return Err(Error::new(
                format!("there is no function {lower}"),
                operand.start,
                operand.end,
            )
            .with_hint("there are len, count, lower and upper"));
        }
        let (source, kind) = self.source(argument)?;
        let source = Box::new(source);
        let is_number = matches!(kind, Type::Number | Type::Flag | Type::Time | Type::Seconds);
        match lower.as_str() {
            "count" => Ok((Source::Count(source), Type::Number)),
            "len" if !is_number => Ok((Source::Length(source), Type::Number)),
            "lower" if kind == Type::Text => Ok((Source::Lower(source), kind)),
            "upper" if kind == Type::Text => Ok((Source::Upper(source), kind)),
            _ => {
                let takes = if lower == "len" {
                    "text or bytes"
                } else {
                    "text"
                };
                Err(Error::new(
                    format!("{lower} takes {takes}"),
                    argument.start,
                    argument.end,
                ))
            }
        }
    }

    fn word(
        &mut self,
        operand: &Operand,
        word: &str,
        number: Option<u32>,
    ) -> Result<(Source, Type), Error> {
        let lower = word.to_ascii_lowercase();
        if lower == "frame" && number.is_none() {
            return Ok((Source::Frame, Type::Bytes));
        }
        if let Some(layer) = layer_named(&lower) {
            return Ok((Source::Header(layer, number), Type::Bytes));
        }
        let Some(columns) = self.fields(&lower) else {
            return Err(self.not_there(operand, word));
        };
        let mut fields = Vec::new();
        let (mut layer, mut kind) = (None, Type::Open);
        for column in &columns {
            match column.origin {
                Origin::Packet(field, needs) => {
                    fields.push(field);
                    if let Needs::Layer(of) = needs {
                        layer = Some(of);
                    }
                }
                Origin::File => return Ok((Source::File, Type::Text)),
                _ => return Err(self.not_there(operand, word)),
            }
            kind = match column.kind {
                Kind::Bool => Type::Flag,
                Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 => Type::Number,
                Kind::Time if lower == "frame.time_epoch" => Type::Seconds,
                Kind::Time => Type::Time,
                Kind::Address => Type::Address,
                Kind::Bytes => Type::Bytes,
                Kind::Text => Type::Text,
                Kind::F64 | Kind::Texts | Kind::Numbers => {
                    return Err(self.not_there(operand, word));
                }
            };
        }
        if number.is_some() && layer.is_none() {
            return Err(Error::new(
                format!("{word} belongs to no header of one kind"),
                operand.start,
                operand.end,
            ));
        }
        self.columns.extend(columns);
        Ok((Source::Fields(fields, layer, number), kind))
    }

    /// The columns that a field is.
    fn fields(&self, name: &str) -> Option<Vec<Column>> {
        let column = |name: &str| {
            let underscored = name.replace('-', "_");
            let position = self
                .table
                .position(name)
                .or(self.table.position(&underscored))?;
            self.table.columns().get(position).cloned()
        };
        if let Some(column) = column(name) {
            return Some(vec![column]);
        }
        let has = |name: &str| self.table.position(name).is_some();
        let meaning =
            Name::meanings(name).find(|known| known.of == "Wireshark" && known.fits(&has))?;
        match meaning.meaning {
            Meaning::Sides(columns) => columns.iter().map(|name| column(name)).collect(),
            Meaning::Column(name) => Some(vec![column(name)?]),
            Meaning::Expression(_) if name == "frame.time_epoch" => {
                Some(vec![column("frame.time")?])
            }
            Meaning::Expression(_) | Meaning::Told(_) => None,
        }
    }

    fn not_there(&self, operand: &Operand, word: &str) -> Error {
        let has = |name: &str| self.table.position(name).is_some();
        let error = unknown(operand, word);
        match advice(word, &has) {
            Some(advice) => error.with_hint(advice),
            None => error.with_hint("weir fields lists the fields; text stands in double quotes"),
        }
    }
}

fn unknown(operand: &Operand, word: &str) -> Error {
    Error::new(
        format!("packets have no field {word}"),
        operand.start,
        operand.end,
    )
}

/// The protocol of this name, as Wireshark calls it.
fn layer_named(name: &str) -> Option<Layer> {
    let index = PROTOCOLS
        .iter()
        .position(|protocol| protocol.name == name)?;
    Layer::from_index(index)
}

/// Protocols above the transport that every packet from or to their port carries.
fn carried(name: &str) -> Option<&'static str> {
    let known = CARRIED.iter().find(|(known, _)| *known == name);
    known.map(|(_, ports)| *ports)
}

/// See [`carried`]: what Wireshark too tells by the port alone.
const CARRIED: &[(&str, &str)] = &[
    (
        "dns",
        "(udp.port == 53 && udp.length > 8) || (tcp.port == 53 && tcp.len > 2)",
    ),
    ("mdns", "udp.port == 5353 && udp.length > 8"),
    ("llmnr", "udp.port == 5355 && udp.length > 8"),
    ("dhcp", "udp.port in {67, 68} && udp.length > 8"),
    ("ntp", "udp.port == 123 && udp.length > 8"),
    ("snmp", "udp.port in {161, 162} && udp.length > 8"),
    ("tftp", "udp.port == 69 && udp.length > 8"),
    ("syslog", "udp.port == 514 && udp.length > 8"),
];

/// A pattern with the bytes that are no ASCII as escapes: patterns look at bytes.
fn pattern_text(pattern: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(pattern.len());
    for byte in pattern {
        match byte.is_ascii() {
            true => text.push(char::from(*byte)),
            // Text takes up all that is written.
            false => write!(text, "\\x{byte:02x}").unwrap_or_default(),
        }
    }
    text
}

/// A literal as a value of this type.
fn literal(operand: &Operand, kind: Type) -> Result<Literal, Error> {
    let wrong = |wanted: &str, hint: &str| {
        let error = Error::new(format!("expected {wanted}"), operand.start, operand.end);
        Err(if hint.is_empty() {
            error
        } else {
            error.with_hint(hint)
        })
    };
    let word = match &operand.kind {
        OperandKind::Word(word) => word.as_str(),
        OperandKind::Text(text) => match kind {
            Type::Text | Type::Bytes => return Ok(Literal::Bytes(text.clone())),
            Type::Open => return Ok(Literal::Bytes(text.clone())),
            Type::Time => match std::str::from_utf8(text).ok().and_then(date) {
                Some(ns) => return Ok(Literal::Number(ns)),
                None => return wrong("a time", "frame.time >= \"2026-11-23 10:00:00\", in UTC"),
            },
            Type::Address => match std::str::from_utf8(text) {
                Ok(text) => text,
                Err(_) => return wrong("an address", ""),
            },
            Type::Number | Type::Flag | Type::Seconds => {
                return wrong("a number", "numbers stand without quotes");
            }
        },
        OperandKind::Character(byte) => {
            return Ok(match kind {
                Type::Number | Type::Flag | Type::Seconds => Literal::Number((*byte).into()),
                _ => Literal::Bytes(vec![*byte]),
            });
        }
        OperandKind::Calculated(calculation, left, right) => {
            let both = (literal(left, Type::Number)?, literal(right, Type::Number)?);
            let (Literal::Number(left), Literal::Number(right)) = both else {
                return wrong("a number", "");
            };
            return match calculated(*calculation, left, right) {
                Some(number) => Ok(Literal::Number(number)),
                None => wrong("a number that can be calculated", ""),
            };
        }
        _ => return wrong("a value", ""),
    };
    match kind {
        Type::Number => match number(word) {
            Some(number) => Ok(Literal::Number(number)),
            None => wrong("a number", "443, 0x1bb or 0673"),
        },
        Type::Flag => match (word.to_ascii_lowercase().as_str(), number(word)) {
            ("true", _) => Ok(Literal::Number(1)),
            ("false", _) => Ok(Literal::Number(0)),
            (_, Some(number)) => Ok(Literal::Number(i128::from(number != 0))),
            _ => wrong("true or false", ""),
        },
        Type::Time => match seconds(word).or_else(|| date(word)) {
            Some(ns) => Ok(Literal::Number(ns)),
            None => wrong("a time", "frame.time >= \"2026-11-23 10:00:00\", in UTC"),
        },
        Type::Seconds => match seconds(word) {
            Some(ns) => Ok(Literal::Number(ns)),
            None => wrong("seconds since 1970", "frame.time_epoch >= 1700000000.5"),
        },
        Type::Address => {
            if word.contains('/') {
                return match Network::parse(word) {
                    Some(network) => Ok(Literal::Network(network)),
                    None => wrong("a network", "10.0.0.0/8 or 2001:db8::/32"),
                };
            }
            let address = word.parse::<Ipv4Addr>().map(|v4| v4.octets().to_vec());
            let address = address.or_else(|_| {
                let address = word.parse::<Address>();
                address.map(|address| address.as_bytes().to_vec())
            });
            let bytes = || bytes(word).filter(|bytes| [6, 8].contains(&bytes.len()));
            match address.ok().or_else(bytes) {
                Some(bytes) => Ok(Literal::Bytes(bytes)),
                None => wrong("an address", "10.0.0.1, 2001:db8::1 or 00:11:22:33:44:55"),
            }
        }
        Type::Bytes | Type::Open => match bytes(word) {
            Some(bytes) => Ok(Literal::Bytes(bytes)),
            None => wrong("bytes or a text", "0d:0a, or \"text\" in double quotes"),
        },
        Type::Text => Ok(Literal::Bytes(word.as_bytes().to_vec())),
    }
}

fn number(word: &str) -> Option<i128> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    let lower = digits.to_ascii_lowercase();
    let number = match lower.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => match lower.strip_prefix("0b") {
            Some(bits) => u64::from_str_radix(bits, 2).ok()?,
            None if lower.len() > 1 && lower.starts_with('0') => {
                u64::from_str_radix(&lower, 8).ok()?
            }
            None => lower.parse().ok()?,
        },
    };
    let number = i128::from(number);
    Some(if negative { -number } else { number })
}

/// `00:11:22`, `00-11-22`, `0011.2233.4455` or `11`: bytes in hexadecimal.
fn bytes(word: &str) -> Option<Vec<u8>> {
    let pairs = |text: &str| -> Option<Vec<u8>> {
        let digits: Vec<u8> = text
            .chars()
            .map(|c| c.to_digit(16).map(|digit| digit as u8))
            .collect::<Option<_>>()?;
        match digits.len() {
            1 => Some(digits),
            len if len > 0 && len % 2 == 0 => Some(
                digits
                    .chunks(2)
                    .map(|pair| pair.iter().fold(0, |all, digit| all << 4 | digit))
                    .collect(),
            ),
            _ => None,
        }
    };
    let word = word.strip_prefix("0x").unwrap_or(word);
    // With dots four digits stand together: otherwise it is a part of an address of IPv4.
    if word.contains('.') && word.split('.').any(|part| part.len() != 4) {
        return None;
    }
    let parts: Option<Vec<Vec<u8>>> = word.split([':', '-', '.']).map(pairs).collect();
    parts.map(|parts| parts.concat())
}

fn is_bytes(word: &str) -> bool {
    word.contains([':', '-']) && bytes(word).is_some() || (word.len() == 2 && bytes(word).is_some())
}

/// Seconds since 1970, with a fraction, in nanoseconds.
fn seconds(word: &str) -> Option<i128> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    let whole_ns = i128::from(whole) * 1_000_000_000;
    Some(if word.starts_with('-') {
        whole_ns - nanoseconds
    } else {
        whole_ns + nanoseconds
    })
}

/// `2026-11-23 10:00:00.5` in UTC, in nanoseconds since 1970.
fn date(text: &str) -> Option<i128> {
    let text = text.trim().trim_end_matches('Z');
    let (day, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let mut day = day.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (day.next()?.ok()?, day.next()?.ok()?, day.next()?.ok()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = clock.splitn(3, ':').map(str::parse::<i64>);
    let hour = clock.next()?.ok()?;
    let minute = clock.next()?.ok()?;
    let second = clock.next().unwrap_or(Ok(0)).ok()?;
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Days from 1970-01-01 in the Gregorian calendar, years from March on.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100
        + day_of_year
        - 719_468;
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(i128::from(seconds) * 1_000_000_000 + nanoseconds)
}

/// A pattern that needs more room is refused.
const PATTERN_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use weir_packet::{Decoder, Frame, LinkType};

    use super::*;

    /// An echo request of 10.0.0.1 in a tunnel of 9.0.0.1, on a VLAN.
    fn tunnel() -> Vec<u8> {
        let ip = |protocol: u8, src: u8, payload: &[u8]| {
            let len = (20 + payload.len()) as u16;
            let mut header = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
            header[2..4].copy_from_slice(&len.to_be_bytes());
            header.extend([src, 0, 0, 1, src, 0, 0, 2]);
            header.extend(payload);
            header
        };
        let echo = [
            8, 0, 0xf7, 0xff, 0, 0, 0, 0, b'H', b'e', b'l', b'l', b'o', 0xff,
        ];
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 5, 8, 0];
        frame.extend(ip(4, 9, &ip(1, 10, &echo)));
        frame
    }

    fn passes(filter: &str) -> bool {
        let data = tunnel();
        let mut decoder = Decoder::default();
        let mut frame = Frame::new(LinkType::ETHERNET, &data);
        frame.time_ns = Some(1_500_000_000);
        let packet = decoder.decode(frame);
        let filter =
            DisplayFilter::new(filter).unwrap_or_else(|error| panic!("{filter}: {error:?}"));
        filter.passes(&Row::new("x.pcap", &packet))
    }

    #[test]
    fn filters_ask_all_headers_of_a_packet() {
        for filter in [
            "ip",
            "icmp",
            "eth",
            "frame",
            "not tcp",
            "!dns",
            "vlan.id == 5",
            "ip.addr == 9.0.0.1",
            "ip.addr == 10.0.0.2",
            "ip.src == 10.0.0.0/8",
            "ip.src in {10.0.0.0/8}",
            "ip.src#2 == 10.0.0.1",
            "!(ip.src#1 == 10.0.0.1)",
            "count(ip.src) == 2",
            "count(ip.addr) == 4",
            "ip.src != 11.0.0.1",
            "!(ip.src != 10.0.0.1)",
            "ip.src ~= 10.0.0.1",
            "!(ip.src === 9.0.0.1)",
            "all ip.src > 8.0.0.0",
            "ip.src < ip.dst",
            "ip.src[0] == 0a",
            "eth.src[0:3] == 02:00:00",
            "eth.src[-1] == 1",
            "eth.addr == 02-00-00-00-00-01",
            "frame contains \"Hello\"",
            "icmp contains \"llo\"",
            "frame matches \"hel+o\"",
            "frame matches \"o\\xff$\"",
            "frame[-1] == ff",
            "len(eth.src) == 6",
            "icmp.type == 8",
            "icmp.type in {0, 8}",
            "icmp.type in {7..9}",
            "icmp.type & 8",
            "ip.ttl == 0x40",
            "ip.flags.df == 0",
            "ip.flags.df == False",
            "frame.time_epoch == 1.5",
            "frame.time < \"2000-01-01\"",
            "ip.len - 20 > 5",
            "frame.time == \"1970-01-01 00:00:01.5\"",
            "9.0.0.1 == ip.src",
        ] {
            assert!(passes(filter), "{filter}");
        }
        for filter in [
            "tcp",
            "ip.addr == 11.0.0.1",
            "tcp.port != 80",
            "tcp.port == 80",
            "ip.src != 10.0.0.1",
            "frame contains \"hello\"",
            "frame[100] == 1",
            "icmp.type & 1",
            "count(tcp.port) == 0",
            "ip.src not in {10.0.0.0/8}",
            "eth.src[0:3] == 02:00:01",
            "ip.src == ip.dst",
            "ip.src != 10.0.0.0/8",
        ] {
            assert!(!passes(filter), "{filter}");
        }
    }

    /// The filters that tshark is asked, too.
    #[test]
    fn the_filters_of_the_comparison_are_known() {
        let text = include_str!("../tests/filters.txt");
        let filters = text.lines().filter(|line| !line.starts_with('#'));
        let wrong: Vec<String> = filters
            .filter_map(|filter| {
                DisplayFilter::new(filter)
                    .err()
                    .map(|error| format!("{filter}: {error}"))
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn what_packets_do_not_have_is_said_with_its_place() {
        for (filter, message, start, hint) in [
            (
                "tcp.stream == 5",
                "packets have no field tcp.stream",
                0,
                "flow.id",
            ),
            (
                "ip && sip.Method == \"INVITE\"",
                "packets have no field sip.Method",
                6,
                "sip('trace.pcap')",
            ),
            ("tcp.port == http", "packets have no field http", 12, ""),
            ("ip.src == 10.0.0", "expected an address", 10, "10.0.0.1"),
            (
                "tcp.port == \"80\"",
                "expected a number",
                12,
                "without quotes",
            ),
            ("tcp.port contains 80", "a number contains nothing", 0, ""),
            ("frame matches \"(\"", "no pattern: unclosed group", 14, ""),
            (
                "string(ip.src) == \"x\"",
                "there is no function string",
                0,
                "len",
            ),
            (
                "tcp.port[0] == 1",
                "only bytes and text have slices",
                0,
                "tcp.flags & 0x02",
            ),
        ] {
            let error = DisplayFilter::new(filter).unwrap_err();
            assert_eq!(
                (error.message.as_str(), error.start),
                (message, start),
                "{filter}"
            );
            let said = error.hint.unwrap_or_default();
            assert!(said.contains(hint), "{filter}: {said}");
        }
    }
}
