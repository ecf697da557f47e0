//! Converts DataFusion's physical expressions to expressions on rows of a scan.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator as SqlOperator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column as PhysicalColumn, InListExpr, IsNotNullExpr, IsNullExpr, Literal,
    NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use weir_functions::function::{CIDR_MATCH, DISPLAY_FILTER};
use weir_packet::Kind;
use weir_tables::{Branch, Column, Constant, Expression, Function, Network, Origin, Predicate};

use crate::lower::{
    calculated, calculation, checked, constant, display, mirrored, operator, widened,
};
use crate::scan::CaptureScan;

/// The columns of a plan's output in terms of the scan below it.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// `None` for a column that cannot be expressed; it is an error only where the column is needed.
    columns: Vec<Option<Expression>>,
    /// The integers of columns that are integers cast to floating-point numbers, which a projection has when several aggregates
    /// need them.
    floats: Vec<Option<Expression>>,
}

impl Scope {
    pub(crate) fn of_scan(scan: &CaptureScan) -> Self {
        // A whole record is not a value to compute with, and lists of headers are made for rows only.
        let columns = scan
            .columns()
            .cloned()
            .map(|column| match (column.origin, column.kind) {
                (Origin::Record, _) | (Origin::Header(_), Kind::Texts | Kind::Numbers) => None,
                _ => Some(Expression::Column(column)),
            });
        let columns: Vec<_> = columns.collect();
        Self {
            floats: vec![None; columns.len()],
            columns,
        }
    }

    /// The scope above a projection to these expressions.
    pub(crate) fn projected<'e>(
        &self,
        exprs: impl Iterator<Item = &'e Arc<dyn PhysicalExpr>>,
    ) -> Self {
        let (columns, floats) = exprs
            .map(|expr| (self.expression(expr), self.floated(expr)))
            .unzip();
        Self { columns, floats }
    }

    /// The scope above a projection to the columns at these places.
    pub(crate) fn kept(&self, places: &[usize]) -> Self {
        let at = |columns: &[Option<Expression>]| {
            let kept = places.iter().map(|place| columns.get(*place)?.clone());
            kept.collect()
        };
        Self {
            columns: at(&self.columns),
            floats: at(&self.floats),
        }
    }

    /// The argument of a function, which may see a number in a type of its own.
    pub(crate) fn argument(
        &self,
        expr: &Arc<dyn PhysicalExpr>,
        function: &Function,
    ) -> Option<Expression> {
        let takes_numbers = matches!(
            function,
            Function::Average | Function::SumFloat | Function::Sketch(_)
        );
        let number = takes_numbers.then(|| self.floated(expr)).flatten();
        number.or_else(|| self.expression(expr))
    }

    /// The number that is made floating-point.
    pub(crate) fn floated(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expression> {
        if let Some(column) = expr.downcast_ref::<PhysicalColumn>() {
            return self.floats.get(column.index())?.clone();
        }
        let cast = expr.downcast_ref::<CastExpr>()?;
        let inner = self.expression(cast.expr())?;
        // Each value is cast, as the expression does.
        let is_number = matches!(
            inner.kind(),
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64
        );
        (is_number && *cast.cast_type() == DataType::Float64).then_some(inner)
    }

    /// A value of a row.
    pub(crate) fn expression(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expression> {
        if let Some(column) = expr.downcast_ref::<PhysicalColumn>() {
            return self.columns.get(column.index())?.clone();
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return match literal.value() {
                ScalarValue::Int64(Some(value)) => Some(Expression::Constant(*value)),
                _ => None,
            };
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return widened(self.expression(cast.expr())?, cast.cast_type());
        }
        if let Some(function) = expr.downcast_ref::<ScalarFunctionExpr>() {
            let calculation = checked(function.fun())?;
            let [left, right] = function.args() else {
                return None;
            };
            return calculated(self.expression(left)?, calculation, self.expression(right)?);
        }
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let calculation = calculation(*binary.op())?;
        let left = self.expression(binary.left())?;
        let right = self.expression(binary.right())?;
        calculated(left, calculation, right)
    }

    /// A condition on a row.
    pub(crate) fn predicate(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Predicate> {
        let negated = |predicate| Predicate::Not(Box::new(predicate));
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Some(negated(self.predicate(not.arg())?));
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return Some(Predicate::IsNull(self.column(is_null.arg())?));
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return Some(negated(Predicate::IsNull(self.column(is_not_null.arg())?)));
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            let column = self.column(list.expr())?;
            let constants = list.list().iter().map(|item| literal(item, &column));
            let within = Predicate::In(column.clone(), constants.collect::<Option<_>>()?);
            return Some(if list.negated() {
                negated(within)
            } else {
                within
            });
        }
        if let Some(function) = expr.downcast_ref::<ScalarFunctionExpr>() {
            let [address, network] = function.args() else {
                return None;
            };
            if function.name() == DISPLAY_FILTER {
                let text = address.downcast_ref::<Literal>()?.value();
                // Messages are read by a scan of their own, which needs the files.
                return display(text, &self.column(network)?).filter(|predicate| {
                    let mut has_messages = false;
                    predicate.visit_filters(&mut |filter| has_messages |= filter.has_messages());
                    !has_messages
                });
            }
            let column = self.column(address)?;
            let network = network.downcast_ref::<Literal>()?.value();
            let network = Network::parse(network.try_as_str()??)?;
            let fits = function.name() == CIDR_MATCH && column.kind == Kind::Address;
            return fits.then_some(Predicate::Within(column, network));
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left(), binary.right());
            if matches!(binary.op(), SqlOperator::And | SqlOperator::Or) {
                let both = vec![self.predicate(left)?, self.predicate(right)?];
                return Some(match binary.op() {
                    SqlOperator::And => Predicate::And(both),
                    _ => Predicate::Or(both),
                });
            }
            let operator = operator(*binary.op())?;
            let (expr, constant, operator) = match right.downcast_ref::<Literal>() {
                Some(_) => (left, right, operator),
                None => (right, left, mirrored(operator)),
            };
            if let Some(column) = self.column(expr) {
                let constant = literal(constant, &column)?;
                return Some(Predicate::Compare(column, operator, constant));
            }
            let constant = constant.downcast_ref::<Literal>()?;
            let constant = match constant.value() {
                ScalarValue::Int64(Some(value)) => *value,
                _ => return None,
            };
            let expression = self.expression(expr)?;
            return (expression.kind() == Kind::I64)
                .then_some(Predicate::Calculated(expression, operator, constant));
        }
        let column = self.column(expr)?;
        (column.kind == Kind::Bool).then_some(Predicate::IsTrue(column))
    }

    /// A column, unchanged or widened to a larger integer, which does not change comparisons.
    fn column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Column> {
        match self.expression(expr)? {
            Expression::Column(column) => Some(column),
            Expression::Integer { of, .. } => match *of {
                Expression::Column(column)
                    if matches!(column.kind, Kind::U8 | Kind::U16 | Kind::U32) =>
                {
                    Some(column)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn literal(expr: &Arc<dyn PhysicalExpr>, column: &Column) -> Option<Constant> {
    constant(expr.downcast_ref::<Literal>()?.value(), column)
}

/// The Arrow types of what a branch gives.
pub(crate) trait Types {
    fn types(&self, functions: &[Function], as_states: bool) -> Vec<DataType>;
}

impl Types for Branch {
    fn types(&self, functions: &[Function], as_states: bool) -> Vec<DataType> {
        let keys = self
            .keys
            .iter()
            .map(|key| weir_tables::data_type(key.kind()));
        let mut types: Vec<_> = keys.collect();
        for (function, argument) in functions.iter().zip(&self.arguments) {
            let argument = argument.as_ref();
            match function {
                Function::CountRows | Function::Count | Function::CountDistinct => {
                    types.push(DataType::Int64);
                }
                Function::Average if as_states => {
                    types.extend([DataType::UInt64, DataType::Float64]);
                }
                Function::Average | Function::SumFloat => types.push(DataType::Float64),
                Function::Sketch(sketch) => types.extend(sketch.data_types(as_states)),
                _ => types
                    .push(argument.map_or(DataType::Null, |it| weir_tables::data_type(it.kind()))),
            }
        }
        types
    }
}
