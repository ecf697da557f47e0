//! Forms of a statement that DataFusion does not plan, in the words of those that it does.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, AccessExpr, BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, NullTreatment,
    ObjectName, OrderByKind, Query, SelectItem, SetExpr, SetOperator, Subscript, TableAlias,
    TableFactor, UnaryOperator, Value, Visitor, WindowFrameBound, WindowType, With,
};

use crate::names::call;
use crate::walk::walk;

/// `string_agg(a, ',') OVER (… ROWS 2 PRECEDING)`: DataFusion's has no way to leave out what has left the frame, which
/// `array_agg` has; the elements of its list are put together then.
pub(crate) fn sliding_text(function: &Function) -> Option<Expr> {
    let is_text = function.name.to_string().eq_ignore_ascii_case("string_agg");
    let slides = match &function.over {
        // The definition of a name is elsewhere.
        Some(WindowType::NamedWindow(_)) => true,
        Some(WindowType::WindowSpec(spec)) => spec
            .window_frame
            .as_ref()
            .is_some_and(|frame| frame.start_bound != WindowFrameBound::Preceding(None)),
        None => false,
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let is_plain = list.duplicate_treatment.is_none() && list.clauses.is_empty();
    if !is_text || !slides || !is_plain {
        return None;
    }
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(text)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(delimiter)),
    ] = list.args.as_slice()
    else {
        return None;
    };
    let (text, delimiter) = (text.clone(), delimiter.clone());
    let text = cast(text, DataType::Varchar(None));
    let texts = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new("array_agg")]),
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(text))],
            clauses: Vec::new(),
        }),
        null_treatment: Some(NullTreatment::IgnoreNulls),
        ..function.clone()
    });
    Some(call("array_to_string", vec![texts, delimiter]))
}

/// `bool_or(a) OVER (…)`: DataFusion's has no way to leave out what has left the frame, which `max` has; and it turns frames around, so
/// that those without a moving start have one.
pub(crate) fn sliding_flag(function: &Function) -> Option<Expr> {
    let name = function.name.to_string().to_ascii_lowercase();
    let of_numbers = match name.as_str() {
        "bool_or" => "max",
        "bool_and" => "min",
        _ => return None,
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let is_plain = list.duplicate_treatment.is_none() && list.clauses.is_empty();
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(flag))] = list.args.as_slice() else {
        return None;
    };
    if function.over.is_none() || !is_plain {
        return None;
    }
    let number = cast(cast(flag.clone(), DataType::Boolean), DataType::Int(None));
    let numbers = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(of_numbers)]),
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(number))],
            clauses: Vec::new(),
        }),
        ..function.clone()
    });
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(numbers),
        op: BinaryOperator::Eq,
        right: Box::new(Expr::Value(Value::Number("1".to_owned(), false).into())),
    })))
}

/// `regr_r2(y, x)`: DataFusion's is NULL where all `y` are equal; PostgreSQL's and DuckDB's is 1 there, unless all `x` are equal, too.
pub(crate) fn determined(function: &Function) -> Option<Expr> {
    if !function.name.to_string().eq_ignore_ascii_case("regr_r2") {
        return None;
    }
    let of_x = || {
        Expr::Function(Function {
            name: ObjectName::from(vec![Ident::new("regr_sxx")]),
            ..function.clone()
        })
    };
    let zero = Expr::Value(Value::Number("0".to_owned(), false).into());
    let one = Expr::BinaryOp {
        left: Box::new(of_x()),
        op: BinaryOperator::Divide,
        right: Box::new(call("nullif", vec![of_x(), zero])),
    };
    let determined = Expr::Function(function.clone());
    Some(call("coalesce", vec![determined, one]))
}

/// `1234567890123456789012::decimal(38, 0)`: DataFusion makes a double of a number with a fraction, or of more than 19 digits, before
/// it casts it. A text is cast digit by digit.
pub(crate) fn exact_decimal(expr: &mut Expr) {
    if let Expr::Cast {
        expr: inner,
        data_type: DataType::Decimal(_) | DataType::Numeric(_) | DataType::Dec(_),
        ..
    } = expr
        && let Some(digits) = written_number(inner)
    {
        **inner = Expr::Value(Value::SingleQuotedString(digits).into());
    }
}

/// A number as it is written, with its sign and without an exponent; `None` for all else.
fn written_number(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => written_number(inner),
        Expr::UnaryOp { op, expr } => {
            let number = written_number(expr).filter(|number| !number.starts_with('-'))?;
            match op {
                UnaryOperator::Minus => Some(format!("-{number}")),
                UnaryOperator::Plus => Some(number),
                _ => None,
            }
        }
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
                .then(|| number.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// `(s).a`: a part of a struct that is no column by itself, which DataFusion has by the text of its name.
pub(crate) fn parts_by_name(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else {
        return;
    };
    // Names of columns have dots, too.
    if matches!(
        root.as_ref(),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_)
    ) {
        return;
    }
    for access in access_chain {
        if let AccessExpr::Dot(part) = access
            && let Expr::Identifier(ident) = &*part
        {
            let name = ident.value.clone();
            *part = Expr::Value(Value::SingleQuotedString(name).into());
        }
    }
}

/// `(-1, a)` and `(a + 1, b)`: DataFusion takes a name or a literal for the first value of a row that is written without ROW.
pub(crate) fn row(expr: &mut Expr) {
    if let Expr::Tuple(values) = expr
        && let Some(first) = values.first()
        && !matches!(
            first,
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)
        )
    {
        *expr = call("row", std::mem::take(values));
    }
}

/// `(a, b) = (c, d)`: DataFusion takes a NULL within a row for a value. By the standard rows are equal where all of their parts are, and
/// unequal where one is; otherwise the outcome is unknown.
pub(crate) fn equal_rows(expr: &mut Expr) {
    let Expr::BinaryOp { left, op, right } = expr else {
        return;
    };
    let together = match op {
        BinaryOperator::Eq => BinaryOperator::And,
        BinaryOperator::NotEq => BinaryOperator::Or,
        _ => return,
    };
    let op = op.clone();
    let (Some(lefts), Some(rights)) = (parts_of_row(left), parts_of_row(right)) else {
        return;
    };
    if lefts.len() != rights.len() || lefts.len() < 2 {
        return;
    }
    let part = |part: &mut Expr| {
        let part = std::mem::replace(part, Expr::Value(Value::Null.into()));
        match part {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => part,
            part => Expr::Nested(Box::new(part)),
        }
    };
    let pairs = lefts.into_iter().zip(rights);
    let pairs = pairs.map(|(left, right)| binary(part(left), &op, part(right)));
    if let Some(compared) = joined(pairs.collect(), &together) {
        *expr = Expr::Nested(Box::new(compared));
    }
}

/// The parts of a row, which is written with ROW or without.
fn parts_of_row(expr: &mut Expr) -> Option<Vec<&mut Expr>> {
    match expr {
        Expr::Tuple(parts) => Some(parts.iter_mut().collect()),
        Expr::Function(Function {
            name,
            args: FunctionArguments::List(list),
            ..
        }) if name.to_string().eq_ignore_ascii_case("row") => {
            let parts = list.args.iter_mut().map(|part| match part {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(part)) => Some(part),
                _ => None,
            });
            parts.collect()
        }
        _ => None,
    }
}

/// All of the conditions with the operator between them, in as few levels as there can be.
fn joined(mut conditions: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    while conditions.len() > 1 {
        let mut rest = conditions.into_iter();
        conditions = Vec::new();
        while let Some(left) = rest.next() {
            conditions.push(match rest.next() {
                Some(right) => binary(left, op, right),
                None => left,
            });
        }
    }
    conditions.pop()
}

fn binary(left: Expr, op: &BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: op.clone(),
        right: Box::new(right),
    }
}

/// `U&'\0041'` and `N'a'`: texts, whose escapes the parser has put in.
pub(crate) fn plain_text(expr: &mut Expr) {
    if let Expr::Value(value) = expr
        && let Value::UnicodeStringLiteral(text) | Value::NationalStringLiteral(text) =
            &mut value.value
    {
        let text = std::mem::take(text);
        value.value = Value::SingleQuotedString(text);
    }
}

/// `a[2:]` and `a[:2]`: DataFusion needs both ends of a part of a list. They count from 1 on, and -1 is the last element. `ip.src[:]` is
/// the name of a column.
pub(crate) fn with_both_ends(expr: &mut Expr) {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else {
        return;
    };
    let is_name = matches!(
        root.as_ref(),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_)
    );
    for access in access_chain {
        let AccessExpr::Subscript(Subscript::Slice {
            lower_bound,
            upper_bound,
            stride: None,
        }) = access
        else {
            continue;
        };
        if is_name && lower_bound.is_none() && upper_bound.is_none() {
            continue;
        }
        let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
        lower_bound.get_or_insert_with(one);
        upper_bound.get_or_insert_with(|| Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(one()),
        });
    }
}

/// `date_trunc('minutes', t)`: PostgreSQL and DuckDB know units of time by their plurals, too.
pub(crate) fn unit_of_time(function: &mut Function) {
    if function.name.to_string().eq_ignore_ascii_case("date_trunc")
        && let FunctionArguments::List(list) = &mut function.args
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))) =
            list.args.first_mut()
        && let Value::SingleQuotedString(unit) = &mut value.value
        && let Some(one) = unit.to_ascii_lowercase().strip_suffix('s')
        && UNITS_OF_TIME.contains(&one)
    {
        unit.pop();
    }
}

const UNITS_OF_TIME: &[&str] = &[
    "microsecond",
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
];

/// Functions of PostgreSQL and DuckDB that DataFusion has by other names: its `array_remove` removes the first of equal elements only.
const OTHERWISE_NAMED: &[(&str, &str)] = &[
    ("array_remove", "array_remove_all"),
    ("array_replace", "array_replace_all"),
    ("ceiling", "ceil"),
    ("every", "bool_and"),
    ("sign", "signum"),
    ("variance", "var_samp"),
];

/// `encode(a, 'base64')`: DataFusion's leaves out the padding that RFC 4648 (section 3.2) wants, and has it by another name.
pub(crate) fn pad(function: &mut Function) {
    let is_encode = function.name.to_string().eq_ignore_ascii_case("encode");
    if let FunctionArguments::List(list) = &mut function.args
        && let [
            _,
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(encoding))),
        ] = list.args.as_mut_slice()
        && let Value::SingleQuotedString(encoding) = &mut encoding.value
        && is_encode
        && encoding.eq_ignore_ascii_case("base64")
    {
        "base64pad".clone_into(encoding);
    }
}

/// `mod(a, b)`: `a % b`.
pub(crate) fn remainder(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let is_plain = list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && function.over.is_none()
        && function.filter.is_none();
    if !is_plain || !function.name.to_string().eq_ignore_ascii_case("mod") {
        return None;
    }
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(left)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(right)),
    ] = list.args.as_slice()
    else {
        return None;
    };
    let nested = |expr: Expr| Box::new(Expr::Nested(Box::new(expr)));
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: nested(left.clone()),
        op: BinaryOperator::Modulo,
        right: nested(right.clone()),
    })))
}

/// Puts the names that functions have in DataFusion in the places of those of PostgreSQL and DuckDB, and the order of NULLs in lists
/// that these sort: behind all else, but for `DESC`.
pub(crate) fn rename(function: &mut Function) {
    let written = function.name.to_string().to_ascii_lowercase();
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    if let Some((_, name)) = OTHERWISE_NAMED.iter().find(|(name, _)| *name == written) {
        let is_null = |arg: &FunctionArg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => {
                value.value == Value::Null
            }
            _ => false,
        };
        let removes_null = written == "array_remove" && list.args.get(1).is_some_and(is_null);
        if removes_null {
            list.args.truncate(1);
        }
        let name = match removes_null {
            true => "array_compact",
            false => *name,
        };
        function.name = ObjectName::from(vec![Ident::new(name)]);
        return;
    }
    let is_ascending = match list.args.get(1) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))) => {
            matches!(&value.value, Value::SingleQuotedString(order) if order.eq_ignore_ascii_case("asc"))
        }
        Some(_) => false,
        None => true,
    };
    if matches!(written.as_str(), "array_sort" | "list_sort")
        && matches!(list.args.len(), 1 | 2)
        && is_ascending
    {
        list.args.truncate(1);
        for word in ["ASC", "NULLS LAST"] {
            let word = Expr::Value(Value::SingleQuotedString(word.to_owned()).into());
            list.args
                .push(FunctionArg::Unnamed(FunctionArgExpr::Expr(word)));
        }
    }
}

/// `GROUP BY ()` is one group of all rows, also of none, which DataFusion has as a set of groups only. Beside others it adds nothing. The
/// keys in `GROUP BY (a, b)` are keys as without parentheses.
pub(crate) fn group_all(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
                let is_written = !exprs.is_empty();
                exprs.retain(|expr| !matches!(expr, Expr::Tuple(parts) if parts.is_empty()));
                if is_written && exprs.is_empty() {
                    exprs.push(Expr::GroupingSets(vec![Vec::new()]));
                }
                let keys = std::mem::take(exprs).into_iter();
                *exprs = keys
                    .flat_map(|key| match key {
                        Expr::Tuple(parts) => parts,
                        key => vec![spelled_out(&key).unwrap_or(key)],
                    })
                    .collect();
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            group_all(left);
            group_all(right);
        }
        _ => {}
    }
}

/// `ROLLUP (a, a)` and `CUBE (a, a)`: the sets that they stand for, each with a column once, which DataFusion requires; `None` where no
/// column repeats, or there are many.
fn spelled_out(key: &Expr) -> Option<Expr> {
    let (Expr::Rollup(parts) | Expr::Cube(parts)) = key else {
        return None;
    };
    let mut seen = HashSet::new();
    let is_repeated = !parts.iter().flatten().all(|column| seen.insert(column));
    let columns = parts.iter().map(Vec::len).fold(0, usize::saturating_add);
    if !is_repeated || parts.len().max(columns) > SPELLED_OUT_MAX {
        return None;
    }
    let all = (1_u32 << parts.len()) - 1;
    let is_rollup = matches!(key, Expr::Rollup(_));
    // A set of ROLLUP has the first parts, which are the lowest bits.
    let masks = (0..=all).filter(|mask| !is_rollup || (mask & (mask + 1)) == 0);
    let sets = masks.map(|mask| {
        let mut set: Vec<Expr> = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            if mask & (1 << place) != 0 {
                let new = part.iter().filter(|column| !set.contains(column));
                let new: Vec<Expr> = new.cloned().collect();
                set.extend(new);
            }
        }
        set
    });
    Some(Expr::GroupingSets(sets.collect()))
}

/// The number of columns in ROLLUP or CUBE whose sets are spelled out, at most.
const SPELLED_OUT_MAX: usize = 8;

/// `first_value(lower(a) IGNORE NULLS)`: the parser gives the words to the function in front of them, and not to the one whose argument
/// that is.
pub(crate) fn nulls_of_argument(function: &mut Function) {
    let name = function.name.to_string().to_ascii_lowercase();
    if function.null_treatment.is_some() || !CHOOSING.contains(&name.as_str()) {
        return;
    }
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(argument)))) =
            list.args.last_mut()
        && argument.over.is_none()
    {
        function.null_treatment = argument.null_treatment.take();
    }
}

/// Functions that choose one of the rows, of which NULL may be one.
pub(crate) const CHOOSING: &[&str] = &[
    "first_value",
    "last_value",
    "nth_value",
    "lag",
    "lead",
    "array_agg",
];

/// `CAST(expr AS data_type)`.
pub(crate) fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type,
        array: false,
        format: None,
    }
}

/// True for what a sign in front of it needs the type of: no literal, which the sign is a part of.
pub(crate) fn has_sign_of_its_own(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Function(_) => true,
        Expr::Nested(inner) => match inner.as_ref() {
            Expr::BinaryOp { .. } => true,
            inner => has_sign_of_its_own(inner),
        },
        _ => false,
    }
}

/// Names that a query gives the columns of queries in its WITH. Those of a recursive one are needed where its own columns repeat.
pub(crate) fn name_columns_of_with(query: &mut Query) {
    let Some(With {
        recursive,
        cte_tables,
        ..
    }) = &mut query.with
    else {
        return;
    };
    for cte in cte_tables {
        let mut names = names_of(&cte.alias);
        if names.is_empty() && *recursive {
            names = own_names(&cte.query.body);
        }
        name_repeated(&mut cte.query.body, &names);
    }
}

/// `SELECT -a AS a … ORDER BY -a`: an expression that stands in the SELECT list, too, is that column. The planner would take the name
/// within it for the column of the answer.
pub(crate) fn order_by_listed(query: &mut Query) {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &mut query.order_by)
    else {
        return;
    };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else {
        return;
    };
    for key in keys {
        let listed = select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if *expr == key.expr => Some(alias),
            _ => None,
        });
        if let Some(alias) = listed
            && mentions(&key.expr, alias)
        {
            key.expr = Expr::Identifier(alias.clone());
        }
    }
}

/// Whether a name stands in an expression.
pub(crate) fn mentions(expr: &Expr, name: &Ident) -> bool {
    struct Mentions<'n>(&'n Ident, bool);
    impl Visitor for Mentions<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.1 |= matches!(expr, Expr::Identifier(it) if it.value.eq_ignore_ascii_case(&self.0.value));
            ControlFlow::Continue(())
        }
    }
    let mut mentions = Mentions(name, false);
    let _: ControlFlow<()> = walk(expr, &mut mentions);
    mentions.1
}

/// Puts a function around the casts in the second SELECT of recursive queries: the planner adds casts of its own there, which are checked
/// (`weir_functions::recursion`).
pub(crate) fn mark_casts_of_recursive(query: &mut Query) {
    let Some(With {
        recursive: true,
        cte_tables,
        ..
    }) = &mut query.with
    else {
        return;
    };
    for cte in cte_tables {
        if let SetExpr::SetOperation {
            op: SetOperator::Union,
            right,
            ..
        } = cte.query.body.as_mut()
        {
            mark_casts(right);
        }
    }
}

fn mark_casts(body: &mut SetExpr) {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::Query(query) => return mark_casts(&mut query.body),
        _ => return,
    };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
            && is_cast(expr)
        {
            let cast = std::mem::replace(expr, Expr::Value(Value::Null.into()));
            *expr = call("coalesce", vec![cast]);
        }
    }
}

fn is_cast(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_cast(inner),
        expr => matches!(expr, Expr::Cast { .. }),
    }
}

/// Names that stand behind a query in FROM.
pub(crate) fn name_columns_of_factor(factor: &mut TableFactor) {
    if let TableFactor::Derived {
        subquery,
        alias: Some(alias),
        ..
    } = factor
    {
        let names = names_of(alias);
        name_repeated(&mut subquery.body, &names);
    }
}

/// Names that stand in front of the query of a view.
pub(crate) fn name_columns_of_view(statement: &mut ast::Statement) {
    if let ast::Statement::CreateView(view) = statement {
        let names: Vec<Ident> = view.columns.iter().map(|it| it.name.clone()).collect();
        name_repeated(&mut view.query.body, &names);
    }
}

fn names_of(alias: &TableAlias) -> Vec<Ident> {
    alias.columns.iter().map(|it| it.name.clone()).collect()
}

/// The names that the first SELECT of a query gives; empty where it does not name all.
fn own_names(body: &SetExpr) -> Vec<Ident> {
    match body {
        SetExpr::Select(select) => {
            let names = select.projection.iter().map(|item| match item {
                SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.clone()),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().cloned(),
                _ => None,
            });
            names.collect::<Option<_>>().unwrap_or_default()
        }
        SetExpr::Query(query) => own_names(&query.body),
        SetExpr::SetOperation { left, .. } => own_names(left),
        _ => Vec::new(),
    }
}

/// Names repeated columns early: DataFusion requires distinct names in a SELECT before it applies those of the statement: `t(a,
/// b) AS (SELECT 1, 1)`.
fn name_repeated(body: &mut SetExpr, names: &[Ident]) {
    match body {
        SetExpr::Select(select) if select.projection.len() == names.len() => {
            let mut seen = HashSet::new();
            for (item, name) in select.projection.iter_mut().zip(names) {
                let SelectItem::UnnamedExpr(expr) = item else {
                    continue;
                };
                if !seen.insert(expr.to_string()) {
                    let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                    let alias = name.clone();
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
        }
        SetExpr::Query(query) => name_repeated(&mut query.body, names),
        SetExpr::SetOperation { left, right, .. } => {
            name_repeated(left, names);
            name_repeated(right, names);
        }
        _ => {}
    }
}

/// DataFusion requires that each column of a SELECT has a name of its own; PostgreSQL and DuckDB don't. A column whose
/// name was there before has a number behind it, as DuckDB's have where a table is made of them: `count(*)` and
/// `count(*)_1`. Columns of `*` are not known here.
pub(crate) fn number_repeated(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            let names: Vec<Option<String>> = select.projection.iter().map(name_of).collect();
            let mut taken: HashSet<String> = names.iter().flatten().cloned().collect();
            // The last number behind each name. What is taken stays taken, so that a search goes on where the one before it ended.
            let mut numbers: HashMap<String, u64> = HashMap::new();
            for (item, name) in select.projection.iter_mut().zip(names) {
                let Some(name) = name else { continue };
                let Some(number) = numbers.get_mut(&name) else {
                    numbers.insert(name, 0);
                    continue;
                };
                let free = loop {
                    *number = number.saturating_add(1);
                    let numbered = format!("{name}_{number}");
                    if taken.insert(numbered.clone()) {
                        break numbered;
                    }
                };
                let alias = Ident::with_quote('"', free);
                let none = Expr::Value(Value::Null.into());
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                {
                    let expr = std::mem::replace(expr, none);
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
        }
        // A query in parentheses is visited by itself.
        SetExpr::SetOperation { left, right, .. } => {
            number_repeated(left);
            number_repeated(right);
        }
        _ => {}
    }
}

/// The name that a column of a SELECT has, in lower case where case does not count.
fn name_of(item: &SelectItem) -> Option<String> {
    let folded = |name: &Ident| match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(folded(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            Some(parts.iter().map(folded).collect::<Vec<_>>().join("."))
        }
        SelectItem::UnnamedExpr(expr) => Some(expr.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn numbered(sql: &str) -> String {
        let mut parsed = Parser::parse_sql(&GenericDialect {}, sql).unwrap();
        let Some(ast::Statement::Query(query)) = parsed.first_mut() else {
            panic!("{sql}");
        };
        number_repeated(&mut query.body);
        query.to_string()
    }

    #[test]
    fn repeated_columns_get_the_next_free_number() {
        assert_eq!(
            numbered("SELECT a, a, a_1, A, b, b, \"A\", a_1"),
            r#"SELECT a, a AS "a_2", a_1, A AS "a_3", b, b AS "b_1", "A", a_1 AS "a_1_1""#
        );
    }

    /// Each column began to count anew: a text of 64 KB took a minute of the thread that answers others.
    #[test]
    fn many_repeated_columns_take_no_longer_than_others() {
        let begun = Instant::now();
        let text = numbered(&format!("SELECT {}1", "1, ".repeat(30_000)));
        assert!(text.ends_with(r#", 1 AS "1_30000""#));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
