//! What types are, as asyncpg asks before it reads arrays.
//!
//! Its question walks through the catalog in a recursive query that DataFusion does not plan. The types here are
//! PostgreSQL's own, so what it wants to know is known: which type the elements of an array have.

use std::sync::Arc;

use futures::stream;
use pgwire::api::Type;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo, QueryResponse};
use pgwire::error::PgWireResult;
use pgwire::messages::data::DataRow;
use postgres_types::Kind;

/// Whether a text is the question.
pub(super) fn asks(sql: &str) -> bool {
    sql.contains("typeinfo_tree(") && sql.contains("range_subtype") && sql.contains("$1")
}

/// The columns of the answer.
pub(super) fn fields() -> Vec<FieldInfo> {
    let columns = [
        ("oid", Type::OID),
        ("ns", Type::TEXT),
        ("name", Type::TEXT),
        ("kind", Type::CHAR),
        ("basetype", Type::OID),
        ("elemtype", Type::OID),
        ("elemdelim", Type::CHAR),
        ("range_subtype", Type::OID),
        ("attrtypoids", Type::OID_ARRAY),
        ("attrnames", Type::TEXT_ARRAY),
        ("depth", Type::INT4),
        ("basetype_name", Type::TEXT),
        ("elemtype_name", Type::TEXT),
        ("range_subtype_name", Type::TEXT),
    ];
    let field = |(name, kind): (&str, Type)| {
        FieldInfo::new(name.to_owned(), None, None, kind, FieldFormat::Binary)
    };
    columns.into_iter().map(field).collect()
}

/// What is known of the types with these numbers, elements first.
pub(super) fn rows(numbers: &[u32], fields: Vec<FieldInfo>) -> QueryResponse {
    let fields = Arc::new(fields);
    let mut encoder = DataRowEncoder::new(Arc::clone(&fields));
    let arrays = numbers.iter().filter_map(|number| Type::from_oid(*number));
    let arrays: Vec<Type> = arrays.collect();
    let elements = arrays
        .iter()
        .filter_map(|kind| element(kind).map(|of| (1, of)));
    let all: Vec<(i32, Type)> = elements
        .chain(arrays.iter().map(|kind| (0, kind.clone())))
        .collect();
    let rows: Vec<PgWireResult<DataRow>> = all
        .iter()
        .map(|(depth, kind)| row(&mut encoder, *depth, kind))
        .collect();
    QueryResponse::new(fields, stream::iter(rows))
}

fn element(kind: &Type) -> Option<Type> {
    match kind.kind() {
        Kind::Array(of) => Some(of.clone()),
        _ => None,
    }
}

fn row(encoder: &mut DataRowEncoder, depth: i32, kind: &Type) -> PgWireResult<DataRow> {
    let of = element(kind);
    let number = of.as_ref().map(Type::oid);
    let name = of.as_ref().map(Type::name);
    let comma = of.as_ref().map(|_| b','.cast_signed());
    encoder.encode_field(&kind.oid())?;
    encoder.encode_field(&"pg_catalog")?;
    encoder.encode_field(&kind.name())?;
    encoder.encode_field(&b'b'.cast_signed())?;
    encoder.encode_field(&None::<u32>)?;
    encoder.encode_field(&number)?;
    encoder.encode_field(&comma)?;
    encoder.encode_field(&None::<u32>)?;
    encoder.encode_field(&None::<&str>)?;
    encoder.encode_field(&None::<&str>)?;
    encoder.encode_field(&depth)?;
    encoder.encode_field(&None::<&str>)?;
    encoder.encode_field(&name)?;
    encoder.encode_field(&None::<&str>)?;
    Ok(encoder.take_row())
}

/// The numbers in a binary `oid[]`; `None` when it is none.
pub(super) fn numbers(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut words = bytes.chunks(4).map(|word| {
        let word: Option<[u8; 4]> = word.try_into().ok();
        word.map(u32::from_be_bytes)
    });
    let mut word = || words.next().flatten();
    let (dimensions, _nulls, kind) = (word()?, word()?, word()?);
    if dimensions == 0 {
        return Some(Vec::new());
    }
    let (count, _first) = (word()?, word()?);
    if dimensions != 1 || kind != Type::OID.oid() || count > NUMBERS_MAX {
        return None;
    }
    let mut numbers = Vec::new();
    for _ in 0..count {
        if word()? != 4 {
            return None;
        }
        numbers.push(word()?);
    }
    Some(numbers)
}

/// Types that are asked for at once.
const NUMBERS_MAX: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_numbers_are_read_and_nothing_else() {
        let words = |words: &[u32]| {
            words
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect::<Vec<u8>>()
        };
        let two = words(&[1, 0, 26, 2, 1, 4, 1016, 4, 1009]);
        assert_eq!(numbers(&two), Some(vec![1016, 1009]));
        for cut in 0..two.len() {
            assert_eq!(numbers(&two[..cut]), None, "{cut}");
        }
        assert_eq!(numbers(&words(&[0, 0, 26])), Some(Vec::new()));
        assert_eq!(numbers(&words(&[1, 0, 26, u32::MAX, 1])), None);
        assert_eq!(numbers(&words(&[1, 0, 23, 1, 1, 4, 5])), None);
        assert_eq!(element(&Type::INT8_ARRAY), Some(Type::INT8));
        assert_eq!(element(&Type::INT8), None);
    }
}
