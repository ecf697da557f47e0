//! Resolves the fields, protocols and values of a filter.

mod fitting;
mod octets;

use std::cmp::Ordering;
use std::sync::Arc;

use weir_filter::{
    ArithmeticOperator, ComparisonOperator, Error, Filter, Operand, OperandKind, Quantifier, Range,
    RangeEnd, parse,
};
use weir_packet::{Kind, Layer, Needs};

use super::literal::{is_bytes, literal, literal_of};
use super::messages::{FieldTest, MessageField, Messages};
use super::protocols::{
    carried, condition, instead, is_flag, is_protocol, layer_named, only_packets,
};
use super::{Literal, Relation, Test, Type, ValueSource, pattern};
use crate::names::{Meaning, Name, advice};
use crate::search::{Search, pattern_error};
use crate::value::Operator;
use crate::{Column, Origin, Table};

/// Resolves the words of a filter.
pub(super) struct FilterReader<'t> {
    table: &'t Table,
    columns: Vec<Column>,
    messages: Arc<Messages>,
    relations: Vec<FieldTest>,
    /// The field of messages of the current comparison.
    field: Option<MessageField>,
    /// Whether a protocol of messages stands for the octets that a packet has of it.
    takes_octets: bool,
    /// The test for packets of the protocol whose octets the current comparison reads.
    protocol: Option<Test>,
}

impl<'t> FilterReader<'t> {
    pub(super) fn new(table: &'t Table) -> Self {
        Self {
            table,
            columns: Vec::new(),
            messages: Arc::default(),
            relations: Vec::new(),
            field: None,
            takes_octets: false,
            protocol: None,
        }
    }

    /// The columns of packets that the filter reads, and its tests on messages.
    pub(super) fn finish(self) -> (Vec<Column>, Arc<Messages>) {
        self.messages.set_relations(self.relations);
        (self.columns, self.messages)
    }

    pub(super) fn test(&mut self, filter: &Filter) -> Result<Test, Error> {
        let all = |reader: &mut Self, parts: &[Filter]| {
            let parts = parts.iter().map(|part| reader.test(part));
            parts.collect::<Result<Vec<_>, _>>()
        };
        Ok(match filter {
            Filter::And(parts) => Test::All(all(self, parts)?),
            Filter::Or(parts) => Test::One(all(self, parts)?),
            Filter::Not(inner) => Test::Not(Box::new(self.test(inner)?)),
            Filter::Exists(operand) => {
                self.takes_octets = true;
                let test = self.exists(operand)?;
                let test = self.of_messages(test, operand, operand)?;
                self.of_protocol(test)
            }
            Filter::Compare {
                quantifier,
                left,
                relation,
                right,
            } => {
                self.takes_octets = true;
                let test = self.compare(*quantifier, left, *relation, right)?;
                let test = self.of_messages(test, left, right)?;
                let test = self.of_protocol(test);
                match octets::is_word(left, "sip") && *quantifier == Quantifier::Any {
                    true => self.or_parts_of_sip(test, left, *relation, right)?,
                    false => test,
                }
            }
            Filter::In {
                quantifier,
                operand,
                set,
            } => {
                self.takes_octets = true;
                let (source, kind) = self.source(operand)?;
                let mut literals = Vec::with_capacity(set.len());
                for (first, last) in set {
                    let last = match last {
                        Some(last) => Some(self.fitting(last, operand, kind)?),
                        None => None,
                    };
                    literals.push((self.fitting(first, operand, kind)?, last));
                }
                let test = Test::In(*quantifier, source, kind, literals);
                let test = self.of_messages(test, operand, operand)?;
                self.of_protocol(test)
            }
        })
    }

    /// Turns a relation into a test of messages, when it has a field of messages.
    fn of_messages(&mut self, test: Test, left: &Operand, right: &Operand) -> Result<Test, Error> {
        let Some(field) = self.field.take() else {
            return Ok(test);
        };
        if test.reads_packet() {
            return Err(Error::new(
                "a message field is compared with a written value, not with a packet field",
                left.start,
                right.end,
            )
            .with_hint(field.in_sql()));
        }
        self.relations.push(FieldTest::new(field, test));
        Ok(Test::Message(
            self.relations.len() - 1,
            Arc::clone(&self.messages),
        ))
    }

    /// Sets the field of messages of a relation, which may have one only.
    fn set_field(&mut self, field: MessageField, operand: &Operand) -> Result<(), Error> {
        match &self.field {
            Some(known) if *known != field => Err(Error::new(
                "two message fields cannot be compared with each other",
                operand.start,
                operand.end,
            )
            .with_hint(field.in_sql())),
            _ => {
                self.field = Some(field);
                Ok(())
            }
        }
    }

    fn exists(&mut self, operand: &Operand) -> Result<Test, Error> {
        if let OperandKind::Word(word) = &operand.kind {
            let lower = present(word);
            if lower == "frame" {
                return Ok(Test::Always);
            }
            if let Some(layer) = layer_named(&lower) {
                return Ok(Test::Layer(layer));
            }
            if let Some(headers) = carried(&lower).or_else(|| condition(&lower)) {
                return self.test(&parse(headers).map_err(|_| unknown(operand, word))?);
            }
            if let Some(field) = MessageField::protocol(&lower) {
                self.set_field(field, operand)?;
                return Ok(Test::Always);
            }
        }
        let (source, kind) = self.source(operand)?;
        if kind == Type::Open {
            return Err(unknown(operand, "a value alone is not a condition"));
        }
        let is_calculated = matches!(operand.kind, OperandKind::Calculated(..));
        Ok(Test::Exists(source, is_calculated))
    }

    fn compare(
        &mut self,
        quantifier: Quantifier,
        left: &Operand,
        operator: ComparisonOperator,
        right: &Operand,
    ) -> Result<Test, Error> {
        if let Some(test) = self.flag(left, operator, right)? {
            return Ok(test);
        }
        let operator = match operator {
            ComparisonOperator::Equal => Operator::Equal,
            ComparisonOperator::NotEqual => Operator::NotEqual,
            ComparisonOperator::Less => Operator::Less,
            ComparisonOperator::LessOrEqual => Operator::LessOrEqual,
            ComparisonOperator::Greater => Operator::Greater,
            ComparisonOperator::GreaterOrEqual => Operator::GreaterOrEqual,
            ComparisonOperator::Contains => {
                let (left, right, _) = self.sides(left, true, right)?;
                let left = left.searched();
                return Ok(Test::Compare(quantifier, left, Relation::Contains, right));
            }
            ComparisonOperator::Matches => return self.matches(quantifier, left, right),
        };
        let (left, right, kind) = self.sides(left, false, right)?;
        let relation = Relation::Order(operator, kind);
        Ok(Test::Compare(quantifier, left, relation, right))
    }

    /// Reads a comparison of a condition that Wireshark has as a flag, which is set where it is there: `arp.isprobe == 1`.
    fn flag(
        &mut self,
        left: &Operand,
        operator: ComparisonOperator,
        right: &Operand,
    ) -> Result<Option<Test>, Error> {
        let (OperandKind::Word(field), OperandKind::Word(value)) = (&left.kind, &right.kind) else {
            return Ok(None);
        };
        if !is_flag(&present(field)) {
            return Ok(None);
        }
        let is_set = match value.to_ascii_lowercase().as_str() {
            "1" | "true" => true,
            "0" | "false" => false,
            _ => return Ok(None),
        };
        let is_wanted = match operator {
            ComparisonOperator::Equal => is_set,
            ComparisonOperator::NotEqual => !is_set,
            _ => return Ok(None),
        };
        Ok(Some(match is_wanted {
            true => self.exists(left)?,
            false => Test::Not(Box::new(Test::Always)),
        }))
    }

    /// Reads a comparison of bytes or text with a pattern.
    fn matches(
        &mut self,
        quantifier: Quantifier,
        left: &Operand,
        right: &Operand,
    ) -> Result<Test, Error> {
        let (source, kind) = self.source(left)?;
        let OperandKind::Text(pattern) = &right.kind else {
            return Err(Error::new("a pattern must be text", right.start, right.end)
                .with_hint("frame matches \"GET /[a-z]+\""));
        };
        let is_number = matches!(kind, Type::Number | Type::Flag | Type::Time | Type::Seconds);
        if is_number || kind == Type::Address && !self.has_mac_addresses(left) {
            return Err(Error::new(
                "a pattern matches text or bytes",
                left.start,
                left.end,
            ));
        }
        let built = pattern::built(pattern).map_err(|error| {
            let line = pattern_error(&error);
            Error::new(format!("invalid pattern: {line}"), right.start, right.end)
                .with_hint(Search::pattern_hint(&line))
        })?;
        Ok(Test::Matches(quantifier, source.searched(), built))
    }

    /// Reads both sides of a comparison, and the type as which they are compared; a literal has the type of the other side.
    fn sides(
        &mut self,
        left: &Operand,
        is_search: bool,
        right: &Operand,
    ) -> Result<(ValueSource, ValueSource, Type), Error> {
        let is_left = self.is_literal(left);
        let is_right = self.is_literal(right) || !is_left && self.is_unquoted(right);
        let open = (is_left, is_right);
        Ok(match open {
            (false, true) => {
                let (source, kind) = self.source(left)?;
                let kind = match kind {
                    Type::Address if is_search => Type::Bytes,
                    kind => kind,
                };
                if is_search
                    && matches!(kind, Type::Number | Type::Flag | Type::Time | Type::Seconds)
                {
                    return Err(
                        Error::new("contains is not for numbers", left.start, left.end)
                            .with_hint("compare it with ==, or look at its bits: tcp.flags & 2"),
                    );
                }
                let literal = literal_of(right, left, kind).map_err(|error| match &right.kind {
                    OperandKind::Word(word)
                        if word.contains('.')
                            && !self.is_literal(right)
                            && self.is_unquoted(right) =>
                    {
                        self.not_there(right, word)
                    }
                    _ => error,
                })?;
                if !is_search {
                    self.fits(&literal, right, left)?;
                }
                (source, ValueSource::Literal(literal), kind)
            }
            (true, false) => {
                let (source, kind) = self.source(right)?;
                let left = ValueSource::Literal(self.fitting(left, right, kind)?);
                (left, source, kind)
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
                if left_kind == Type::Text && self.is_host(right) {
                    let literal = literal_of(right, left, left_kind)?;
                    return Ok((left_source, ValueSource::Literal(literal), left_kind));
                }
                let (right_source, right_kind) = self.source(right)?;
                self.can_be_compared((left, left_kind), (right, right_kind))?;
                (left_source, right_source, left_kind)
            }
        })
    }

    /// Returns true for an operand that is no field, protocol or function.
    fn is_literal(&self, operand: &Operand) -> bool {
        match &operand.kind {
            OperandKind::Text(_) | OperandKind::Character(_) => true,
            OperandKind::Word(word) => {
                let lower = present(word);
                // A word that looks like the name of a field is an unknown field.
                let like_a_value = word
                    .starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == ':')
                    || word.contains([':', '/'])
                    || is_bytes(word)
                    || ["true", "false"].contains(&lower.as_str());
                like_a_value && !self.is_known(&lower)
            }
            OperandKind::Calculated(_, left, right) => {
                self.is_literal(left) && self.is_literal(right)
            }
            _ => false,
        }
    }

    /// Returns true for a word right of a sign that names nothing, and so is a value without quotes: `sip.Method == INVITE`,
    /// `ip.proto == TCP`, as Wireshark's protocols are in lower case. One behind the name of a protocol and a dot is a field
    /// that is not there.
    fn is_unquoted(&self, operand: &Operand) -> bool {
        let OperandKind::Word(word) = &operand.kind else {
            return false;
        };
        let lower = present(word);
        match lower.split_once('.') {
            Some((protocol, _)) => {
                // A protocol without fields may be the first part of a name: smtp.example.org.
                let has_fields = is_protocol(protocol) && only_packets(&lower).is_none();
                protocol != "frame" && !has_fields && !self.is_known(&lower)
            }
            None => {
                let has_capitals = word.bytes().any(|byte| byte.is_ascii_uppercase());
                has_capitals || !self.is_known(&lower) && !is_protocol(&lower)
            }
        }
    }

    /// Returns true for a word that has the form of a name of a host and names nothing: beside text, Wireshark takes it as text,
    /// also where its first part is a protocol: `dns.qry.name == dns.google`.
    fn is_host(&self, operand: &Operand) -> bool {
        let OperandKind::Word(word) = &operand.kind else {
            return false;
        };
        let lower = present(word);
        let is_label = |label: &str| {
            let is_written = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !label.is_empty() && label.bytes().all(is_written)
        };
        word.contains('.')
            && word.split('.').all(is_label)
            && !self.is_known(&lower)
            && condition(&lower).is_none()
            && Name::meanings(&lower).next().is_none()
    }

    /// Returns true for the name of a field or a protocol.
    fn is_known(&self, name: &str) -> bool {
        name == "frame"
            || layer_named(name).is_some()
            || derived(name).is_some()
            || self.fields(name).is_some()
            || MessageField::named(name).is_some()
    }

    fn source(&mut self, operand: &Operand) -> Result<(ValueSource, Type), Error> {
        Ok(match &operand.kind {
            OperandKind::Word(word) => self.word(operand, word, &[])?,
            OperandKind::Layer(word, numbers) => self.word(operand, word, numbers)?,
            OperandKind::Text(_) | OperandKind::Character(_) => (
                ValueSource::Literal(literal(operand, Type::Text)?),
                Type::Open,
            ),
            OperandKind::Slice(of, ranges) => {
                octets::have_offsets(of)?;
                let (source, kind) = self.source(of)?;
                match kind {
                    // A slice of text is bytes, too: http.request.method[0] == 47.
                    Type::Address | Type::Bytes | Type::Text => (
                        ValueSource::Slice(Box::new(source.sliced()), ranges.clone()),
                        Type::Bytes,
                    ),
                    _ => {
                        return Err(Error::new(
                            "only bytes and text have slices",
                            of.start,
                            of.end,
                        )
                        .with_hint("use the bits of a number: tcp.flags & 0x02"));
                    }
                }
            }
            OperandKind::Call(name, arguments) => self.call(operand, name, arguments)?,
            OperandKind::Calculated(calculation, left, right) => {
                self.calculation(*calculation, left, right)?
            }
        })
    }

    /// Reads a calculation with numbers, a sum or difference of seconds, or the bits of bytes.
    fn calculation(
        &mut self,
        calculation: ArithmeticOperator,
        left: &Operand,
        right: &Operand,
    ) -> Result<(ValueSource, Type), Error> {
        let read = |reader: &mut Self, operand: &Operand| {
            let is_written =
                reader.is_literal(operand) && !matches!(operand.kind, OperandKind::Calculated(..));
            match is_written {
                true => Ok(None),
                false => reader.source(operand).map(Some),
            }
        };
        let (first, second) = (read(self, left)?, read(self, right)?);
        let is_and = calculation == ArithmeticOperator::And;
        let is_sum = matches!(
            calculation,
            ArithmeticOperator::Add | ArithmeticOperator::Subtract
        );
        let of = |side: Option<&(ValueSource, Type)>| side.map(|(_, kind)| *kind);
        let kinds = [of(first.as_ref()), of(second.as_ref())];
        let kind = match kinds {
            _ if is_sum && kinds.contains(&Some(Type::Seconds)) => Type::Seconds,
            // The bits of bytes are tested, and what is written beside them is bytes: tcp[13] & 12.
            [Some(kind @ (Type::Bytes | Type::Address)), None]
            | [None, Some(kind @ (Type::Bytes | Type::Address))]
                if is_and =>
            {
                kind
            }
            [Some(Type::Bytes), Some(Type::Bytes)] if is_and => Type::Bytes,
            [Some(Type::Address), Some(Type::Address)] if is_and => Type::Address,
            _ => Type::Number,
        };
        let side = |side: Option<(ValueSource, Type)>, operand: &Operand| match (side, kind) {
            (None, _) => Ok(ValueSource::Literal(literal(operand, kind)?)),
            (Some((source, of)), _) if of == kind => Ok(source),
            (Some((source, Type::Flag)), Type::Number) => Ok(source),
            // A number beside bytes.
            (Some((source, Type::Bytes)), Type::Number) if is_and => Ok(source),
            _ => Err(Error::new(
                "only numbers are calculated with",
                operand.start,
                operand.end,
            )),
        };
        let (first, second) = (side(first, left)?, side(second, right)?);
        let source = ValueSource::Calculated(calculation, Box::new(first), Box::new(second));
        Ok((source, kind))
    }

    fn call(
        &mut self,
        operand: &Operand,
        name: &str,
        arguments: &[Operand],
    ) -> Result<(ValueSource, Type), Error> {
        let lower = name.to_ascii_lowercase();
        let wrong = |message: String| Error::new(message, operand.start, operand.end);
        if !FUNCTIONS.contains(&lower.as_str()) {
            let error = wrong(format!("there is no function {lower}"));
            return Err(error.with_hint(
                "the functions are abs, count, len, lower, max, min, string and upper",
            ));
        }
        if ["max", "min"].contains(&lower.as_str()) && !arguments.is_empty() {
            return self.extreme(operand, &lower, arguments);
        }
        let [argument] = arguments else {
            return Err(wrong(format!("{lower} takes one field")));
        };
        octets::have_offsets(argument)?;
        let (source, kind) = self.source(argument)?;
        let source = Box::new(source);
        let is_number = matches!(kind, Type::Number | Type::Flag | Type::Time | Type::Seconds);
        match lower.as_str() {
            "count" => Ok((ValueSource::Count(source), Type::Number)),
            "len" if !is_number => Ok((ValueSource::Length(source), Type::Number)),
            "lower" if kind == Type::Text => Ok((ValueSource::Lower(source), kind)),
            "upper" if kind == Type::Text => Ok((ValueSource::Upper(source), kind)),
            "abs" if matches!(kind, Type::Number | Type::Seconds) => {
                Ok((ValueSource::Absolute(source), kind))
            }
            "string" if matches!(kind, Type::Number | Type::Address) => {
                Ok((ValueSource::Written(source), Type::Text))
            }
            _ => {
                let takes = match lower.as_str() {
                    "len" => "text or bytes",
                    "abs" => "a number",
                    "string" => "a number or an address",
                    _ => "text",
                };
                Err(Error::new(
                    format!("{lower} takes {takes}"),
                    argument.start,
                    argument.end,
                ))
            }
        }
    }

    /// Builds the greatest or least value of all arguments, which are of one type.
    fn extreme(
        &mut self,
        operand: &Operand,
        name: &str,
        arguments: &[Operand],
    ) -> Result<(ValueSource, Type), Error> {
        let (mut sources, mut kind) = (Vec::with_capacity(arguments.len()), None);
        for argument in arguments {
            if kind.is_none() && !self.is_literal(argument) {
                kind = Some(self.source(argument)?.1);
            }
        }
        let Some(kind) = kind else {
            let error = Error::new(format!("{name} takes fields"), operand.start, operand.end);
            return Err(error.with_hint("max(tcp.srcport, tcp.dstport) > 1024"));
        };
        for argument in arguments {
            sources.push(match self.is_literal(argument) {
                true => ValueSource::Literal(literal(argument, kind)?),
                false => match self.source(argument)? {
                    (source, of) if of == kind => source,
                    _ => {
                        return Err(Error::new(
                            format!("{name} compares values of one kind"),
                            argument.start,
                            argument.end,
                        ));
                    }
                },
            });
        }
        let side = match name {
            "max" => Ordering::Greater,
            _ => Ordering::Less,
        };
        Ok((ValueSource::Extreme(side, kind, sources), kind))
    }

    fn word(
        &mut self,
        operand: &Operand,
        word: &str,
        numbers: &[Range],
    ) -> Result<(ValueSource, Type), Error> {
        let lower = present(word);
        if std::mem::take(&mut self.takes_octets)
            && numbers.is_empty()
            && let Some(octets) = self.octets(operand, &lower)?
        {
            return Ok(octets);
        }
        if lower == "frame" && numbers.is_empty() {
            return Ok((ValueSource::Frame, Type::Bytes));
        }
        if let Some(layer) = layer_named(&lower) {
            return Ok((ValueSource::Header(layer, numbers.to_vec()), Type::Bytes));
        }
        if let Some(of) = derived(&lower) {
            return self.derive(operand, of, numbers);
        }
        match self.fields(&lower) {
            Some(columns) => self.packet_field(operand, word, columns, numbers),
            None => self.message_field(operand, word, numbers),
        }
    }

    /// A field of messages, which has one value in each.
    fn message_field(
        &mut self,
        operand: &Operand,
        word: &str,
        numbers: &[Range],
    ) -> Result<(ValueSource, Type), Error> {
        let Some((field, kind)) = MessageField::named(&present(word)) else {
            return Err(self.not_there(operand, word));
        };
        if !numbers.is_empty() {
            return Err(Error::new(
                "message fields have no header number",
                operand.start,
                operand.end,
            ));
        }
        self.set_field(field, operand)?;
        Ok((ValueSource::Cell, kind))
    }

    /// A field of packets, whose values are in these columns.
    fn packet_field(
        &mut self,
        operand: &Operand,
        word: &str,
        columns: Vec<Column>,
        numbers: &[Range],
    ) -> Result<(ValueSource, Type), Error> {
        let lower = present(word);
        let mut fields = Vec::new();
        let (mut layer, mut kind) = (None, Type::Open);
        for column in &columns {
            match column.origin {
                Origin::Packet(field, needs) => {
                    fields.push(field);
                    // IPv6 options are in headers of two kinds.
                    if let Needs::Layer(of) = needs
                        && !field.name.starts_with("ipv6.opt.")
                    {
                        layer = Some(of);
                    }
                }
                Origin::File => return Ok((ValueSource::File, Type::Text)),
                Origin::Since(since) => {
                    self.columns.extend(columns);
                    return Ok((ValueSource::Since(since), Type::Seconds));
                }
                _ => return Err(self.not_there(operand, word)),
            }
            let Some(known) = type_of(column.kind, &lower) else {
                return Err(self.not_there(operand, word));
            };
            kind = known;
        }
        if !numbers.is_empty() && layer.is_none() {
            return Err(Error::new(
                format!("{word} is not a field of a single header"),
                operand.start,
                operand.end,
            ));
        }
        self.columns.extend(columns);
        if lower == "ip.version" {
            // Headers of IPv6 have this field, too, as in Wireshark: ip.version == 6 selects them.
            let (other, _) = self.word(operand, "ipv6.version", numbers)?;
            let both = vec![version_of_ipv4(numbers), other];
            return Ok((ValueSource::Joined(both), kind));
        }
        let source = ValueSource::Fields(fields, layer, numbers.to_vec());
        Ok((source, kind))
    }

    /// Builds a field that is a part of another one.
    fn derive(
        &mut self,
        operand: &Operand,
        (of, part): (&str, FieldPart),
        numbers: &[Range],
    ) -> Result<(ValueSource, Type), Error> {
        let (source, _) = self.word(operand, of, numbers)?;
        let source = Box::new(source);
        let begins = |length: u32| {
            let range = Range {
                first: 0,
                end: RangeEnd::Length(length),
            };
            Box::new(ValueSource::Slice(source.clone(), vec![range]))
        };
        let with = |calculation, source, number| {
            let number = Box::new(ValueSource::Literal(Literal::Number(number)));
            ValueSource::Calculated(calculation, source, number)
        };
        Ok(match part {
            FieldPart::Written => (ValueSource::Written(source), Type::Text),
            FieldPart::Maker => (
                with(ArithmeticOperator::And, begins(3), 0x00ff_ffff),
                Type::Number,
            ),
            FieldPart::Bits(mask, lowest) => {
                let masked = Box::new(with(ArithmeticOperator::And, source, mask));
                (
                    with(ArithmeticOperator::Divide, masked, lowest),
                    Type::Number,
                )
            }
            FieldPart::Always(number) => {
                let nothing = Box::new(with(ArithmeticOperator::And, source, 0));
                (with(ArithmeticOperator::Add, nothing, number), Type::Number)
            }
            FieldPart::Bit(bit) => {
                let masked = Box::new(with(ArithmeticOperator::And, begins(1), bit));
                (with(ArithmeticOperator::Divide, masked, bit), Type::Flag)
            }
        })
    }

    /// The columns that a field stands for.
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
        if APART.contains(&name) {
            return None;
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
            Meaning::Expression(_) | Meaning::Advice(_) => None,
        }
    }

    fn not_there(&self, operand: &Operand, word: &str) -> Error {
        let has = |name: &str| self.table.position(name).is_some();
        let error = unknown(operand, word);
        let name = present(word);
        let hint = octets::hint(word).or_else(|| instead(&name));
        if let Some(hint) = hint.or_else(|| only_packets(&name)) {
            return error.with_hint(hint);
        }
        match advice(word, &has) {
            Some(advice) => error.with_hint(advice),
            None => error.with_hint("weir fields lists the fields; write text in double quotes"),
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

/// The version in each header of IPv4: the column `ip.version` has that of the outermost header of both.
fn version_of_ipv4(numbers: &[Range]) -> ValueSource {
    let first_byte = Range {
        first: 0,
        end: RangeEnd::Length(1),
    };
    let header = ValueSource::Header(Layer::Ipv4, numbers.to_vec());
    let byte = ValueSource::Slice(Box::new(header), vec![first_byte]);
    let sixteen = ValueSource::Literal(Literal::Number(16));
    ValueSource::Calculated(
        ArithmeticOperator::Divide,
        Box::new(byte),
        Box::new(sixteen),
    )
}

/// The functions of the language.
const FUNCTIONS: &[&str] = &[
    "abs", "count", "len", "lower", "max", "min", "string", "upper",
];

/// Wireshark's names with nearly, and not quite, the meaning of a column for which SQL takes them.
const APART: &[&str] = &["icmp.resp_to", "tcp.segment_data", "frame.encap_type"];

/// A part of a field that is a field by itself.
#[derive(Clone, Copy)]
enum FieldPart {
    /// The address as text.
    Written,
    /// The first three bytes of a MAC address.
    Maker,
    /// This bit of the first byte.
    Bit(i128),
    /// The bits of this mask, by the value of the lowest one.
    Bits(i128, i128),
    /// A number that is the same in each header with the field.
    Always(i128),
}

/// The field that a field is a part of.
fn derived(name: &str) -> Option<(&'static str, FieldPart)> {
    let known = DERIVED.iter().find(|(known, ..)| *known == name);
    known.map(|(_, of, part)| (*of, *part))
}

const GROUP: FieldPart = FieldPart::Bit(1);
const LOCAL: FieldPart = FieldPart::Bit(2);

#[rustfmt::skip]
const DERIVED: &[(&str, &str, FieldPart)] = &[
    ("eth.ig", "eth.addr", GROUP),
    ("eth.dst.ig", "eth.dst", GROUP),
    ("eth.src.ig", "eth.src", GROUP),
    ("eth.lg", "eth.addr", LOCAL),
    ("eth.dst.lg", "eth.dst", LOCAL),
    ("eth.src.lg", "eth.src", LOCAL),
    ("eth.addr.oui", "eth.addr", FieldPart::Maker),
    ("eth.dst.oui", "eth.dst", FieldPart::Maker),
    ("eth.src.oui", "eth.src", FieldPart::Maker),
    ("ip.host", "ip.addr", FieldPart::Written),
    ("ip.src_host", "ip.src", FieldPart::Written),
    ("ip.dst_host", "ip.dst", FieldPart::Written),
    ("ipv6.host", "ipv6.addr", FieldPart::Written),
    ("ipv6.src_host", "ipv6.src", FieldPart::Written),
    ("ipv6.dst_host", "ipv6.dst", FieldPart::Written),
    ("rtp.version", "rtp.p_type", FieldPart::Always(2)),
    ("rtcp.version", "rtcp.pt", FieldPart::Always(2)),
    ("stun.type.class", "stun.type", FieldPart::Bits(0x0110, 0x10)),
    ("stun.type.method", "stun.type", FieldPart::Bits(0x3eef, 1)),
];

/// The type of a field of this name whose values are of this kind; `None` where filters have none.
fn type_of(kind: Kind, name: &str) -> Option<Type> {
    Some(match kind {
        Kind::Bool => Type::Flag,
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 => Type::Number,
        Kind::Time if name == "frame.time_epoch" => Type::Seconds,
        Kind::Time => Type::Time,
        Kind::Address => Type::Address,
        Kind::Bytes => Type::Bytes,
        Kind::Text => Type::Text,
        Kind::F64 | Kind::Texts | Kind::Numbers => return None,
    })
}

/// A name in lower case; of a protocol that had another name, and of its fields, the present one.
fn present(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let renamed = FORMER.iter().find_map(|(old, new)| {
        let rest = lower.strip_prefix(old)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{new}{rest}"))
    });
    renamed.unwrap_or(lower)
}

/// Protocols that had another name, by which Wireshark takes them, too.
const FORMER: &[(&str, &str)] = &[("bootp", "dhcp"), ("ssl", "tls")];
