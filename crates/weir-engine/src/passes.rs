//! The passes over a logical plan before DataFusion's own analyzer ([`Pass`]), in their order.

use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use weir_functions::address::Addresses;
use weir_functions::bounded::BoundedOperators;
use weir_functions::clock::Clocks;
use weir_functions::duration::Durations;
use weir_functions::interval::Intervals;
use weir_functions::lists::{Contained, RowsInLists};
use weir_functions::minute::Minutes;
use weir_functions::nested::NestedOrder;
use weir_functions::no_row::NoRow;
use weir_functions::number::Arithmetic;
use weir_functions::pass::{Pass, walked};
use weir_functions::recursion::Recursion;
use weir_functions::vocabulary::Words;

use crate::one_row::OneRow;
use crate::scan_report::ScanReport;
use crate::unordered::Unordered;
use crate::window::WindowKeys;

/// Replaces the operators of a plan by weir's own meanings of them.
pub(crate) fn with_meanings(
    plan: LogicalPlan,
    scan_report: &ScanReport,
    bytes_max: usize,
) -> Result<LogicalPlan> {
    let note = |note| scan_report.add_notes(vec![note]);
    let passes: [&dyn Pass; 16] = [
        &OneRow,
        &Minutes,
        &Intervals,
        &Addresses,
        &Words { note: &note },
        &Arithmetic,
        &Durations,
        &Clocks,
        &Contained,
        &RowsInLists,
        &NestedOrder,
        &BoundedOperators { bytes_max },
        &NoRow,
        &WindowKeys,
        &Recursion,
        &Unordered,
    ];
    walked(plan, &passes)
}
