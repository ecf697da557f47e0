//! Functions of the engine that the fused operator computes with the engine's own code: sketches, and
//! others whose state is more than a number.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::GroupsAccumulatorAdapter;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use weir_functions::top_k::APPROX_TOP_K;
use weir_tables::{Sketch, Sketches};

/// The functions that ignore NULL, and take values in any order, each with the flag whether its result is identical for any
/// partition of the values.
const FUNCTIONS: [(&str, bool); 9] = [
    ("approx_distinct", true),
    ("approx_percentile_cont", false),
    ("approx_median", false),
    (APPROX_TOP_K, false),
    ("median", true),
    ("stddev", false),
    ("stddev_pop", false),
    ("var", false),
    ("var_pop", false),
];

/// A function of the engine with its constant arguments.
pub(super) struct Borrowed {
    function: Arc<AggregateFunctionExpr>,
    arguments: Arc<[Argument]>,
    of_floats: bool,
    results: DataType,
    states: Vec<DataType>,
    allows_parts: bool,
    merges_alone: bool,
}

#[derive(Clone, Debug)]
enum Argument {
    /// Values of rows.
    Values,
    Constant(ScalarValue),
}

impl Borrowed {
    /// The function, with the one argument that is not constant; `None` when it is not one of
    /// [`FUNCTIONS`], or has more such arguments. Its states are merged by an accumulator of one group where it `merges_alone`.
    pub(super) fn new(
        function: &AggregateFunctionExpr,
        merges_alone: bool,
    ) -> Option<(Self, Arc<dyn PhysicalExpr>)> {
        let name = function.fun().name();
        let (_, allows_parts) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
        if function.is_distinct() || function.ignore_nulls() {
            return None;
        }
        let mut values = None;
        let mut arguments = Vec::new();
        for expr in function.expressions() {
            if let Some(literal) = expr.downcast_ref::<Literal>() {
                arguments.push(Argument::Constant(literal.value().clone()));
                continue;
            }
            if values.replace(expr).is_some() {
                return None;
            }
            arguments.push(Argument::Values);
        }
        let states = function.state_fields().ok()?;
        let borrowed = Self {
            results: function.field().data_type().clone(),
            states: states.iter().map(|it| it.data_type().clone()).collect(),
            arguments: arguments.into(),
            of_floats: false,
            function: Arc::new(function.clone()),
            allows_parts: *allows_parts,
            merges_alone,
        };
        Some((borrowed, values?))
    }

    /// The same, for which numbers are made floating-point, many at a time.
    pub(super) fn of_floats(self, of_floats: bool) -> Self {
        Self { of_floats, ..self }
    }

    fn accumulator(&self) -> Result<Box<dyn GroupsAccumulator>> {
        // The states of an accumulator of many groups may have a form that an accumulator of one does not know, as those of
        // `approx_distinct` do.
        if !self.merges_alone && self.function.groups_accumulator_supported() {
            return self.function.create_groups_accumulator();
        }
        let function = Arc::clone(&self.function);
        Ok(Box::new(GroupsAccumulatorAdapter::new(move || {
            function.create_accumulator()
        })))
    }
}

impl fmt::Debug for Borrowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.function.name())
    }
}

impl Sketch for Borrowed {
    fn name(&self) -> &str {
        self.function.fun().name()
    }

    fn allows_parts(&self) -> bool {
        self.allows_parts
    }

    fn data_types(&self, as_states: bool) -> Vec<DataType> {
        match as_states {
            true => self.states.clone(),
            false => vec![self.results.clone()],
        }
    }

    fn start(&self) -> Result<Box<dyn Sketches>, ArrowError> {
        Ok(Box::new(OfGroups {
            accumulator: self.accumulator()?,
            arguments: Arc::clone(&self.arguments),
            of_floats: self.of_floats,
        }))
    }
}

/// The states of all groups.
struct OfGroups {
    accumulator: Box<dyn GroupsAccumulator>,
    arguments: Arc<[Argument]>,
    of_floats: bool,
}

impl OfGroups {
    fn arguments(&self, values: &ArrayRef) -> Result<Vec<ArrayRef>> {
        let arguments = self.arguments.iter().map(|argument| match argument {
            Argument::Values if self.of_floats => Ok(cast(values, &DataType::Float64)?),
            Argument::Values => Ok(Arc::clone(values)),
            Argument::Constant(value) => value.to_array_of_size(values.len()),
        });
        arguments.collect()
    }
}

impl Sketches for OfGroups {
    fn add(&mut self, values: ArrayRef, of: &[usize], groups: usize) -> Result<(), ArrowError> {
        let arguments = self.arguments(&values)?;
        Ok(self
            .accumulator
            .update_batch(&arguments, of, None, groups)?)
    }

    fn merge(
        &mut self,
        states: &[ArrayRef],
        of: &[usize],
        groups: usize,
    ) -> Result<(), ArrowError> {
        Ok(self.accumulator.merge_batch(states, of, groups)?)
    }

    fn take_states(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        Ok(self.accumulator.state(EmitTo::All)?)
    }

    fn take_results(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(self.accumulator.evaluate(EmitTo::All)?)
    }

    fn allocated_bytes(&self) -> usize {
        self.accumulator.size()
    }
}
