//! Dotted names: from what the user wrote to the column that is meant.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use datafusion::sql::sqlparser::ast::{
    AccessExpr, DataType, DuplicateTreatment, Expr, ExprWithAlias, ExprWithAliasAndOrderBy,
    Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, Ident, JoinConstraint, JoinOperator, ObjectName, PipeOperator, Query,
    Select, SelectItem, SetExpr, Subscript, TableFactor, TableWithJoins, UnaryOperator, Value,
    VisitorMut,
};
use weir_functions::function::{
    ADDRESS, ADDRESS_TEXT, MIXING_FUNCTIONS, OCTET_LENGTH, TEXT_FUNCTIONS,
};
use weir_packet::Address;
use weir_packet::Kind;
use weir_tables::Table;

use crate::walk::walk_mut;

/// The columns and the table names that a statement can mean.
#[derive(Debug, Default)]
pub struct Scope {
    /// Names of the columns that hold a dot, of every table of the statement.
    pub dotted: HashSet<String>,
    /// Names of the columns that are addresses.
    pub addresses: HashSet<String>,
    /// Names of the columns that are bytes, such as payloads.
    pub bytes: HashSet<String>,
    /// The aliases and names of tables, in lower case, with the names of their columns where these are known: those of a subquery
    /// are not.
    pub tables: HashMap<String, Option<HashSet<String>>>,
    /// The aliases of columns in lower case, with the columns: those of IPFIX.
    pub aliases: HashMap<String, String>,
    /// The names that the statement defines itself. They mean the column only within the definition.
    pub taken: HashMap<String, String>,
    /// Names of all columns.
    pub columns: HashSet<String>,
    /// The same in the order of the tables, each once.
    pub ordered: Vec<String>,
    /// Names of the columns that are true or false.
    pub flags: HashSet<String>,
    /// Names that the statement gives to columns, in lower case.
    pub given: HashSet<String>,
    /// The columns over repeated headers that the statement reads, such as `vlan.id[2]`.
    pub headers: Mutex<HashSet<String>>,
}

/// Puts a column in the place of its other name.
struct Renamer<'n> {
    name: &'n str,
    column: &'n str,
}

impl VisitorMut for Renamer<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(ident) = expr
            && ident.value.eq_ignore_ascii_case(self.name)
        {
            *ident = Ident::with_quote('"', self.column);
        }
        ControlFlow::Continue(())
    }
}

impl Scope {
    /// A visitor that turns compound identifiers that name a dotted column into that column.
    pub const fn resolver(&self) -> NameResolver<'_> {
        NameResolver { scope: self }
    }

    /// The column that another name stands for, which may have dots.
    fn aliased(&self, parts: &[Ident]) -> Option<String> {
        if self.aliases.is_empty() {
            return None;
        }
        find(parts, |name| {
            self.aliases.contains_key(&name.to_ascii_lowercase())
        })
        .and_then(|name| self.aliases.get(&name.to_ascii_lowercase()).cloned())
    }

    /// Another name of a column, as the statement has it, without the table in front.
    fn written(&self, expr: &Expr) -> Option<String> {
        let parts = match expr {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(parts) => parts,
            _ => return None,
        };
        let (first, rest) = parts.split_first()?;
        let is_table = self.tables.contains_key(&first.value.to_ascii_lowercase());
        let is_qualified = is_table && self.aliased(rest).is_some();
        let parts = if is_qualified { rest } else { parts };
        self.aliased(parts)?;
        let parts: Vec<&str> = parts.iter().map(|it| it.value.as_str()).collect();
        Some(parts.join("."))
    }

    fn resolve_expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Identifier(ident) if self.aliased(std::slice::from_ref(ident)).is_some() => {
                if let Some(name) = self.aliased(std::slice::from_ref(ident)) {
                    *ident = Ident::with_quote('"', name);
                }
            }
            Expr::Identifier(ident) if ident.quote_style == Some('"') => {
                if let Some(name) = self.column(std::slice::from_ref(ident)) {
                    ident.value = name;
                }
            }
            Expr::CompoundIdentifier(parts) => {
                if let Some(resolved) = self.resolve_compound(parts) {
                    *expr = resolved;
                }
            }
            // tcp.payload[1:3]: the name ends in front of the bracket.
            Expr::CompoundFieldAccess { root, access_chain } => {
                if let Some(resolved) = self.resolve_access(root, access_chain) {
                    *expr = resolved;
                }
            }
            // The parser holds names that end in `user` for functions that need no parentheses.
            Expr::Function(function) if function.args == FunctionArguments::None => {
                let parts = function.name.0.iter().map(|part| part.as_ident().cloned());
                let parts: Option<Vec<Ident>> = parts.collect();
                if let Some(resolved) = parts.and_then(|parts| self.resolve_compound(&parts)) {
                    *expr = resolved;
                }
            }
            _ => {}
        }
    }

    /// A name with brackets behind it: the column, with what is left of the chain behind it.
    fn resolve_access(&self, root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
        let mut parts = match root {
            Expr::Identifier(ident) => vec![ident.clone()],
            Expr::CompoundIdentifier(parts) => parts.clone(),
            _ => return None,
        };
        let first = parts.len();
        parts.extend(chain.iter().map_while(|access| match access {
            AccessExpr::Dot(Expr::Identifier(ident)) => Some(ident.clone()),
            _ => None,
        }));
        let (found, column) = (first.max(2)..=parts.len())
            .rev()
            .find_map(|len| Some((len, self.resolve_compound(parts.get(..len)?)?)))?;
        let rest = chain.get(found - first..)?;
        let (column, rest) = match rest {
            [AccessExpr::Subscript(subscript), behind @ ..] => {
                match self.header(&column, subscript) {
                    Some((header, true)) => (header, behind),
                    Some((list, false)) => (list, rest),
                    None => (column, rest),
                }
            }
            rest => (column, rest),
        };
        Some(match rest {
            [] => column,
            rest => Expr::CompoundFieldAccess {
                root: Box::new(column),
                access_chain: rest.to_vec(),
            },
        })
    }

    /// The column over repeated headers that brackets behind a field of a header mean, and whether the column is their
    /// whole meaning: `vlan.id[2]` is one, `vlan.id[1:2]` is a part of the list `vlan.id[:]`.
    fn header(&self, column: &Expr, subscript: &Subscript) -> Option<(Expr, bool)> {
        let base = column_name(column)?;
        let number = match subscript {
            Subscript::Index { index } => number_of(index),
            Subscript::Slice { .. } => None,
        };
        let is_whole = match subscript {
            Subscript::Index { .. } => number.is_some(),
            Subscript::Slice {
                lower_bound,
                upper_bound,
                stride,
            } => lower_bound.is_none() && upper_bound.is_none() && stride.is_none(),
        };
        let name = match number {
            Some(number) => format!("{base}[{number}]"),
            None => format!("{base}[:]"),
        };
        let found = Table::packets().header_column(&name)?;
        // Addresses are bytes: eth.src[1:3] is a part of one, as in display filters.
        if number.is_none() && !is_whole && found.kind == Kind::Texts {
            return None;
        }
        let mut headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        headers.insert(name.clone());
        let ident = Ident::with_quote('"', name);
        let column = match column {
            Expr::CompoundIdentifier(parts) => {
                let mut parts = parts.clone();
                *parts.last_mut()? = ident;
                Expr::CompoundIdentifier(parts)
            }
            _ => Expr::Identifier(ident),
        };
        Some((column, is_whole))
    }

    /// `ip.src` is a column; `p.ip.src` is that column of `p`, when a table is called `p`. What a
    /// table has by this name, be it a struct column of another file, wins over the first part of
    /// a column name.
    fn resolve_compound(&self, parts: &[Ident]) -> Option<Expr> {
        let (first, rest) = parts.split_first()?;
        if self.tables.contains_key(&first.value.to_ascii_lowercase())
            && let Some(name) = self.aliased(rest)
        {
            let column = Ident::with_quote('"', name);
            return Some(Expr::CompoundIdentifier(vec![first.clone(), column]));
        }
        if let (Some(table), [second, ..]) =
            (self.tables.get(&first.value.to_ascii_lowercase()), rest)
        {
            let qualified = match table {
                Some(columns) => find(rest, |name| name.contains('.') && columns.contains(name)),
                None => self.column(rest),
            };
            if let Some(name) = qualified {
                let column = Ident::with_quote('"', name);
                return Some(Expr::CompoundIdentifier(vec![first.clone(), column]));
            }
            let is_left_alone = match table {
                Some(columns) => {
                    find(std::slice::from_ref(second), |name| columns.contains(name)).is_some()
                }
                None => rest.len() == 1,
            };
            if is_left_alone {
                return None;
            }
        }
        self.column(parts)
            .or_else(|| self.aliased(parts))
            .map(|name| Expr::Identifier(Ident::with_quote('"', name)))
    }

    /// The dotted column that these parts name.
    fn column(&self, parts: &[Ident]) -> Option<String> {
        find(parts, |name| self.dotted.contains(name))
    }

    /// `USING (sip.call_id)`: the planner takes one name for a column there.
    fn resolve_using(&self, table: &mut TableWithJoins) {
        for join in &mut table.joins {
            let Some(JoinConstraint::Using(names)) = constraint_mut(&mut join.join_operator) else {
                continue;
            };
            for name in names {
                let parts = name.0.iter().map(|part| part.as_ident().cloned());
                let parts: Option<Vec<Ident>> = parts.collect();
                if let Some(column) = parts.and_then(|parts| self.column(&parts)) {
                    *name = ObjectName::from(vec![Ident::with_quote('"', column)]);
                }
            }
        }
    }

    /// Functions of text take no binary values, so the planner would refuse an address before
    /// [`weir_functions::address`] is applied: their arguments become text here. Functions that give back one of their
    /// arguments get addresses when that is what all of them are.
    fn wrap_addresses(&self, function: &mut Function) {
        let name = function.name.to_string().to_ascii_lowercase();
        if name == "length" && self.has_bytes(function) {
            // The planner's function would count characters, and fail where the bytes are not UTF-8.
            function.name = ObjectName::from(vec![Ident::new(OCTET_LENGTH)]);
            return;
        }
        let (is_text, is_mixing) = (
            TEXT_FUNCTIONS.contains(&name.as_str()),
            MIXING_FUNCTIONS.contains(&name.as_str()),
        );
        let FunctionArguments::List(list) = &mut function.args else {
            return;
        };
        if !is_text && !is_mixing {
            return;
        }
        let mut arguments: Vec<&mut Expr> = list
            .args
            .iter_mut()
            .filter_map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            })
            .collect();
        let has_address = arguments.iter().any(|expr| self.is_address(expr));
        let texts: Vec<String> = arguments.iter().filter_map(|expr| text(expr)).collect();
        if !has_address || (is_mixing && texts.is_empty()) {
            return;
        }
        let all_addresses = texts
            .iter()
            .all(|text| text.trim().parse::<Address>().is_ok());
        let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        for clause in &mut list.clauses {
            // The ORDER BY of a SELECT DISTINCT must have the same expression.
            if let (FunctionArgumentClause::OrderBy(orders), true) = (clause, is_distinct) {
                orders
                    .iter_mut()
                    .for_each(|order| self.wrap_address(&mut order.expr));
            }
        }
        for argument in &mut arguments {
            if is_mixing && all_addresses {
                if text(argument).is_some() {
                    wrap(argument, ADDRESS);
                }
            } else {
                self.wrap_address(argument);
            }
        }
    }

    fn wrap_address(&self, expr: &mut Expr) {
        if self.is_address(expr) {
            wrap(expr, ADDRESS_TEXT);
        }
    }

    fn has_bytes(&self, function: &Function) -> bool {
        match &function.args {
            FunctionArguments::List(list) => list.args.iter().any(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    makes_bytes(expr)
                        || column_name(expr).is_some_and(|name| self.bytes.contains(name))
                }
                _ => false,
            }),
            _ => false,
        }
    }

    fn is_address(&self, expr: &Expr) -> bool {
        column_name(expr).is_some_and(|name| self.addresses.contains(name))
    }
}

/// Whether an expression has bytes by its form: a literal, a cast, or a function that makes them.
fn makes_bytes(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => makes_bytes(inner),
        Expr::Value(value) => matches!(value.value, Value::HexStringLiteral(_)),
        Expr::Cast { data_type, .. } => *data_type == DataType::Bytea,
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_lowercase();
            MAKE_BYTES.contains(&name.as_str())
        }
        _ => false,
    }
}

const MAKE_BYTES: &[&str] = &["decode", "sha224", "sha256", "sha384", "sha512"];

/// The condition of a join of two tables.
fn constraint_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}

/// The column that an expression is, after its name was resolved.
fn column_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(parts) => parts.last().map(|name| name.value.as_str()),
        Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}

/// The name for which `is_known` is true: as it is written, then without regard to case, then with Wireshark's hyphens as
/// underscores.
pub(crate) fn find(parts: &[Ident], is_known: impl Fn(&str) -> bool) -> Option<String> {
    let written = parts
        .iter()
        .map(|part| part.value.as_str())
        .collect::<Vec<_>>()
        .join(".");
    let lower = written.to_ascii_lowercase();
    let underscored = lower.replace('-', "_");
    [written, lower, underscored]
        .into_iter()
        .find(|name| is_known(name))
}

/// The whole number of a literal, with its sign.
fn number_of(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number_of(expr)?.checked_neg(),
        Expr::Nested(inner) => number_of(inner),
        _ => None,
    }
}

/// The text of a literal.
fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Makes `expr` the argument of a function.
fn wrap(expr: &mut Expr, function: &str) {
    let argument = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
    *expr = call(function, vec![argument]);
}

/// A call of a function.
pub(crate) fn call(function: &str, arguments: Vec<Expr>) -> Expr {
    let arguments = arguments.into_iter();
    let arguments = arguments.map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(function)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// See [`Scope::resolver`].
pub struct NameResolver<'s> {
    scope: &'s Scope,
}

impl VisitorMut for NameResolver<'_> {
    type Break = ();

    /// A column with an alias keeps the alias as its name in the result.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            for item in &mut select.projection {
                match item {
                    SelectItem::UnnamedExpr(expr) if self.scope.written(expr).is_some() => {
                        if let Some(name) = self.scope.written(expr) {
                            let alias = Ident::with_quote('"', name);
                            let expr = expr.clone();
                            *item = SelectItem::ExprWithAlias { expr, alias };
                        }
                    }
                    // sum(octetDeltaCount) AS octetDeltaCount
                    SelectItem::ExprWithAlias { expr, alias } => {
                        let name = alias.value.to_ascii_lowercase();
                        if let Some(column) = self.scope.taken.get(&name) {
                            let name = &name;
                            let _ = walk_mut(expr, &mut Renamer { name, column });
                        }
                    }
                    _ => {}
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for table in &mut select.from {
            self.scope.resolve_using(table);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.scope.resolve_using(table_with_joins);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.scope.resolve_expr(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => self.scope.wrap_addresses(function),
            Expr::Substring { expr, .. } | Expr::Trim { expr, .. } => {
                self.scope.wrap_address(expr);
            }
            Expr::Position { r#in, .. } => self.scope.wrap_address(r#in),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Names each computed column of a query by the text that the user wrote, before names are
/// resolved: `sum(frame.len)` rather than the planner's own spelling.
pub(crate) fn keep_written_names(query: &mut Query) {
    if let Some(select) = first_select(&mut query.body) {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(alias) = written_name(expr)
            {
                let expr = std::mem::replace(expr, Expr::Identifier(alias.clone()));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
    }
    for operator in &mut query.pipe_operators {
        if let PipeOperator::Aggregate {
            full_table_exprs, ..
        } = operator
        {
            for ExprWithAliasAndOrderBy { expr, .. } in full_table_exprs {
                let ExprWithAlias { expr, alias } = expr;
                if alias.is_none() {
                    *alias = written_name(expr);
                }
            }
        }
    }
}

/// The SELECT that names the columns of a query: the first of a UNION.
fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&mut query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

fn written_name(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => None,
        _ => Some(Ident::with_quote('"', expr.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn resolve(sql: &str) -> String {
        let scope = Scope {
            dotted: ["ip.src", "frame.len", "sip.call_id", "sip.from.user"]
                .map(str::to_owned)
                .into(),
            addresses: ["ip.src"].map(str::to_owned).into(),
            bytes: HashSet::new(),
            tables: [
                ("p", Some(["ip.src", "frame.len"].map(str::to_owned).into())),
                ("j", Some(["ip", "site"].map(str::to_owned).into())),
                ("ip", None),
            ]
            .map(|(name, columns)| (name.to_owned(), columns))
            .into(),
            aliases: [
                ("sourceipv4address", "ip.src"),
                ("octetdeltacount", "frame.len"),
                ("mqtt.conack.flags.sp", "frame.len"),
            ]
            .map(|(name, column)| (name.to_owned(), column.to_owned()))
            .into(),
            taken: [("in_bytes".to_owned(), "frame.len".to_owned())].into(),
            ..Scope::default()
        };
        let mut statements = Parser::parse_sql(&GenericDialect {}, sql).unwrap();
        let _ = walk_mut(&mut statements, &mut scope.resolver());
        statements[0].to_string()
    }

    #[test]
    fn dotted_names_become_columns() {
        for (written, meant) in [
            ("SELECT frame.len FROM p", "SELECT \"frame.len\" FROM p"),
            ("SELECT FRAME.Len FROM p", "SELECT \"frame.len\" FROM p"),
            ("SELECT p.ip.src FROM p", "SELECT p.\"ip.src\" FROM p"),
            (
                "SELECT \"sip.Call-ID\" FROM p",
                "SELECT \"sip.call_id\" FROM p",
            ),
            (
                "SELECT sip.from.user FROM p",
                "SELECT \"sip.from.user\" FROM p",
            ),
            (
                "SELECT sourceIPv4Address, p.octetDeltaCount FROM p GROUP BY sourceIPv4Address",
                "SELECT \"ip.src\" AS \"sourceIPv4Address\", p.\"frame.len\" AS \"octetDeltaCount\" FROM p GROUP BY \"ip.src\"",
            ),
            // This is another name with dots, whose first part may be the name of a table.
            (
                "SELECT mqtt.conack.flags.sp FROM p WHERE p.mqtt.conack.flags.sp = 1",
                "SELECT \"frame.len\" AS \"mqtt.conack.flags.sp\" FROM p WHERE p.\"frame.len\" = 1",
            ),
            (
                "SELECT sum(IN_BYTES) AS in_bytes FROM p ORDER BY in_bytes",
                "SELECT sum(\"frame.len\") AS in_bytes FROM p ORDER BY in_bytes",
            ),
            // A struct column of another file, or an unknown name, stays as it is.
            ("SELECT s.field FROM p", "SELECT s.field FROM p"),
            // A subquery called ip wins over the first part of ip.src.
            ("SELECT ip.src FROM ip", "SELECT ip.src FROM ip"),
            // The column of the table takes precedence over that of another one.
            (
                "SELECT j.ip.src, j.site FROM j",
                "SELECT j.ip.src, j.site FROM j",
            ),
            (
                "SELECT upper(p.ip.src), coalesce(p.ip.src, '-'), coalesce(p.ip.src, '::') FROM p",
                "SELECT upper(address_text(p.\"ip.src\")), coalesce(address_text(p.\"ip.src\"), '-'), \
                 coalesce(p.\"ip.src\", address('::')) FROM p",
            ),
            (
                "SELECT max(frame.len) FROM p WHERE frame.len > 3 GROUP BY p.ip.src",
                "SELECT max(\"frame.len\") FROM p WHERE \"frame.len\" > 3 GROUP BY p.\"ip.src\"",
            ),
        ] {
            assert_eq!(resolve(written), meant);
        }
    }
}
