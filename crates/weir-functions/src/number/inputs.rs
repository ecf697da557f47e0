//! Decimals beside doubles in columns of VALUES, of UNION, of joins and of subqueries.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Projection, Union, Values};

use super::cast;
use super::mixed::unified;

/// Makes doubles of decimals that stand in one column with doubles, as PostgreSQL and DuckDB do, and of those that are compared with them by
/// a join. The planner would make decimals of both.
pub(super) fn as_doubles(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Values(values) => rows(values),
        LogicalPlan::Union(union) => parts(union),
        LogicalPlan::Join(mut join) => {
            let mut is_changed = false;
            for (left, right) in &mut join.on {
                let kinds = (
                    left.get_type(join.left.schema()),
                    right.get_type(join.right.schema()),
                );
                match kinds {
                    (Ok(left_kind), Ok(kind)) if left_kind.is_decimal() && kind.is_floating() => {
                        *left = cast(std::mem::take(left), &left_kind, &DataType::Float64);
                        is_changed = true;
                    }
                    (Ok(kind), Ok(right_kind)) if right_kind.is_decimal() && kind.is_floating() => {
                        *right = cast(std::mem::take(right), &right_kind, &DataType::Float64);
                        is_changed = true;
                    }
                    _ => {}
                }
            }
            let join = LogicalPlan::Join(join);
            Ok(Transformed::new_transformed(join, is_changed))
        }
        plan => Ok(Transformed::no(plan)),
    }
}

/// The decimals of `x IN (SELECT y …)` as doubles where the other side is one.
pub(super) fn within(mut of: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Ok(kind) = of.expr.get_type(schema) else {
        return Ok(Transformed::no(Expr::InSubquery(of)));
    };
    let inner = of.subquery.subquery.schema();
    let inner = inner
        .fields()
        .first()
        .map(|field| field.data_type().clone());
    let is_changed = match inner {
        Some(inner) if kind.is_decimal() && inner.is_floating() => {
            *of.expr = cast(std::mem::take(of.expr.as_mut()), &kind, &DataType::Float64);
            true
        }
        Some(inner) if kind.is_floating() && inner.is_decimal() => {
            let plan = with_doubles(&of.subquery.subquery, &[0])?;
            of.subquery = of.subquery.with_plan(Arc::new(plan));
            true
        }
        _ => false,
    };
    Ok(Transformed::new_transformed(
        Expr::InSubquery(of),
        is_changed,
    ))
}

/// The rows of VALUES, which the planner has cast to one type by now.
fn rows(values: Values) -> Result<Transformed<LogicalPlan>> {
    let Values { schema, mut values } = values;
    let nothing = DFSchema::empty();
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    let mut is_changed = false;
    for (column, field) in fields.iter_mut().enumerate() {
        if !field.data_type().is_decimal() {
            continue;
        }
        let cells = values.iter().filter_map(|row| row.get(column));
        let mut given: Vec<Expr> = cells
            .map(|cell| written(cell, field.data_type()).clone())
            .collect();
        let has_double = given
            .iter()
            .any(|cell| matches!(cell.get_type(&nothing), Ok(kind) if kind.is_floating()));
        if !has_double {
            continue;
        }
        unified(given.iter_mut().collect(), false, &nothing);
        let is_null = |cell: &Expr| matches!(cell, Expr::Literal(value, _) if value.is_null());
        let kinds = given.iter().filter(|cell| !is_null(cell));
        let kinds = kinds.map(|cell| cell.get_type(&nothing).ok());
        let kinds: Option<Vec<DataType>> = kinds.collect();
        let Some(common) = kinds.and_then(|kinds| type_union_resolution(&kinds)) else {
            continue;
        };
        for (row, cell) in values.iter_mut().zip(given) {
            let cell = match is_null(&cell) {
                true => Expr::Literal(ScalarValue::try_from(&common)?, None),
                false => {
                    let kind = cell.get_type(&nothing)?;
                    cast(cell, &kind, &common)
                }
            };
            if let Some(place) = row.get_mut(column) {
                *place = cell;
            }
        }
        *field = retyped(field, common);
        is_changed = true;
    }
    let schema = match is_changed {
        true => {
            let metadata = schema.metadata().clone();
            Arc::new(DFSchema::from_unqualified_fields(fields.into(), metadata)?)
        }
        false => schema,
    };
    Ok(Transformed::new_transformed(
        LogicalPlan::Values(Values { schema, values }),
        is_changed,
    ))
}

/// A value as it is written, without the cast to the type of its column.
fn written<'e>(cell: &'e Expr, column: &DataType) -> &'e Expr {
    match cell {
        Expr::Cast(cast) if cast.field.data_type() == column => {
            match cast.expr.get_type(&DFSchema::empty()) {
                Ok(kind) if kind.is_numeric() => cast.expr.as_ref(),
                _ => cell,
            }
        }
        cell => cell,
    }
}

fn parts(union: Union) -> Result<Transformed<LogicalPlan>> {
    let Union { inputs, schema } = union;
    let columns = (0..schema.fields().len()).filter(|column| {
        let fields = inputs
            .iter()
            .filter_map(|input| input.schema().fields().get(*column));
        // The schema is that of before where a UNION within this one has become one of doubles.
        let own = schema.fields().get(*column);
        let mut has_decimal = own.is_some_and(|field| field.data_type().is_decimal());
        let mut has_double = false;
        for field in fields {
            has_double |= field.data_type().is_floating();
            has_decimal |= field.data_type().is_decimal();
        }
        has_double && has_decimal
    });
    let columns: Vec<usize> = columns.collect();
    if columns.is_empty() {
        let union = LogicalPlan::Union(Union { inputs, schema });
        return Ok(Transformed::no(union));
    }
    let inputs = inputs
        .iter()
        .map(|input| with_doubles(input, &columns).map(Arc::new))
        .collect::<Result<Vec<_>>>()?;
    let fields = schema.iter().enumerate().map(|(column, (table, field))| {
        let field = match columns.contains(&column) {
            true => retyped(field, DataType::Float64),
            false => Arc::clone(field),
        };
        (table.cloned(), field)
    });
    let metadata = schema.metadata().clone();
    let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), metadata)?);
    let union = LogicalPlan::Union(Union { inputs, schema });
    Ok(Transformed::yes(union))
}

/// The rows of a plan with doubles in the places of the decimals of these columns.
fn with_doubles(plan: &Arc<LogicalPlan>, columns: &[usize]) -> Result<LogicalPlan> {
    let exprs = plan.schema().iter().enumerate().map(|(column, named)| {
        let (table, field) = named;
        let value = Expr::from(named);
        match columns.contains(&column) && field.data_type().is_decimal() {
            true => cast(value, field.data_type(), &DataType::Float64)
                .alias_qualified(table.cloned(), field.name()),
            false => value,
        }
    });
    let projection = Projection::try_new(exprs.collect(), Arc::clone(plan))?;
    Ok(LogicalPlan::Projection(projection))
}

fn retyped(field: &FieldRef, kind: DataType) -> FieldRef {
    let field: Field = field.as_ref().clone();
    Arc::new(field.with_data_type(kind))
}
