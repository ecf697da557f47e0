//! The aggregate functions.

use std::sync::Arc;

use weir_packet::Kind;

use super::Sketch;
use crate::key::Key;

/// A function that is computed for each group.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum Function {
    /// The number of rows.
    CountRows,
    /// Rows in which the argument is not NULL.
    Count,
    /// The number of different values of the argument.
    CountDistinct,
    /// The sum of 64-bit integers, wrapping around; NULL without a value.
    Sum,
    /// The sum as a floating-point number.
    SumFloat,
    /// The average as a floating-point number.
    Average,
    Minimum,
    Maximum,
    BitAnd,
    BitOr,
    BitExclusiveOr,
    BoolAnd,
    BoolOr,
    /// The value of the first row, NULL or not.
    First,
    /// The value of the last row, NULL or not.
    Last,
    /// A function of the caller over the values that are not NULL.
    Sketch(Arc<dyn Sketch>),
}

impl Function {
    /// Returns whether the function takes arguments of this type.
    #[must_use]
    pub const fn takes(&self, kind: Kind) -> bool {
        match self {
            Self::CountRows => true,
            Self::Count => true,
            Self::CountDistinct => Key::takes(kind),
            Self::Sum => matches!(kind, Kind::U64 | Kind::I64),
            Self::SumFloat | Self::Average => {
                matches!(
                    kind,
                    Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 | Kind::F64
                )
            }
            Self::Minimum | Self::Maximum | Self::First | Self::Last => matches!(
                kind,
                Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 | Kind::Time
            ),
            Self::BitAnd | Self::BitOr | Self::BitExclusiveOr => {
                matches!(
                    kind,
                    Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64
                )
            }
            Self::BoolAnd | Self::BoolOr => matches!(kind, Kind::Bool),
            Self::Sketch(_) => !matches!(kind, Kind::Bytes | Kind::Texts | Kind::Numbers),
        }
    }

    /// Returns whether the states of groups of one key can be merged without their rows.
    pub(super) const fn has_state(&self) -> bool {
        !matches!(self, Self::CountDistinct | Self::First | Self::Last)
    }

    /// The state before any row.
    pub(super) fn fresh(&self, kind: Kind) -> u64 {
        let signed = matches!(kind, Kind::I64 | Kind::Time);
        match self {
            Self::Minimum if signed => i64::MAX as u64,
            Self::Minimum | Self::BitAnd => u64::MAX,
            Self::Maximum if signed => i64::MIN as u64,
            Self::BoolAnd => 1,
            Self::SumFloat | Self::Average => 0_f64.to_bits(),
            _ => 0,
        }
    }
}
