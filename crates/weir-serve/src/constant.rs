//! The recognition of trivial statements, which read no table, call no function and consist of a few short values. Clients send
//! them to test the connection, and get their answers before long statements.

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, UnaryOperator,
};
use weir_engine::{Parameter, Statement};

/// Whether a statement is trivial, with values of any kind.
pub(crate) fn is_constant(statement: &Statement) -> bool {
    let Some(recipe) = statement.recipe() else {
        return false;
    };
    let is_short = |value: &Parameter| {
        use Parameter::{Boolean, Float, Integer, Null};
        matches!(value, Null | Boolean(_) | Integer(_) | Float(_))
    };
    if recipe.text.len() > TEXT_BYTES_MAX
        || !recipe.files.is_empty()
        || !recipe.values.iter().all(|(_, value)| is_short(value))
    {
        return false;
    }
    match statement.parsed() {
        DfStatement::Statement(parsed) => match parsed.as_ref() {
            ast::Statement::Query(query) => has_constants_only(query),
            _ => false,
        },
        _ => false,
    }
}

fn has_constants_only(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && query.for_clause.is_none()
        && query.settings.is_none()
        && query.format_clause.is_none()
        && query.pipe_operators.is_empty();
    is_plain && is_list_of_constants(select)
}

fn is_list_of_constants(select: &Select) -> bool {
    let is_grouped = match &select.group_by {
        GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let has_tables = !select.from.is_empty() || !select.lateral_views.is_empty();
    let has_clauses = select.distinct.is_some()
        || select.top.is_some()
        || select.into.is_some()
        || select.prewhere.is_some()
        || select.selection.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.having.is_some()
        || !select.named_window.is_empty()
        || select.qualify.is_some();
    let is_value = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => is_value(expr),
        _ => false,
    };
    !is_grouped && !has_tables && !has_clauses && select.projection.iter().all(is_value)
}

/// Whether an expression is a value, or made of some by operators whose results are short. Texts of this length nest a few hundred deep at most,
/// of which the parser takes fewer.
fn is_value(expr: &Expr) -> bool {
    use BinaryOperator::{
        And, Divide, Eq, Gt, GtEq, Lt, LtEq, Minus, Modulo, Multiply, NotEq, Or, Plus,
    };
    match expr {
        Expr::Value(_) => true,
        Expr::Nested(inner) => is_value(inner),
        Expr::UnaryOp { op, expr } => {
            let is_known = matches!(
                op,
                UnaryOperator::Minus | UnaryOperator::Plus | UnaryOperator::Not
            );
            is_known && is_value(expr)
        }
        Expr::BinaryOp { left, op, right } => {
            let is_known = matches!(
                op,
                Plus | Minus
                    | Multiply
                    | Divide
                    | Modulo
                    | Eq
                    | NotEq
                    | Lt
                    | LtEq
                    | Gt
                    | GtEq
                    | And
                    | Or
            );
            is_known && is_value(left) && is_value(right)
        }
        _ => false,
    }
}

/// Bytes of the text of such a statement.
const TEXT_BYTES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn is_constant_text(sql: &str) -> bool {
        let statements = Statement::parse(sql).unwrap();
        assert_eq!(statements.len(), 1, "{sql}");
        is_constant(&statements[0])
    }

    #[test]
    fn statements_of_values_alone_are_constant() {
        for sql in [
            "SELECT 1",
            "select 1 AS one, 'x', NULL, NOT true",
            "SELECT $1",
        ] {
            assert!(is_constant_text(sql), "{sql}");
        }
        for sql in [
            "SELECT 1 FROM 'a.pcap'",
            "SELECT * FROM 'a.pcap'",
            "SELECT repeat('x', 30000000)",
            "SELECT 'a' || 'b'",
            "SELECT CAST('1' AS BIGINT)",
            "SELECT (SELECT count(*) FROM 'a.pcap')",
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM 'a.pcap')",
            "SELECT 1 UNION ALL SELECT 2",
            "WITH x AS (SELECT 1) SELECT 1",
            "SELECT 1 GROUP BY 1",
            "SELECT 1 ORDER BY 1",
            "SELECT DISTINCT 1",
            "EXPLAIN SELECT 1",
            "CREATE VIEW v AS SELECT 1",
        ] {
            assert!(!is_constant_text(sql), "{sql}");
        }
        let long = format!("SELECT '{}'", "x".repeat(TEXT_BYTES_MAX));
        assert!(!is_constant_text(&long));
    }

    #[test]
    fn values_of_parameters_are_short() {
        let bound = |value: Parameter| {
            let mut statements = Statement::parse("SELECT $1").unwrap();
            let statement = statements.pop().unwrap();
            let bound = statement.bind(&[("1".to_owned(), value)]);
            is_constant(&bound.unwrap())
        };
        assert!(bound(Parameter::Integer(7)));
        assert!(!bound(Parameter::Text("x".repeat(1 << 20))));
    }
}
