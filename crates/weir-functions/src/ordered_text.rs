//! `string_agg` whose rows may come in any order.
//!
//! DataFusion's own puts its texts in order by itself, and yet asks that the rows come in that order, so that two of them with different
//! orders are refused. Here an order of the rows is welcome, as it is to `array_agg`, and not required.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::functions_aggregate::string_agg::string_agg_udaf;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF,
};

use crate::number::of_inner;

/// `string_agg(text, delimiter)`.
pub(crate) fn string_agg() -> AggregateUDF {
    AggregateUDF::from(OrderedText {
        inner: string_agg_udaf(),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedText {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for OrderedText {
    of_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::SoftRequirement
    }

    /// The texts are put in order in either case.
    fn with_beneficial_ordering(
        self: Arc<Self>,
        _beneficial_ordering: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }

    /// The function that DataFusion would put in its place asks for an order again.
    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
