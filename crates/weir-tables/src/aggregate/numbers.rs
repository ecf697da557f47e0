//! Numbers as Arrow arrays.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, TimestampNanosecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use weir_packet::Kind;

/// An array of the Arrow type that columns of this kind have.
pub(super) fn numbers(kind: Kind, values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    match kind {
        Kind::Bool => Arc::new(BooleanArray::from_iter(values.map(|v| v.map(|v| v != 0)))),
        Kind::U8 => Arc::new(UInt8Array::from_iter(values.map(|v| v.map(|v| v as u8)))),
        Kind::U16 => Arc::new(UInt16Array::from_iter(values.map(|v| v.map(|v| v as u16)))),
        Kind::U32 => Arc::new(UInt32Array::from_iter(values.map(|v| v.map(|v| v as u32)))),
        Kind::I64 => Arc::new(Int64Array::from_iter(values.map(|v| v.map(|v| v as i64)))),
        Kind::F64 => Arc::new(Float64Array::from_iter(
            values.map(|v| v.map(f64::from_bits)),
        )),
        Kind::Time => Arc::new(
            TimestampNanosecondArray::from_iter(values.map(|v| v.map(|v| v as i64)))
                .with_timezone("UTC"),
        ),
        _ => Arc::new(UInt64Array::from_iter(values)),
    }
}
