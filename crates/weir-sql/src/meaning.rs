//! Names that are no columns, and what they mean: [`weir_tables::names`] put into statements.
//!
//! `ip.addr = '10.0.0.1'` becomes `ip.src = '10.0.0.1' OR ip.dst = '10.0.0.1'` before anything is planned, so that
//! the scan decides on it. What is negative must hold of each side: `ip.addr <> '10.0.0.1'` is true of packets
//! of which neither address is that one, as `!=` of Wireshark 4; and `NOT (ip.addr = '10.0.0.1')` is the same but
//! where there is no address at all. Outside of conditions the name is the list of the sides.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, ExcludeSelectItem, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, Value, Visitor, VisitorMut,
    WildcardAdditionalOptions,
};
use weir_functions::function::{CIDR_MATCH, DISPLAY_FILTER};
use weir_functions::{Error, ErrorKind};
use weir_tables::DisplayFilter;
use weir_tables::names::{Meaning, Name};

use crate::names::{Scope, find};
use crate::replaced::Queries;
use crate::statement::Statement;
use crate::walk::{walk, walk_mut};

/// Puts meanings in the places of names; the first that cannot be is the refusal.
pub struct Meanings<'s> {
    /// The names of the statement's tables and columns.
    pub scope: &'s Scope,
    /// Why a name cannot stand where it does.
    pub refusal: Option<Error>,
    queries: Queries,
    /// Names that a SELECT gives to its columns, in lower case, while the walk is in what these are made of.
    own: HashSet<String>,
}

/// The meaning of a name, with the table before it.
struct Meant {
    table: Option<Ident>,
    meaning: Meaning,
}

impl Meant {
    /// A column of the table.
    fn column(&self, name: &str) -> Expr {
        let column = Ident::with_quote('"', name);
        match &self.table {
            Some(table) => Expr::CompoundIdentifier(vec![table.clone(), column]),
            None => Expr::Identifier(column),
        }
    }

    fn sides(&self) -> Option<Vec<Expr>> {
        match self.meaning {
            Meaning::Sides(columns) => Some(columns.iter().map(|name| self.column(name)).collect()),
            _ => None,
        }
    }

    /// The expression that stands for the name where no condition takes it apart.
    fn expr(&self) -> Option<Expr> {
        match self.meaning {
            Meaning::Column(name) => Some(self.column(name)),
            Meaning::Expression(text) => {
                let expr = Statement::expression_of(text)?;
                Some(match (expr, &self.table) {
                    (Expr::Extract { field, syntax, .. }, Some(_)) => Expr::Extract {
                        field,
                        syntax,
                        expr: Box::new(self.column("frame.time")),
                    },
                    (expr, _) => expr,
                })
            }
            Meaning::Sides(_) => {
                let sides = self.sides()?;
                let missing = sides.iter().cloned();
                let missing = missing.map(|side| Expr::IsNull(Box::new(side)));
                let list = Expr::Array(Array {
                    elem: sides.clone(),
                    named: false,
                });
                Some(Expr::Case {
                    case_token: AttachedToken::empty(),
                    end_token: AttachedToken::empty(),
                    operand: None,
                    conditions: vec![CaseWhen {
                        condition: joined(missing, BinaryOperator::And)?,
                        result: Expr::Value(Value::Null.into()),
                    }],
                    else_result: Some(Box::new(list)),
                })
            }
            Meaning::Advice(_) => None,
        }
    }
}

impl<'s> Meanings<'s> {
    /// The meanings of names among these.
    #[must_use]
    pub fn of(scope: &'s Scope) -> Self {
        Self {
            scope,
            refusal: None,
            queries: Queries::default(),
            own: HashSet::new(),
        }
    }
}

impl Meanings<'_> {
    /// The meaning of a name that is not a column of the tables.
    fn meant(&self, expr: &Expr) -> Option<Meant> {
        let parts: &[Ident] = match expr {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(parts) => parts,
            Expr::Nested(inner) => return self.meant(inner),
            _ => return None,
        };
        let (first, rest) = parts.split_first()?;
        let table = self.scope.tables.get(&first.value.to_ascii_lowercase());
        if let (Some(columns), false) = (table, rest.is_empty())
            && let Some(meaning) = self.meaning(rest, columns.as_ref())
        {
            return Some(Meant {
                table: Some(first.clone()),
                meaning,
            });
        }
        Some(Meant {
            table: None,
            meaning: self.meaning(parts, None)?,
        })
    }

    fn meaning(&self, parts: &[Ident], columns: Option<&HashSet<String>>) -> Option<Meaning> {
        let all = &self.scope.columns;
        let has = |name: &str| match columns {
            Some(columns) => columns.contains(name),
            None => all.contains(name),
        };
        let first = parts.first()?;
        // A column, a field of a struct, or a name that the statement itself defines, keeps its meaning.
        if find(parts, has).is_some()
            || has(&first.value)
            || has(&first.value.to_ascii_lowercase())
            || (parts.len() == 1
                && columns.is_none()
                && !self.own.contains(&first.value.to_ascii_lowercase())
                && self.scope.given.contains(&first.value.to_ascii_lowercase()))
        {
            return None;
        }
        let written: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
        let name = written.join(".").to_ascii_lowercase();
        let known = Name::meanings(&name).find(|known| known.fits(&has))?;
        Some(known.meaning)
    }

    /// The sides that an expression names.
    fn sides(&self, expr: &Expr) -> Option<Vec<Expr>> {
        self.meant(expr)?.sides()
    }

    /// The condition with each side in the place of the name that stands for all of them.
    fn taken_apart(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::BinaryOp { left, op, right } => self.operator_taken_apart(left, op, right),
            Expr::IsNull(inner) => each(self.sides(inner)?, true, &|side| {
                Expr::IsNull(Box::new(side))
            }),
            Expr::IsNotNull(inner) => each(self.sides(inner)?, false, &|side| {
                Expr::IsNotNull(Box::new(side))
            }),
            Expr::IsDistinctFrom(left, right) => each(self.sides(left)?, true, &|side| {
                Expr::IsDistinctFrom(Box::new(side), right.clone())
            }),
            Expr::IsNotDistinctFrom(left, right) => each(self.sides(left)?, false, &|side| {
                Expr::IsNotDistinctFrom(Box::new(side), right.clone())
            }),
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => each(self.sides(expr)?, *negated, &|side| Expr::Between {
                expr: Box::new(side),
                negated: *negated,
                low: low.clone(),
                high: high.clone(),
            }),
            Expr::InList {
                expr,
                list,
                negated,
            } => self.list_taken_apart(expr, list, *negated),
            Expr::InSubquery {
                expr,
                subquery,
                negated,
            } => each(self.sides(expr)?, *negated, &|side| Expr::InSubquery {
                expr: Box::new(side),
                subquery: subquery.clone(),
                negated: *negated,
            }),
            Expr::Like {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => each(self.sides(expr)?, *negated, &|side| Expr::Like {
                negated: *negated,
                any: *any,
                expr: Box::new(side),
                pattern: pattern.clone(),
                escape_char: escape_char.clone(),
            }),
            Expr::ILike {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => each(self.sides(expr)?, *negated, &|side| Expr::ILike {
                negated: *negated,
                any: *any,
                expr: Box::new(side),
                pattern: pattern.clone(),
                escape_char: escape_char.clone(),
            }),
            Expr::Function(function) => self.function_taken_apart(function),
            _ => None,
        }
    }

    fn operator_taken_apart(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
        let is_negative = negative(op)?;
        if let Some(sides) = self.sides(left) {
            return each(sides, is_negative, &|side| Expr::BinaryOp {
                left: Box::new(side),
                op: op.clone(),
                right: Box::new(right.clone()),
            });
        }
        each(self.sides(right)?, is_negative, &|side| Expr::BinaryOp {
            left: Box::new(left.clone()),
            op: op.clone(),
            right: Box::new(side),
        })
    }

    fn list_taken_apart(&self, expr: &Expr, list: &[Expr], negated: bool) -> Option<Expr> {
        if let Some(sides) = self.sides(expr) {
            return each(sides, negated, &|side| Expr::InList {
                expr: Box::new(side),
                list: list.to_vec(),
                negated,
            });
        }
        // '10.0.0.1' IN (ip.addr)
        list.iter().find_map(|item| self.sides(item))?;
        let list = list.iter().flat_map(|item| match self.sides(item) {
            Some(sides) => sides,
            None => vec![item.clone()],
        });
        Some(Expr::InList {
            expr: Box::new(expr.clone()),
            list: list.collect(),
            negated,
        })
    }

    /// A function that is a condition, of which one argument names all sides.
    fn function_taken_apart(&self, function: &Function) -> Option<Expr> {
        let name = function.name.to_string().to_ascii_lowercase();
        if !CONDITIONS.contains(&name.as_str()) {
            return None;
        }
        let FunctionArguments::List(list) = &function.args else {
            return None;
        };
        let (place, sides) =
            list.args
                .iter()
                .enumerate()
                .find_map(|(place, argument)| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                        self.sides(expr).map(|sides| (place, sides))
                    }
                    _ => None,
                })?;
        each(sides, false, &|side| {
            let mut function = function.clone();
            if let FunctionArguments::List(list) = &mut function.args
                && let Some(argument) = list.args.get_mut(place)
            {
                *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(side));
            }
            Expr::Function(function)
        })
    }

    /// `sip.Call-ID`: a name of Wireshark's with a hyphen, which SQL takes for a difference. True when it was one.
    fn with_hyphens(&self, expr: &mut Expr) -> bool {
        let Expr::BinaryOp {
            left,
            op: BinaryOperator::Minus,
            ..
        } = expr
        else {
            return false;
        };
        let has = |name: &str| self.scope.columns.contains(name);
        let first = hyphenated(left).map(|name| name.to_ascii_lowercase());
        let name = hyphenated(expr).filter(|name| name.contains('.'));
        let (Some(first), Some(name)) = (first, name) else {
            return false;
        };
        let name = name.to_ascii_lowercase().replace('-', "_");
        // The left side is a column by itself, from which the right side is subtracted.
        if has(&first) || self.scope.tables.contains_key(&first) {
            return false;
        }
        let is_name = has(&name) || weir_tables::names::is_column(&name);
        if is_name {
            *expr = Expr::Identifier(Ident::with_quote('"', name));
        }
        is_name
    }

    /// `tcp.flags.syn = 1`: flags are true and false, and 1 and 0.
    fn with_flags(&self, expr: &mut Expr) {
        match expr {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq | BinaryOperator::NotEq,
                right,
            } => {
                if self.is_flag(left) {
                    make_flag(right);
                } else if self.is_flag(right) {
                    make_flag(left);
                }
            }
            Expr::InList { expr, list, .. } if self.is_flag(expr) => {
                list.iter_mut().for_each(make_flag);
            }
            _ => {}
        }
    }

    fn is_flag(&self, expr: &Expr) -> bool {
        let parts: &[Ident] = match expr {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(parts) => parts,
            Expr::Nested(inner) => return self.is_flag(inner),
            _ => return false,
        };
        let is_flag =
            |parts: &[Ident]| find(parts, |name| self.scope.flags.contains(name)).is_some();
        let behind_table = parts.split_first().is_some_and(|(first, rest)| {
            !rest.is_empty()
                && self
                    .scope
                    .tables
                    .contains_key(&first.value.to_ascii_lowercase())
                && is_flag(rest)
        });
        let renamed = self.meant(expr).is_some_and(|meant| match meant.meaning {
            Meaning::Column(column) => self.scope.flags.contains(column),
            _ => false,
        });
        is_flag(parts) || behind_table || renamed
    }

    /// `display_filter('tcp.port == 443')` gets the packet that it tests as an argument: its number stands for it.
    fn with_packet(&mut self, expr: &mut Expr) {
        let Expr::Function(function) = expr else {
            return;
        };
        if !function
            .name
            .to_string()
            .eq_ignore_ascii_case(DISPLAY_FILTER)
        {
            return;
        }
        let FunctionArguments::List(list) = &mut function.args else {
            return;
        };
        let arguments = list.args.iter().map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        });
        let arguments: Option<Vec<Expr>> = arguments.collect();
        let (filter, table) =
            match arguments.as_deref() {
                Some([filter]) => (filter, None),
                Some([filter, Expr::Identifier(table)])
                    if self
                        .scope
                        .tables
                        .contains_key(&table.value.to_ascii_lowercase()) =>
                {
                    (filter, Some(table.clone()))
                }
                // The argument was added before.
                Some([_, Expr::Identifier(number)]) if number.value == NUMBER => return,
                Some([_, Expr::CompoundIdentifier(_)]) => return,
                _ => return self.refuse(
                    Error::new(
                        ErrorKind::Plan,
                        "display_filter takes a filter, and a table if the statement has several",
                    )
                    .with_hint(
                        "display_filter('tcp.port == 443'), display_filter('tcp.port == 443', p)",
                    ),
                ),
            };
        let text = match filter {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        };
        let Some(text) = text else {
            let error = Error::new(
                ErrorKind::Plan,
                format!("display_filter takes a text, not {filter}"),
            );
            return self.refuse(error.with_hint("display_filter('tcp.port == 443')"));
        };
        if let Err(error) = DisplayFilter::new(&text) {
            return self.refuse(Error::of_filter(&error, &text));
        }
        let number = Meant {
            table,
            meaning: Meaning::Column(NUMBER),
        };
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(
            number.column(NUMBER),
        )));
        if list.args.len() > 2 {
            list.args.remove(1);
        }
    }

    /// `tcp.*` are the columns that begin like that, and `EXCLUDE (frame.file)` names a column.
    fn with_wildcards(&self, projection: &mut Vec<SelectItem>) {
        let mut items = Vec::with_capacity(projection.len());
        for mut item in projection.drain(..) {
            match &mut item {
                SelectItem::Wildcard(options) => self.name_excluded(options),
                SelectItem::QualifiedWildcard(kind, options) => {
                    self.name_excluded(options);
                    if let SelectItemQualifiedWildcardKind::ObjectName(name) = kind
                        && let Some(columns) = self.begin_with(name)
                    {
                        let columns = columns.into_iter().map(SelectItem::UnnamedExpr);
                        items.extend(columns);
                        continue;
                    }
                }
                _ => {}
            }
            items.push(item);
        }
        *projection = items;
    }

    /// Refuses a value in the place of a column that FROM does not have: the planner passes over it.
    fn look_for_replaced(&mut self, select: &mut Select) {
        if let Err(name) = self.queries.replace(select, self.scope) {
            let message = format!("no column named {name} that REPLACE could replace");
            let error = Error::new(ErrorKind::Plan, message);
            self.refuse(error.with_hint("SELECT *, 1 AS a adds a column"));
        }
    }

    /// Puts meanings into the columns and the WHERE of a SELECT over tables whose columns are known, where the names that it gives to its
    /// columns are not known yet: `ts AS ts` is the time.
    fn with_own_names(&mut self, select: &mut Select) {
        let mut factors = select.from.iter().flat_map(|table| {
            let joined = table.joins.iter().map(|join| &join.relation);
            std::iter::once(&table.relation).chain(joined)
        });
        if select.from.is_empty() || !factors.all(|factor| self.is_known(factor)) {
            return;
        }
        let mut own = HashSet::new();
        let mut exprs = Vec::new();
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item {
                own.insert(alias.value.to_ascii_lowercase());
                exprs.push(expr);
            }
        }
        exprs.extend(&mut select.selection);
        for expr in exprs.into_iter().filter(|expr| !has_query(expr)) {
            std::mem::swap(&mut self.own, &mut own);
            let _ = walk_mut(expr, self);
            std::mem::swap(&mut self.own, &mut own);
        }
    }

    /// Whether the columns of a table are known, without those that the statement names.
    fn is_known(&self, factor: &TableFactor) -> bool {
        let TableFactor::Table { name, alias, .. } = factor else {
            return false;
        };
        let table = match alias {
            Some(alias) if !alias.columns.is_empty() => return false,
            Some(alias) => alias.name.value.to_ascii_lowercase(),
            None => name.to_string().to_ascii_lowercase(),
        };
        !matches!(self.scope.tables.get(&table), Some(None))
    }

    fn name_excluded(&self, options: &mut WildcardAdditionalOptions) {
        let names = match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => std::slice::from_mut(name),
            Some(ExcludeSelectItem::Multiple(names)) => names.as_mut_slice(),
            None => return,
        };
        for name in names {
            let parts: Vec<Ident> = name
                .0
                .iter()
                .filter_map(|part| part.as_ident().cloned())
                .collect();
            if let Some(column) = find(&parts, |name| self.scope.columns.contains(name)) {
                *name = ObjectName::from(vec![Ident::with_quote('"', column)]);
            }
        }
    }

    /// The columns whose names begin with these parts, which are no table.
    fn begin_with(&self, name: &ObjectName) -> Option<Vec<Expr>> {
        let parts: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        let (first, rest) = parts.split_first()?;
        let is_table = self
            .scope
            .tables
            .contains_key(&first.value.to_ascii_lowercase());
        let (table, parts) = match (is_table, rest.is_empty()) {
            (true, true) => return None,
            (true, false) => (Some((*first).clone()), rest),
            (false, _) => (None, parts.as_slice()),
        };
        let written: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
        let prefix = format!("{}.", written.join(".").to_ascii_lowercase());
        let meant = Meant {
            table,
            meaning: Meaning::Advice(""),
        };
        let columns = self
            .scope
            .ordered
            .iter()
            .filter(|column| column.starts_with(&prefix));
        let columns: Vec<Expr> = columns.map(|column| meant.column(column)).collect();
        (!columns.is_empty()).then_some(columns)
    }

    fn refuse(&mut self, error: Error) {
        self.refusal.get_or_insert(error);
    }
}

/// The condition of each side: all hold where it is a negation, and one of them otherwise.
fn each(sides: Vec<Expr>, is_negative: bool, of: &dyn Fn(Expr) -> Expr) -> Option<Expr> {
    let operator = match is_negative {
        true => BinaryOperator::And,
        false => BinaryOperator::Or,
    };
    joined(sides.into_iter().map(of), operator)
}

impl VisitorMut for Meanings<'_> {
    type Break = ();

    /// Columns that are selected by such a name are given by it.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.queries.add(query, self.scope);
        let mut body = Some(query.body.as_mut());
        while let Some(part) = body.take() {
            match part {
                SetExpr::Select(select) => {
                    self.with_wildcards(&mut select.projection);
                    for item in &mut select.projection {
                        // The name of the answer's column is the text of a difference.
                        if let SelectItem::ExprWithAlias { expr, alias } = item
                            && alias.value == expr.to_string()
                            && let Some(written) = hyphenated(expr)
                            && self.with_hyphens(expr)
                        {
                            *alias = Ident::with_quote('"', written);
                        }
                        if let SelectItem::UnnamedExpr(expr) = item
                            && let Some(meant) = self.meant(expr)
                            && meant.expr().is_some()
                        {
                            let written = match &meant.table {
                                Some(table) => {
                                    let written = expr.to_string();
                                    let rest = written.get(table.to_string().len() + 1..);
                                    rest.unwrap_or_default().to_owned()
                                }
                                None => expr.to_string(),
                            };
                            let alias = Ident::with_quote('"', written.replace('"', ""));
                            let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                            *item = SelectItem::ExprWithAlias { expr, alias };
                        }
                    }
                }
                SetExpr::SetOperation { left, .. } => body = Some(left.as_mut()),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.look_for_replaced(select);
        self.with_own_names(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        join_name(expr);
        self.with_hyphens(expr);
        // Both sides of a comparison may be such names.
        while let Some(apart) = self.taken_apart(expr) {
            *expr = Expr::Nested(Box::new(apart));
        }
        self.with_flags(expr);
        self.with_packet(expr);
        if let Expr::Identifier(_) | Expr::CompoundIdentifier(_) = expr
            && let Some(meant) = self.meant(expr).and_then(|meant| meant.expr())
        {
            *expr = meant;
        }
        ControlFlow::Continue(())
    }
}

/// Whether there is a query in an expression.
fn has_query(expr: &Expr) -> bool {
    struct Search;
    impl Visitor for Search {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    walk(expr, &mut Search).is_break()
}

/// `vlan.id[2]`: the parts of a name in front of a bracket are one name, not names by themselves.
fn join_name(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else {
        return;
    };
    let mut parts = match root.as_ref() {
        Expr::Identifier(ident) => vec![ident.clone()],
        Expr::CompoundIdentifier(parts) => parts.clone(),
        _ => return,
    };
    let is_part = |access: &AccessExpr| matches!(access, AccessExpr::Dot(Expr::Identifier(_)));
    let count = access_chain
        .iter()
        .take_while(|access| is_part(access))
        .count();
    for access in access_chain.drain(..count) {
        if let AccessExpr::Dot(Expr::Identifier(ident)) = access {
            parts.push(ident);
        }
    }
    let name = match <[Ident; 1]>::try_from(parts) {
        Ok([ident]) => Expr::Identifier(ident),
        Err(parts) => Expr::CompoundIdentifier(parts),
    };
    match access_chain.is_empty() {
        true => *expr = name,
        false => **root = name,
    }
}

/// A name with hyphens, of the differences that the parser made of it.
fn hyphenated(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(ident.value.clone()),
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            Some(parts.join("."))
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Minus,
            right,
        } => Some(format!("{}-{}", hyphenated(left)?, hyphenated(right)?)),
        // The parser holds names that end in `user` for functions that need no parentheses.
        Expr::Function(function) if function.args == FunctionArguments::None => {
            Some(function.name.to_string())
        }
        _ => None,
    }
}

/// Whether an operator needs all operands; `None` for one that is not a condition.
const fn negative(op: &BinaryOperator) -> Option<bool> {
    match op {
        BinaryOperator::Eq
        | BinaryOperator::Lt
        | BinaryOperator::LtEq
        | BinaryOperator::Gt
        | BinaryOperator::GtEq
        | BinaryOperator::PGRegexMatch
        | BinaryOperator::PGRegexIMatch => Some(false),
        BinaryOperator::NotEq
        | BinaryOperator::PGRegexNotMatch
        | BinaryOperator::PGRegexNotIMatch => Some(true),
        _ => None,
    }
}

/// Functions that are conditions.
const CONDITIONS: &[&str] = &[
    CIDR_MATCH,
    "contains",
    "ends_with",
    "is_multicast",
    "is_private",
    "regexp_like",
    "starts_with",
];

/// The column that a packet is known by.
const NUMBER: &str = "frame.number";

fn joined(parts: impl Iterator<Item = Expr>, op: BinaryOperator) -> Option<Expr> {
    parts.reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: op.clone(),
        right: Box::new(right),
    })
}

fn make_flag(expr: &mut Expr) {
    let flag = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) if number == "0" => false,
            Value::Number(number, _) if number == "1" => true,
            _ => return,
        },
        _ => return,
    };
    *expr = Expr::Value(Value::Boolean(flag).into());
}
