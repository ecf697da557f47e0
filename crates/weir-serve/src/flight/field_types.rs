//! The types of the fields of a schema that a client sends, before Arrow reads them: its reader panics where a field has no type, or
//! one that it does not know.

use arrow::ipc::{Endianness, Field, Int, Schema, TimeUnit, Type};

/// Whether Arrow's reader knows the types of all fields. Structs, maps, unions and other types that no parameter has are not among
/// those that are known here.
pub(super) fn are_known(schema: Schema<'_>) -> bool {
    let fields = schema.fields();
    schema.endianness() == Endianness::Little
        && fields.is_some_and(|fields| fields.iter().all(is_known))
}

/// Whether a field, and the keys of its dictionary, have known types. How deep lists lie in each other is limited where the message is
/// verified.
fn is_known(field: Field<'_>) -> bool {
    let has_known_keys = field
        .dictionary()
        .is_none_or(|dictionary| dictionary.indexType().is_some_and(is_integer));
    has_known_keys && has_known_type(field)
}

fn has_known_type(field: Field<'_>) -> bool {
    match field.type_type() {
        Type::Null
        | Type::Bool
        | Type::Binary
        | Type::BinaryView
        | Type::LargeBinary
        | Type::Utf8
        | Type::Utf8View
        | Type::LargeUtf8 => true,
        Type::Int => field.type_as_int().is_some_and(is_integer),
        Type::FixedSizeBinary => {
            let kind = field.type_as_fixed_size_binary();
            kind.is_some_and(|kind| kind.byteWidth() >= 0)
        }
        Type::FloatingPoint => {
            let kind = field.type_as_floating_point();
            kind.is_some_and(|kind| kind.precision().variant_name().is_some())
        }
        Type::Date => {
            let kind = field.type_as_date();
            kind.is_some_and(|kind| kind.unit().variant_name().is_some())
        }
        Type::Time => field.type_as_time().is_some_and(|kind| {
            matches!(
                (kind.bitWidth(), kind.unit()),
                (32, TimeUnit::SECOND | TimeUnit::MILLISECOND)
                    | (64, TimeUnit::MICROSECOND | TimeUnit::NANOSECOND)
            )
        }),
        Type::Timestamp => {
            let kind = field.type_as_timestamp();
            kind.is_some_and(|kind| kind.unit().variant_name().is_some())
        }
        Type::Interval => {
            let kind = field.type_as_interval();
            kind.is_some_and(|kind| kind.unit().variant_name().is_some())
        }
        Type::Duration => {
            let kind = field.type_as_duration();
            kind.is_some_and(|kind| kind.unit().variant_name().is_some())
        }
        Type::Decimal => field.type_as_decimal().is_some_and(|kind| {
            matches!(kind.bitWidth(), 32 | 64 | 128 | 256)
                && u8::try_from(kind.precision()).is_ok()
                && i8::try_from(kind.scale()).is_ok()
        }),
        Type::List | Type::LargeList => has_known_item(field),
        Type::FixedSizeList => {
            let kind = field.type_as_fixed_size_list();
            kind.is_some_and(|kind| kind.listSize() >= 0) && has_known_item(field)
        }
        _ => false,
    }
}

fn has_known_item(field: Field<'_>) -> bool {
    let children = field.children();
    children.is_some_and(|children| children.len() == 1 && children.iter().all(is_known))
}

fn is_integer(kind: Int<'_>) -> bool {
    matches!(kind.bitWidth(), 8 | 16 | 32 | 64)
}
