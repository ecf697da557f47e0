//! Prepared statements.
//!
//! `EXECUTE p('10.0.0.1')` runs the statement of `PREPARE p` with the values written in the place of its
//! parameters. So a parameter takes whatever a literal in its place takes: an address beside an address, a
//! time beside a time, a network in `cidr_match`, a number beside a number. A parameter whose type the
//! statement gives (`PREPARE p(text)`) is a value of that type.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan};
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{self, DataType, Expr, Ident, Value, Visitor, VisitorMut};
use weir_functions::similar::similar;
use weir_functions::{Condition, Error, ErrorKind};

use crate::reworded::cast;
use crate::statement::Statement;
use crate::walk::{walk, walk_mut};

/// The prepared statements of a session, by name.
#[derive(Debug, Default)]
pub struct PreparedStatements {
    statements: HashMap<String, Prepared>,
}

#[derive(Clone, Debug)]
struct Prepared {
    types: Vec<DataType>,
    statement: ast::Statement,
    parameters: usize,
}

impl PreparedStatements {
    /// Keeps the statement of a `PREPARE`.
    ///
    /// # Errors
    /// When there is one of its name.
    pub fn keep(&mut self, statement: &Statement) -> Result<(), Error> {
        let Some(ast::Statement::Prepare {
            name,
            data_types,
            statement,
        }) = plain(statement)
        else {
            return Ok(());
        };
        let name = key(name);
        if self.statements.contains_key(&name) {
            let error = Error::new(
                ErrorKind::Plan,
                format!("prepared statement \"{name}\" already exists"),
            );
            let error = error.with_hint(format!("DEALLOCATE {name} removes it"));
            return Err(error.with_condition(Condition::DuplicateStatement));
        }
        let prepared = Prepared {
            types: data_types.clone(),
            statement: statement.as_ref().clone(),
            parameters: parameters(statement).len(),
        };
        self.statements.insert(name, prepared);
        Ok(())
    }

    /// Forgets the statement of a `DEALLOCATE`, or all; false when the statement is another.
    ///
    /// # Errors
    /// When nothing of this name was prepared.
    pub fn forget(&mut self, statement: &Statement) -> Result<bool, Error> {
        let Some(ast::Statement::Deallocate { name, .. }) = plain(statement) else {
            return Ok(false);
        };
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") {
            self.statements.clear();
            return Ok(true);
        }
        let name = key(name);
        match self.statements.remove(&name) {
            Some(_) => Ok(true),
            None => Err(self.unknown(&name)),
        }
    }

    /// The error of an unknown prepared statement.
    fn unknown(&self, name: &str) -> Error {
        let error = Error::new(
            ErrorKind::Plan,
            format!("prepared statement \"{name}\" does not exist"),
        )
        .with_condition(Condition::UndefinedStatement);
        let near = similar(name, self.statements.keys().map(String::as_str));
        match near.first() {
            Some(near) => error.with_hint(format!("did you mean {near}?")),
            None => error.with_hint(format!(
                "PREPARE {name} AS SELECT … WHERE ip.src = $1; EXECUTE {name}('10.0.0.1')"
            )),
        }
    }

    /// The statement that an `EXECUTE` runs; `None` when the statement is another.
    ///
    /// # Errors
    /// When nothing of this name was prepared, or it takes another number of values.
    pub fn executed(&self, statement: &Statement) -> Result<Option<Statement>, Error> {
        let Some(ast::Statement::Execute {
            name: Some(name),
            parameters,
            ..
        }) = plain(statement)
        else {
            return Ok(None);
        };
        let name = match name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(ident)] => key(ident),
            _ => name.to_string(),
        };
        let Some(prepared) = self.statements.get(&name) else {
            return Err(self.unknown(&name));
        };
        if parameters.len() != prepared.parameters {
            let wanted = match prepared.parameters {
                1 => "1 value".to_owned(),
                wanted => format!("{wanted} values"),
            };
            return Err(Error::new(
                ErrorKind::Plan,
                format!("{name} takes {wanted}, not {}", parameters.len()),
            )
            .with_condition(Condition::Syntax));
        }
        let mut values = ParameterWriter {
            values: parameters,
            types: &prepared.types,
        };
        let mut inner = prepared.statement.clone();
        let _ = walk_mut(&mut inner, &mut values);
        Ok(Some(Statement {
            inner: DfStatement::Statement(Box::new(inner)),
            recipe: None,
        }))
    }
}

/// The statement that a `PREPARE` prepares, with NULLs of their types in the places of the parameters that have
/// one; `None` when the statement is another.
pub fn inner(statement: &Statement) -> Option<Statement> {
    let Some(ast::Statement::Prepare {
        data_types,
        statement,
        ..
    }) = plain(statement)
    else {
        return None;
    };
    let mut inner = statement.as_ref().clone();
    let nulls = vec![Expr::value(Value::Null); data_types.len()];
    let mut values = ParameterWriter {
        values: &nulls,
        types: data_types,
    };
    let _ = walk_mut(&mut inner, &mut values);
    Some(Statement {
        inner: DfStatement::Statement(Box::new(inner)),
        recipe: None,
    })
}

fn key(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

fn plain(statement: &Statement) -> Option<&ast::Statement> {
    match &statement.inner {
        DfStatement::Statement(statement) => Some(statement),
        _ => None,
    }
}

/// The numbers of the parameters, each once, in their order.
pub(crate) fn parameters(statement: &ast::Statement) -> Vec<usize> {
    struct Collector(Vec<usize>);
    impl Visitor for Collector {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.0.extend(number(expr));
            ControlFlow::Continue(())
        }
    }
    let mut collector = Collector(Vec::new());
    let _ = walk(statement, &mut collector);
    collector.0.sort_unstable();
    collector.0.dedup();
    collector.0
}

/// The number of a parameter: 1 for `$1`.
fn number(expr: &Expr) -> Option<usize> {
    match placeholder(expr)?.strip_prefix('$')?.parse() {
        Ok(number @ 1..) => Some(number),
        _ => None,
    }
}

fn placeholder(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Checks that a statement has no parameters that are without values or are no numbers.
///
/// # Errors
/// So.
pub fn check(statement: &Statement) -> Result<(), Error> {
    struct Finder(Option<String>);
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Some(name) = placeholder(expr) {
                self.0.get_or_insert_with(|| name.to_owned());
            }
            ControlFlow::Continue(())
        }
    }
    if let Some(ast::Statement::Prepare {
        name,
        data_types,
        statement,
    }) = plain(statement)
    {
        let numbers = parameters(statement);
        let named = numbers.last().copied().unwrap_or(0);
        if named != numbers.len() {
            let missing = (1..=named).find(|number| !numbers.contains(number));
            let missing = missing.unwrap_or(named);
            return Err(Error::new(
                ErrorKind::Plan,
                format!(
                    "parameters are numbered from $1 on: ${named} is used, and ${missing} is missing"
                ),
            ));
        }
        if !data_types.is_empty() && data_types.len() != named {
            let name = key(name);
            return Err(Error::new(
                ErrorKind::Plan,
                format!(
                    "{name} has {named} parameters and {} types",
                    data_types.len()
                ),
            ));
        }
        return Ok(());
    }
    let mut finder = Finder(None);
    statement.visit(&mut finder);
    match finder.0 {
        None => Ok(()),
        Some(name) => Err(Error::new(
            ErrorKind::Plan,
            format!("the parameter {name} has no value"),
        )
        .with_condition(Condition::UndefinedParameter)
        .with_hint("PREPARE p AS SELECT … WHERE ip.src = $1; EXECUTE p('10.0.0.1')")),
    }
}

/// Checks that the types of all parameters of a prepared statement are known.
///
/// # Errors
/// When there is one.
pub fn check_types(plan: &LogicalPlan) -> Result<(), Error> {
    let mut loose = None;
    let walked = plan.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            // This is a value by itself, which is not compared with anything.
            if !matches!(plan, LogicalPlan::Limit(_)) {
                loose = loose.take().or_else(|| untyped(expr));
            }
            expr.apply(|expr| {
                loose = loose.take().or_else(|| between(expr));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    match (walked, loose) {
        (Ok(_), None) => Ok(()),
        (Err(error), _) => Err(Error::from_datafusion(ErrorKind::Plan, error, &[])),
        (_, Some(id)) => Err(Error::new(
            ErrorKind::Plan,
            format!("could not determine data type of parameter {id}"),
        )
        .with_condition(Condition::IndeterminateDatatype)
        .with_hint("give the types: PREPARE p(text, bigint) AS …")),
    }
}

/// The parameter that an expression is, when its type is not known.
fn untyped(expr: &PlanExpr) -> Option<String> {
    match expr {
        PlanExpr::Placeholder(placeholder) => {
            let field = placeholder.field.as_ref();
            // A parameter beside another one has the null type.
            let is_typed = field.is_some_and(|field| !field.data_type().is_null());
            (!is_typed).then(|| placeholder.id.clone())
        }
        PlanExpr::Alias(alias) => untyped(&alias.expr),
        _ => None,
    }
}

/// The parameter that an operator has for its only side, or for both.
fn between(expr: &PlanExpr) -> Option<String> {
    match expr {
        PlanExpr::BinaryExpr(binary) => {
            untyped(&binary.right).filter(|_| untyped(&binary.left).is_some())
        }
        PlanExpr::IsNull(inner) | PlanExpr::IsNotNull(inner) | PlanExpr::Negative(inner) => {
            untyped(inner)
        }
        _ => None,
    }
}

/// Writes values in the places of parameters.
struct ParameterWriter<'v> {
    values: &'v [Expr],
    types: &'v [DataType],
}

impl VisitorMut for ParameterWriter<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let index = number(expr).and_then(|number| number.checked_sub(1));
        let Some((index, value)) = index.and_then(|index| Some((index, self.values.get(index)?)))
        else {
            return ControlFlow::Continue(());
        };
        *expr = match (self.types.get(index), value) {
            (Some(kind), value) => cast(value.clone(), kind.clone()),
            (None, Expr::Value(_)) => value.clone(),
            (None, value) => Expr::Nested(Box::new(value.clone())),
        };
        ControlFlow::Continue(())
    }
}
