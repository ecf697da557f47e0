//! Rows of Arrow as rows of the PostgreSQL protocol, in text and in binary.
//!
//! Integers that PostgreSQL has no type for (64 bits without a sign) are `numeric`, addresses `inet` or `macaddr`
//! where the origin of the column tells which, and times have microseconds. Finer times are truncated, and a notice names
//! their columns ([`Encoder::truncation_notice`]).

mod column;
mod float;
mod interval;
mod style;
mod write;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use arrow_pg::datatypes::field_into_pg_type;
use bytes::BytesMut;
use pgwire::api::Type;
use pgwire::api::portal::Format;
use pgwire::api::results::{FieldFormat, FieldInfo};
use pgwire::messages::data::DataRow;

use self::column::EncodedColumn;
pub(super) use self::style::{IntervalStyle, Style};
use crate::catalog::named_type;
use crate::error::{Failure, FailureKind};
use crate::workers::bytes_of;

/// The columns of an answer as the protocol describes them.
pub(crate) fn fields(
    schema: &Schema,
    origins: &[Option<String>],
    format: &Format,
) -> Vec<FieldInfo> {
    let columns = schema.fields().iter().enumerate();
    columns
        .map(|(index, field)| {
            let origin = origins.get(index).and_then(Option::as_deref);
            let kind = type_of(field, origin);
            FieldInfo::new(
                field.name().clone(),
                None,
                None,
                kind,
                format_of(format, index),
            )
        })
        .collect()
}

/// The format of a column. A column that is not described has none, and is text: pgwire's own function panics.
pub(super) fn format_of(format: &Format, index: usize) -> FieldFormat {
    match format {
        Format::Individual(codes) => codes
            .get(index)
            .map_or(FieldFormat::Text, |code| FieldFormat::from(*code)),
        format => format.format_for(index),
    }
}

/// The type of a column.
pub(crate) fn type_of(field: &Arc<Field>, origin: Option<&str>) -> Type {
    if let Some(origin) = origin {
        if origin.starts_with("ip.") || origin.starts_with("ipv6.") {
            return Type::INET;
        }
        if origin.starts_with("eth.") {
            return Type::MACADDR;
        }
    }
    if let Some(known) = named_type(field) {
        return known;
    }
    match field.data_type() {
        DataType::Null => Type::TEXT,
        DataType::Decimal256(..) | DataType::Decimal32(..) | DataType::Decimal64(..) => {
            Type::NUMERIC
        }
        DataType::Float16 => Type::FLOAT4,
        DataType::Dictionary(_, value) => type_of(
            &Arc::new(Field::new("", value.as_ref().clone(), true)),
            None,
        ),
        _ => field_into_pg_type(field).unwrap_or(Type::TEXT),
    }
}

/// Writes batches of one answer.
pub(crate) struct Encoder {
    fields: Arc<Vec<FieldInfo>>,
    /// Columns whose times are finer than the protocol.
    finer: Vec<bool>,
    style: Style,
}

impl Encoder {
    pub(crate) fn new(fields: Arc<Vec<FieldInfo>>, style: Style) -> Self {
        Self {
            finer: vec![false; fields.len()],
            fields,
            style,
        }
    }

    /// The notice about values that were cut.
    pub(crate) fn truncation_notice(&self) -> Option<String> {
        let columns = self.fields.iter().zip(&self.finer);
        let names: Vec<&str> = columns
            .filter(|(_, finer)| **finer)
            .map(|(field, _)| field.name())
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "{} {} nanoseconds, which this protocol does not carry: they are truncated to microseconds; CAST(… AS TEXT) keeps them",
                names.join(", "),
                if names.len() == 1 { "has" } else { "have" }
            )
        })
    }

    /// Bytes that the rows of a batch take, about: a buffer that grows to what a long value takes is twice as large.
    fn written_bytes(&self, batch: &RecordBatch) -> usize {
        let columns = self.fields.iter().enumerate().map(|(index, field)| {
            let bytes = batch.columns().get(index).map_or(0, bytes_of);
            match *field.datatype() == Type::BYTEA && field.format() == FieldFormat::Text {
                true => bytes.saturating_mul(2),
                false => bytes,
            }
        });
        let few = batch.num_rows() * self.fields.len() * 12;
        columns.fold(few, usize::saturating_add)
    }

    /// The rows of a batch.
    pub(crate) fn rows(&mut self, batch: &RecordBatch) -> Result<Vec<DataRow>, Failure> {
        let schema = batch.schema();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (index, array) in batch.columns().iter().enumerate() {
            let Some(field) = self.fields.get(index) else {
                return Err(Failure::new(
                    FailureKind::Run,
                    "cached plan must not change result type",
                ));
            };
            let mut finer = false;
            columns.push(EncodedColumn::new(
                array,
                schema.field(index),
                field,
                self.style,
                &mut finer,
            )?);
            if let Some(known) = self.finer.get_mut(index) {
                *known |= finer;
            }
        }
        let count = i16::try_from(columns.len()).map_err(|_| {
            Failure::new(
                FailureKind::Limit,
                "the protocol has 32,767 columns at most",
            )
        })?;
        let mut arena = BytesMut::with_capacity(self.written_bytes(batch));
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            for (column, field) in columns.iter().zip(self.fields.iter()) {
                let is_binary = field.format() == FieldFormat::Binary;
                column.write(row, is_binary, self.style, &mut arena)?;
            }
            rows.push(DataRow::new(arena.split(), count));
        }
        Ok(rows)
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Run,
        format!("a value cannot be sent in this protocol: {error}"),
    )
}

/// The fields of a row: their bytes, `None` for NULL.
pub(crate) fn values(row: &DataRow) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest: &[u8] = &row.data;
    std::iter::from_fn(move || {
        let (length, others) = rest.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        match usize::try_from(length) {
            Ok(length) => {
                let (value, others) = others.split_at_checked(length)?;
                rest = others;
                Some(Some(value))
            }
            Err(_) => {
                rest = others;
                Some(None)
            }
        }
    })
}
