//! Types, operators, functions and columns as PostgreSQL spells them.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Array, ArrayElemTypeDef, BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    Query, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::names::{asks_catalog, is_schema};
use super::tree::{argument, call, called, null, number, plain_parts, text, text_of};
use crate::catalog::function;
use crate::catalog::identifier::name_parts;

/// Rewrites expressions of statements that ask the catalog.
#[derive(Default)]
pub(super) struct Expressions {
    is_inside: bool,
    asks_catalog: bool,
}

impl VisitorMut for Expressions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if !std::mem::replace(&mut self.is_inside, true) {
            self.asks_catalog = asks_catalog(query);
        }
        match self.asks_catalog {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(instead) = instead(expr) {
            *expr = instead;
        }
        ControlFlow::Continue(())
    }
}

fn instead(expr: &mut Expr) -> Option<Expr> {
    match expr {
        // All text is ordered by its bytes here.
        Expr::Collate { expr, .. } => Some(*expr.clone()),
        Expr::Identifier(ident) => of_row(ident),
        Expr::CompoundIdentifier(parts) => {
            if let Some(known) = of_row(parts.last()?) {
                return Some(known);
            }
            let (first, rest) = parts.split_first()?;
            let is_qualified = rest.len() > 1 && is_schema(&first.value.to_ascii_lowercase());
            is_qualified.then(|| Expr::CompoundIdentifier(rest.to_vec()))
        }
        Expr::BinaryOp { left, op, right } => {
            if let Some(known) = plain_operator(op) {
                *op = known;
            }
            if *op == BinaryOperator::Divide && is_whole(left) && is_whole(right) {
                // Whole numbers have whole quotients.
                return Some(call("div", vec![*left.clone(), *right.clone()]));
            }
            compared(left, op, right);
            None
        }
        Expr::AnyOp {
            compare_op, right, ..
        }
        | Expr::AllOp {
            compare_op, right, ..
        } => {
            if let Some(known) = plain_operator(compare_op) {
                *compare_op = known;
            }
            if let Some(list) = text_of(right).and_then(list_of) {
                **right = list;
            }
            None
        }
        Expr::Like {
            pattern,
            escape_char,
            ..
        }
        | Expr::ILike {
            pattern,
            escape_char,
            ..
        } => {
            // DataFusion knows the backslash alone.
            let escape = escape_char.take_if(|escape| {
                matches!(&escape.value, Value::SingleQuotedString(letter) if letter != "\\")
            })?;
            let arguments = vec![*pattern.clone(), Expr::Value(escape)];
            **pattern = call("like_pattern", arguments);
            None
        }
        Expr::InList { expr, list, .. } => {
            by_number(expr);
            list.iter_mut().for_each(by_number);
            None
        }
        Expr::Cast {
            expr, data_type, ..
        } => of_cast(expr, data_type),
        Expr::Function(function) => of_function(function),
        _ => None,
    }
}

/// A call without the schema of the catalog, with arguments where PostgreSQL needs none, or what stands for a function that
/// DataFusion does not have.
fn of_function(function: &mut Function) -> Option<Expr> {
    let mut parts = plain_parts(&function.name)?;
    let name = parts.pop()?;
    if let FunctionArguments::List(list) = &mut function.args {
        list.args.iter_mut().for_each(|argument| {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument {
                by_number(expr);
            }
        });
    }
    match name.as_str() {
        "array_lower" | "array_upper" => return array_bound(&name, &function.args),
        "current_catalog" => return Some(call("current_database", Vec::new())),
        _ => {}
    }
    if parts.last().is_some_and(|schema| is_schema(schema)) {
        function.name = ObjectName::from(vec![Ident::new(name.as_str())]);
    }
    if function.args == FunctionArguments::None && function::is_known(&name) {
        function.args = FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: Vec::new(),
            clauses: Vec::new(),
        });
    }
    None
}

/// The first or the last index of a list.
fn array_bound(name: &str, arguments: &FunctionArguments) -> Option<Expr> {
    let FunctionArguments::List(list) = arguments else {
        return None;
    };
    let FunctionArg::Unnamed(list) = list.args.first()? else {
        return None;
    };
    let upper = length(list.clone());
    Some(match name {
        "array_upper" => upper,
        // Lists begin with 1, and those without elements nowhere.
        _ => Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen {
                condition: Expr::BinaryOp {
                    left: Box::new(upper),
                    op: BinaryOperator::Gt,
                    right: Box::new(number(0)),
                },
                result: number(1),
            }],
            else_result: None,
        },
    })
}

/// The value of a system column of a row of PostgreSQL.
fn of_row(ident: &Ident) -> Option<Expr> {
    match (ident.value.to_ascii_lowercase().as_str(), ident.quote_style) {
        ("xmin" | "xmax" | "tableoid", _) => Some(number(0)),
        ("ctid", _) => Some(text("(0,0)")),
        ("current_schema", None) => Some(call("current_schema", Vec::new())),
        _ => None,
    }
}

/// An operator that is named with its schema.
fn plain_operator(op: &BinaryOperator) -> Option<BinaryOperator> {
    let BinaryOperator::PGCustomBinaryOperator(parts) = op else {
        return None;
    };
    Some(match parts.last()?.as_str() {
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "||" => BinaryOperator::StringConcat,
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    })
}

/// Operands of an operator: things are compared by their numbers, functions by their names, and lists with lists.
fn compared(left: &mut Expr, op: &mut BinaryOperator, right: &mut Expr) {
    match op {
        BinaryOperator::Eq
        | BinaryOperator::NotEq
        | BinaryOperator::Lt
        | BinaryOperator::LtEq
        | BinaryOperator::Gt
        | BinaryOperator::GtEq => {
            by_number(left);
            by_number(right);
            fit(right, &left.clone());
            fit(left, &right.clone());
        }
        _ => {}
    }
}

/// Makes what a column is compared with a value as the column has it: the name of a function, or a list.
fn fit(value: &mut Expr, column: &Expr) {
    if is_function_column(column) {
        if is_zero(value) {
            *value = text("-");
        } else if let Some(name) = name_of_function(value) {
            *value = name;
        }
    }
    if matches!(column, Expr::CompoundIdentifier(_) | Expr::Identifier(_))
        && let Some(list) = text_of(value).filter(|text| text.starts_with('{'))
        && let Some(list) = list_of(list)
    {
        *value = list;
    }
}

fn is_whole(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { data_type, .. } => matches!(
            data_type,
            DataType::Int(_)
                | DataType::Integer(_)
                | DataType::BigInt(_)
                | DataType::SmallInt(_)
                | DataType::Int2(_)
                | DataType::Int4(_)
                | DataType::Int8(_)
        ),
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, _) if digits.bytes().all(|byte| byte.is_ascii_digit()))
        }
        Expr::Nested(inner) => is_whole(inner),
        _ => false,
    }
}

fn is_zero(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(&value.value, Value::Number(digits, _) if digits == "0"))
}

/// Whether an expression is a column that has a function, which has its name here, and `-` where there is none.
fn is_function_column(expr: &Expr) -> bool {
    let last = match expr {
        Expr::Identifier(ident) => ident,
        Expr::CompoundIdentifier(parts) => match parts.last() {
            Some(last) => last,
            None => return false,
        },
        _ => return false,
    };
    let name = last.value.to_ascii_lowercase();
    let columns = [
        "typinput",
        "typoutput",
        "typreceive",
        "typsend",
        "typmodin",
        "typmodout",
        "typanalyze",
        "typsubscript",
        "amhandler",
    ];
    columns.contains(&name.as_str())
}

/// The name of a function in the place of its number, which is `oid` of `pg_proc`.
fn name_of_function(number: &Expr) -> Option<Expr> {
    let Expr::CompoundIdentifier(parts) = number else {
        return None;
    };
    let (last, before) = parts.split_last()?;
    if !last.value.eq_ignore_ascii_case("oid") {
        return None;
    }
    let mut parts = before.to_vec();
    parts.push(Ident::new("proname"));
    Some(Expr::CompoundIdentifier(parts))
}

/// The number in the place of the name that a cast has made of it.
fn by_number(expr: &mut Expr) {
    if called(expr).is_some_and(|name| {
        name.starts_with("reg") && name.ends_with("_name") && name != "regproc_name"
    }) && let Some(number) = argument(expr)
    {
        *expr = number.clone();
    }
}

/// The expression that replaces a cast, whose type may be renamed.
fn of_cast(expr: &mut Box<Expr>, data_type: &mut DataType) -> Option<Expr> {
    let name = type_name(data_type);
    match name.as_str() {
        "regclass" | "regtype" | "regnamespace" | "regrole" => {
            let is_name = matches!(&**expr, Expr::Value(value)
                if matches!(value.value, Value::SingleQuotedString(_) | Value::Placeholder(_)))
                || matches!(&**expr, Expr::Cast { data_type, .. } if type_name(data_type) == "text")
                || called(expr).is_some_and(|name| USERS.contains(&name.as_str()));
            let is_named = called(expr).is_some_and(|name| name.starts_with("reg"));
            return Some(match (is_name, is_named) {
                (true, _) => call(&format!("{name}_oid"), vec![*expr.clone()]),
                (false, true) => *expr.clone(),
                (false, false) => call(&format!("{name}_name"), vec![*expr.clone()]),
            });
        }
        "regproc" | "regprocedure" | "regoper" | "regoperator" => {
            return Some(call("regproc_name", vec![*expr.clone()]));
        }
        "oid" | "int8" | "bigint" | "int4" | "integer" | "int" => {
            if called(expr).as_deref() == Some("regproc_name")
                && let Some(name) = argument(expr)
            {
                return Some(call("regproc_oid", vec![name.clone()]));
            }
            by_number(expr);
        }
        _ => {}
    }
    if TEXTS.contains(&name.as_str()) {
        // A thing becomes its name.
        let of = called(expr).unwrap_or_default();
        if let Some(kind) = of
            .strip_suffix("_oid")
            .filter(|kind| kind.starts_with("reg"))
        {
            return Some(call(&format!("{kind}_name"), vec![*expr.clone()]));
        }
        if of.starts_with("reg") && of.ends_with("_name") {
            return Some(*expr.clone());
        }
    }
    if let Some(element) = name.strip_suffix("[]") {
        let element = plain_type(element)?;
        *data_type = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), None));
        if let Some(list) = text_of(expr).and_then(list_of) {
            **expr = list;
        }
        return None;
    }
    let is_qualified = matches!(data_type, DataType::Custom(..));
    if is_qualified && let Some(known) = plain_type(&name) {
        *data_type = known;
    }
    None
}

/// The name of a type without its schema, in lower case.
fn type_name(data_type: &DataType) -> String {
    let name = data_type.to_string();
    let parts = name_parts(&name).unwrap_or_default();
    match parts.as_slice() {
        [_, last] => last.to_ascii_lowercase(),
        _ => name.replace('"', "").to_ascii_lowercase(),
    }
}

/// Functions whose value is the name of a role.
const USERS: &[&str] = &["current_role", "current_user", "session_user", "user"];

/// Types whose values are texts here.
const TEXTS: &[&str] = &[
    "aclitem",
    "character_data",
    "cstring",
    "name",
    "pg_lsn",
    "pg_node_tree",
    "sql_identifier",
    "text",
    "unknown",
    "varchar",
    "yes_or_no",
    "char",
];

/// The type that stands for one of PostgreSQL's.
fn plain_type(name: &str) -> Option<DataType> {
    Some(match name {
        name if TEXTS.contains(&name) => DataType::Text,
        "oid" | "xid" | "cid" | "regclass" | "regtype" | "regnamespace" | "regrole" => {
            DataType::BigInt(None)
        }
        "cardinal_number" => DataType::Int(None),
        "int2vector" | "oidvector" => DataType::Array(ArrayElemTypeDef::SquareBracket(
            Box::new(DataType::BigInt(None)),
            None,
        )),
        name => {
            let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(name);
            match parser
                .and_then(|mut parser| parser.parse_data_type())
                .ok()?
            {
                DataType::Custom(..) => return None,
                known => known,
            }
        }
    })
}

/// The number of elements of a list.
pub(super) fn length(list: FunctionArgExpr) -> Expr {
    let length = match list {
        FunctionArgExpr::Expr(list) => call("array_length", vec![list]),
        _ => null(),
    };
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(length),
        data_type: DataType::BigInt(None),
        array: false,
        format: None,
    }
}

/// A list that is written as text: `{r,v}`; numbers are numbers.
fn list_of(text_of_list: &str) -> Option<Expr> {
    let inner = text_of_list.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut elements = Vec::new();
    let mut rest = inner.trim();
    while !rest.is_empty() {
        let (element, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (element, behind) = quoted.split_once('"')?;
                (element, behind.trim_start())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (element, behind) = rest.split_at_checked(end)?;
                (element.trim(), behind)
            }
        };
        elements.push(element.to_owned());
        rest = match behind.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if behind.is_empty() => "",
            None => return None,
        };
    }
    let numbers: Option<Vec<Expr>> = elements
        .iter()
        .map(|element| element.parse().ok().map(number))
        .collect();
    let elem = match numbers {
        Some(numbers) => numbers,
        None => elements.iter().map(|element| text(element)).collect(),
    };
    Some(Expr::Array(Array { elem, named: true }))
}
