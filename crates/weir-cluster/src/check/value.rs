//! Validation of data types and literals.

use std::cell::Cell;

use datafusion_proto_common::arrow_type::ArrowTypeEnum;
use datafusion_proto_common::protobuf_common::{
    ArrowType, Field, ScalarNestedValue, ScalarValue, Schema, scalar_value::Value,
};

use super::{Checked, Refused, rows};

/// Validates the schema of a node.
pub(super) fn schema(schema: Option<&Schema>) -> Checked {
    match schema {
        Some(schema) => schema.columns.iter().try_for_each(|of| field(of, 1)),
        None => Ok(()),
    }
}

/// The schema of a node, which is validated.
///
/// # Errors
/// When there is none, or it cannot be decoded.
pub(super) fn declared(schema: Option<&Schema>) -> Result<arrow::datatypes::Schema, Refused> {
    let decoded = schema.map(|schema| rows::caught(|| arrow::datatypes::Schema::try_from(schema)));
    match decoded {
        Some(Ok(schema)) => Ok(schema),
        _ => Err(Refused::malformed(
            "the schema of a node is missing or cannot be decoded",
        )),
    }
}

fn field(field: &Field, width: u64) -> Checked {
    field
        .children
        .iter()
        .try_for_each(|child| self::field(child, width))?;
    data_type(field.arrow_type.as_deref(), width)
}

/// Validates a data type. One value of the outermost type has `width` values of this one: a NULL of a fixed-size list has all of
/// its elements.
pub(super) fn data_type(of: Option<&ArrowType>, width: u64) -> Checked {
    let Some(of) = of.and_then(|of| of.arrow_type_enum.as_ref()) else {
        return Ok(());
    };
    let inner = |child: &Option<Box<Field>>, width| match child {
        Some(child) => field(child, width),
        None => Ok(()),
    };
    match of {
        ArrowTypeEnum::FixedSizeBinary(size) => fixed(*size, width).map(|_| ()),
        ArrowTypeEnum::FixedSizeList(list) => {
            let width = fixed(list.list_size, width)?;
            inner(&list.field_type, width)
        }
        ArrowTypeEnum::List(list) | ArrowTypeEnum::LargeList(list) => {
            inner(&list.field_type, width)
        }
        // Each list may have all elements of the others.
        ArrowTypeEnum::ListView(_) | ArrowTypeEnum::LargeListView(_) => {
            Err(Refused::not_allowed("a list view type"))
        }
        ArrowTypeEnum::Struct(of) => of
            .sub_field_types
            .iter()
            .try_for_each(|child| field(child, width)),
        ArrowTypeEnum::Map(map) => inner(&map.field_type, width),
        ArrowTypeEnum::Dictionary(dictionary) => {
            let key = dictionary
                .key
                .as_ref()
                .and_then(|key| key.arrow_type_enum.as_ref());
            match key {
                Some(
                    ArrowTypeEnum::Int8(_)
                    | ArrowTypeEnum::Int16(_)
                    | ArrowTypeEnum::Int32(_)
                    | ArrowTypeEnum::Int64(_)
                    | ArrowTypeEnum::Uint8(_)
                    | ArrowTypeEnum::Uint16(_)
                    | ArrowTypeEnum::Uint32(_)
                    | ArrowTypeEnum::Uint64(_),
                ) => data_type(dictionary.value.as_deref(), width),
                _ => Err(Refused::malformed(
                    "the keys of a dictionary are not integers",
                )),
            }
        }
        ArrowTypeEnum::Decimal32(of) => decimal(of.precision, of.scale, 9),
        ArrowTypeEnum::Decimal64(of) => decimal(of.precision, of.scale, 18),
        ArrowTypeEnum::Decimal128(of) => decimal(of.precision, of.scale, 38),
        ArrowTypeEnum::Decimal256(of) => decimal(of.precision, of.scale, 76),
        ArrowTypeEnum::Union(_) => Err(Refused::not_allowed("a union type")),
        ArrowTypeEnum::RunEndEncoded(_) => Err(Refused::not_allowed("a run-end encoded type")),
        _ => Ok(()),
    }
}

/// The number of elements of a fixed-size type, multiplied with those of the types around it.
fn fixed(size: i32, width: u64) -> Result<u64, Refused> {
    let most = FIXED_MAX / width.max(1);
    match u64::try_from(size) {
        Ok(size) if size <= most => Ok(width * size.max(1)),
        _ => Err(Refused::malformed(format!(
            "a fixed-size type of {size} elements"
        ))),
    }
}

fn decimal(precision: u32, scale: i32, most: u32) -> Checked {
    let range = -i64::from(most)..=i64::from(precision);
    match (1..=most).contains(&precision) && range.contains(&i64::from(scale)) {
        true => Ok(()),
        false => Err(Refused::malformed(format!(
            "a decimal type of precision {precision} and scale {scale}"
        ))),
    }
}

/// The sums of what is validated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// The bytes of literals, which become columns of as many rows as a batch has.
    pub(super) literal_bytes: usize,
    /// The weight of patterns, which are compiled for each batch.
    pub(super) pattern_weight: usize,
}

thread_local! {
    /// The sums of what this thread validates.
    static SUMS: Cell<Sums> = const {
        Cell::new(Sums {
            literal_bytes: 0,
            pattern_weight: 0,
        })
    };
}

/// Runs a validation, and gives its sums.
pub(super) fn summed<T>(validate: impl FnOnce() -> T) -> (T, Sums) {
    let before = SUMS.replace(Sums::default());
    let validated = validate();
    (validated, SUMS.replace(before))
}

/// Validates a literal of a list: its value stands in a set, and not in a column.
pub(super) fn listed(of: &ScalarValue) -> Checked {
    summed(|| scalar(Some(of))).0
}

/// The weight of a pattern's text.
pub(super) type PatternWeight = fn(&str) -> usize;

/// Adds the weight of a pattern to the sums.
pub(super) fn pattern(of: &ScalarValue, weight: PatternWeight) {
    if let Some(
        Value::Utf8Value(pattern) | Value::LargeUtf8Value(pattern) | Value::Utf8ViewValue(pattern),
    ) = &of.value
    {
        let mut sums = SUMS.get();
        sums.pattern_weight = sums.pattern_weight.saturating_add(weight(pattern));
        SUMS.set(sums);
    }
}

/// Validates a literal, and counts its bytes.
pub(super) fn scalar(of: Option<&ScalarValue>) -> Checked {
    let Some(value) = of.and_then(|of| of.value.as_ref()) else {
        return Err(Refused::malformed("a literal has no value"));
    };
    let mut sums = SUMS.get();
    sums.literal_bytes = sums.literal_bytes.saturating_add(literal_bytes(value));
    SUMS.set(sums);
    match value {
        Value::NullValue(of) => data_type(Some(of), 1),
        Value::ListValue(of)
        | Value::LargeListValue(of)
        | Value::FixedSizeListValue(of)
        | Value::StructValue(of)
        | Value::MapValue(of) => {
            nested(value, of)?;
            rows::readable(|| {
                let sent = ScalarValue {
                    value: Some(value.clone()),
                };
                datafusion::scalar::ScalarValue::try_from(&sent).map(drop)
            })
        }
        Value::Decimal32Value(of) => digits(&of.value, 4),
        Value::Decimal64Value(of) => digits(&of.value, 8),
        Value::Decimal128Value(of) => digits(&of.value, 16),
        Value::Decimal256Value(of) => digits(&of.value, 32),
        Value::FixedSizeBinaryValue(of) => match usize::try_from(of.length) {
            Ok(length) if length == of.values.len() => Ok(()),
            _ => Err(Refused::malformed("a fixed-size literal has another size")),
        },
        Value::DictionaryValue(of) => {
            data_type(of.index_type.as_ref(), 1)?;
            scalar(of.value.as_deref())
        }
        Value::UnionValue(_) => Err(Refused::not_allowed("a union literal")),
        Value::ListViewValue(_) | Value::LargeListViewValue(_) => {
            Err(Refused::not_allowed("a list view literal"))
        }
        Value::RunEndEncodedValue(_) => Err(Refused::not_allowed("a run-end encoded literal")),
        _ => Ok(()),
    }
}

/// The bytes of a literal whose length is not that of its type.
fn literal_bytes(value: &Value) -> usize {
    match value {
        Value::Utf8Value(text) | Value::LargeUtf8Value(text) | Value::Utf8ViewValue(text) => {
            text.len()
        }
        Value::BinaryValue(bytes)
        | Value::LargeBinaryValue(bytes)
        | Value::BinaryViewValue(bytes) => bytes.len(),
        Value::FixedSizeBinaryValue(of) => of.values.len(),
        Value::ListValue(of)
        | Value::LargeListValue(of)
        | Value::FixedSizeListValue(of)
        | Value::StructValue(of)
        | Value::MapValue(of) => of.arrow_data.len(),
        // The value within is counted by itself.
        _ => 0,
    }
}

fn digits(bytes: &[u8], length: usize) -> Checked {
    match bytes.len() == length {
        true => Ok(()),
        false => Err(Refused::malformed(format!(
            "a decimal literal of {} bytes",
            bytes.len()
        ))),
    }
}

/// Validates a nested literal: a column of one row, of the type that the literal has.
fn nested(value: &Value, of: &ScalarNestedValue) -> Checked {
    schema(of.schema.as_ref())?;
    let columns = of.schema.iter().flat_map(|schema| &schema.columns);
    let types: Vec<_> = columns
        .map(|column| {
            column
                .arrow_type
                .as_ref()
                .and_then(|of| of.arrow_type_enum.as_ref())
        })
        .collect();
    let goes_together = matches!(
        (value, types.as_slice()),
        (Value::ListValue(_), [Some(ArrowTypeEnum::List(_))])
            | (
                Value::LargeListValue(_),
                [Some(ArrowTypeEnum::LargeList(_))]
            )
            | (
                Value::FixedSizeListValue(_),
                [Some(ArrowTypeEnum::FixedSizeList(_))]
            )
            | (Value::StructValue(_), [Some(ArrowTypeEnum::Struct(_))])
            | (Value::MapValue(_), [Some(ArrowTypeEnum::Map(_))])
    );
    if !goes_together {
        return Err(Refused::malformed(
            "the type of a nested literal is not that of its schema",
        ));
    }
    for dictionary in &of.dictionaries {
        rows::message(&dictionary.ipc_message, dictionary.arrow_data.len())?;
    }
    rows::message(&of.ipc_message, of.arrow_data.len())
}

/// The maximum number of elements of a fixed-size type, with the types around it.
const FIXED_MAX: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use datafusion::scalar::ScalarValue as Scalar;
    use std::sync::Arc;

    use super::*;

    fn of_type(of: &DataType) -> Checked {
        data_type(Some(&ArrowType::try_from(of).unwrap()), 1)
    }

    #[test]
    fn fixed_size_types_are_bounded() {
        let list = |of, size| {
            DataType::FixedSizeList(
                Arc::new(arrow::datatypes::Field::new("item", of, true)),
                size,
            )
        };
        assert!(of_type(&DataType::FixedSizeBinary(16)).is_ok());
        assert!(of_type(&list(DataType::UInt8, 16)).is_ok());
        for of in [
            DataType::FixedSizeBinary(-1),
            DataType::FixedSizeBinary(i32::MAX),
            list(DataType::UInt8, -1),
            list(DataType::UInt8, i32::MAX),
            list(list(list(DataType::UInt8, 4_096), 4_096), 4_096),
            DataType::Dictionary(Box::new(DataType::Utf8), Box::new(DataType::Utf8)),
        ] {
            assert!(of_type(&of).is_err(), "{of}");
        }
    }

    #[test]
    fn literals_have_their_declared_size_and_type() {
        let literal = |scalar: &Scalar| ScalarValue::try_from(scalar).unwrap();
        let list = Scalar::List(Scalar::new_list_nullable(
            &[Scalar::from(1_i32)],
            &DataType::Int32,
        ));
        for good in [
            Scalar::from("x"),
            Scalar::Decimal128(Some(7), 10, 2),
            list.clone(),
        ] {
            assert!(scalar(Some(&literal(&good))).is_ok(), "{good}");
        }
        let mut short = literal(&Scalar::Decimal128(Some(7), 10, 2));
        if let Some(Value::Decimal128Value(of)) = &mut short.value {
            of.value.pop();
        }
        assert!(scalar(Some(&short)).is_err());
        let Some(Value::ListValue(of)) = literal(&list).value else {
            panic!("a list is one");
        };
        let other = ScalarValue {
            value: Some(Value::StructValue(of.clone())),
        };
        assert!(scalar(Some(&other)).is_err());
        let cut = ScalarNestedValue {
            arrow_data: Vec::new(),
            ..of
        };
        assert!(
            scalar(Some(&ScalarValue {
                value: Some(Value::ListValue(cut))
            }))
            .is_err()
        );
        assert!(scalar(None).is_err());
    }
}
