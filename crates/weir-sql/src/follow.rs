//! Following a stream: `stream('x.pcap', 5)` is flow 5 of it, and `stream_text(flow.id)` is the text of that flow.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SelectItem,
    SetExpr, TableAlias, TableFactor, Value, Visitor, VisitorMut,
};
use weir_functions::{Error, ErrorKind};

use crate::statement::Statement;
use crate::walk::{walk, walk_mut};

/// The table function of streams.
const STREAM: &str = "stream";
/// The function of a row that is a flow.
pub(crate) const STREAM_TEXT: &str = "stream_text";

/// Puts queries of streams in the places of what names one.
///
/// # Errors
/// When `stream_text` is in a query that does not have exactly one table of a capture.
pub fn follow(statement: &mut Statement) -> Result<(), Error> {
    let mut follower = Follower { refusal: None };
    statement.visit_mut(&mut follower);
    match follower.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

struct Follower {
    refusal: Option<Error>,
}

impl VisitorMut for Follower {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let Some(query) = one_flow(factor) {
            *factor = query;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(
        &mut self,
        query: &mut datafusion::sql::sqlparser::ast::Query,
    ) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut()
            && let Err(refusal) = with_texts(select)
        {
            self.refusal.get_or_insert(refusal);
        }
        ControlFlow::Continue(())
    }
}

/// `stream('x.pcap', 5)` as a query of the flow; `None` for anything else.
fn one_flow(factor: &TableFactor) -> Option<TableFactor> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        ..
    } = factor
    else {
        return None;
    };
    let is_number = |argument: &&FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => {
            matches!(value.value, Value::Number(..) | Value::Placeholder(_))
        }
        _ => false,
    };
    let number = args.args.iter().find(is_number)?;
    let others = args.args.iter().filter(|argument| !is_number(argument));
    let others: Vec<String> = others.map(ToString::to_string).collect();
    if !name.to_string().eq_ignore_ascii_case(STREAM) || others.len() + 1 != args.args.len() {
        return None;
    }
    let sql = format!(
        "SELECT * FROM {STREAM}({}) WHERE \"flow.id\" = {number}",
        others.join(", ")
    );
    // Names of columns begin with the table function's.
    let alias = alias.clone().unwrap_or_else(|| named("one_flow"));
    Some(TableFactor::Derived {
        lateral: false,
        subquery: Statement::query_of(&sql)?,
        alias: Some(alias),
        sample: None,
    })
}

fn named(name: &str) -> TableAlias {
    TableAlias {
        explicit: true,
        name: Ident::new(name),
        columns: Vec::new(),
        at: None,
    }
}

/// Whether an expression calls `stream_text`.
struct Finds(bool);

impl Visitor for Finds {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.0 |= matches!(expr, Expr::Function(function) if is_text(function));
        ControlFlow::Continue(())
    }
}

fn is_text(function: &Function) -> bool {
    function.name.to_string().eq_ignore_ascii_case(STREAM_TEXT)
}

/// Joins the texts of streams to a SELECT that calls `stream_text`.
fn with_texts(select: &mut Select) -> Result<(), Error> {
    let mut finds = Finds(false);
    for item in &select.projection {
        let _ = walk(item, &mut finds);
    }
    let mut of_where = Finds(false);
    if let Some(condition) = &select.selection {
        let _ = walk(condition, &mut of_where);
    }
    if !finds.0 && !of_where.0 {
        return Ok(());
    }
    let refused = |message: &str| {
        let error = Error::new(ErrorKind::Plan, message.to_owned());
        error.with_hint(
            "SELECT flow.id, stream_text(flow.id) FROM flows('trace.pcap'); SELECT * FROM stream('trace.pcap', 5)",
        )
    };
    let [from] = select.from.as_mut_slice() else {
        return Err(refused(
            "stream_text can be used with one table of flows only",
        ));
    };
    let TableFactor::Table {
        alias,
        args: Some(args),
        ..
    } = &mut from.relation
    else {
        return Err(refused(
            "stream_text needs a table of flows, such as flows('trace.pcap')",
        ));
    };
    let paths = args
        .args
        .iter()
        .filter(|argument| matches!(argument, FunctionArg::Unnamed(_)));
    let paths: Vec<String> = paths.map(ToString::to_string).collect();
    let of = alias.get_or_insert_with(|| named("followed")).name.clone();
    let mut putter = Putter {
        of,
        paths: paths.join(", "),
        refusal: None,
    };
    for item in &mut select.projection {
        // The column keeps the name that was written.
        if let SelectItem::UnnamedExpr(expr) = item {
            let mut finds = Finds(false);
            let _ = walk(expr, &mut finds);
            if finds.0 {
                let alias = Ident::with_quote('"', expr.to_string());
                *item = SelectItem::ExprWithAlias {
                    expr: expr.clone(),
                    alias,
                };
            }
        }
        let _ = walk_mut(item, &mut putter);
    }
    if let Some(condition) = &mut select.selection {
        let _ = walk_mut(condition, &mut putter);
    }
    match putter.refusal {
        Some(message) => Err(refused(message)),
        None => Ok(()),
    }
}

/// Puts a query for the text in the place of the call.
struct Putter {
    of: Ident,
    paths: String,
    refusal: Option<&'static str>,
}

impl VisitorMut for Putter {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        if !is_text(function) {
            return ControlFlow::Continue(());
        }
        let is_flow = match &function.args {
            FunctionArguments::List(list) => match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => {
                    let written = argument.to_string().replace('"', "").to_ascii_lowercase();
                    written == "flow.id" || written.ends_with(".flow.id")
                }
                _ => false,
            },
            _ => false,
        };
        if !is_flow {
            self.refusal
                .get_or_insert("stream_text takes flow.id of the table");
            return ControlFlow::Continue(());
        }
        let sql = format!(
            "(SELECT string_agg(text_of_flow.\"stream.text\", '') FROM {STREAM}({}) AS text_of_flow \
             WHERE text_of_flow.\"flow.id\" = {}.\"flow.id\")",
            self.paths, self.of
        );
        if let Some(query) = Statement::expression_of(&sql) {
            *expr = query;
        }
        ControlFlow::Continue(())
    }
}
