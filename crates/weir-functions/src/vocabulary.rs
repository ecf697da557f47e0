//! Closed vocabularies in plans: what they are compared with means the word that the column has.
//!
//! [`Words`] is a pass over every plan, as the one for addresses is. A literal is replaced by the word, or noted when
//! the column can never have it; other texts are read for each row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Alias, InList, InSubquery, Like};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, JoinConstraint, LogicalPlan,
    LogicalPlanBuilder, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use weir_tables::Vocabulary;

use crate::pass::{Inputs, Pass};
use crate::similar::similar;

/// Makes comparisons of words compare their meanings, and notes words that a column never has.
pub struct Words<'n> {
    /// The callback for the note about such a word.
    pub note: &'n dyn Fn(String),
}

impl Pass for Words<'_> {
    fn node(&self, plan: LogicalPlan, _inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
        Ok(coerce_keys(plan))
    }

    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        if !inputs.has_words() {
            return Ok(Transformed::no(expr));
        }
        let scope = WordScope {
            schema: inputs.all(),
            note: self.note,
        };
        scope.coerce(expr)
    }
}

/// The keys of USING and NATURAL joins.
fn coerce_keys(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    let LogicalPlan::Join(mut join) = plan else {
        return Transformed::no(plan);
    };
    let mut changed = false;
    for (key, other) in &mut join.on {
        let left = vocabulary(key, join.left.schema());
        let right = vocabulary(other, join.right.schema());
        match (left, right) {
            (Some(left), None) if is_text(other, join.right.schema()) => {
                *other = word_of(left, other.clone());
                changed = true;
            }
            (None, Some(right)) if is_text(key, join.left.schema()) => {
                *key = word_of(right, key.clone());
                changed = true;
            }
            _ => {}
        }
    }
    if changed {
        // USING is for columns; which of both is shown has been decided already.
        join.join_constraint = JoinConstraint::On;
    }
    match changed {
        true => Transformed::yes(LogicalPlan::Join(join)),
        false => Transformed::no(LogicalPlan::Join(join)),
    }
}

/// The vocabulary of the column that an expression is.
fn vocabulary(expr: &Expr, schema: &DFSchema) -> Option<&'static Vocabulary> {
    match expr {
        Expr::Column(column) => {
            let index = schema.maybe_index_of_column(column)?;
            Vocabulary::of_field(schema.field(index))
        }
        Expr::OuterReferenceColumn(field, _) => Vocabulary::of_field(field),
        Expr::Alias(Alias { expr, .. }) => vocabulary(expr, schema),
        _ => None,
    }
}

fn is_text(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|kind| kind.is_string())
}

struct WordScope<'s> {
    schema: &'s DFSchema,
    note: &'s dyn Fn(String),
}

impl WordScope<'_> {
    fn coerce(&self, expr: Expr) -> Result<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_equality(op) => {
                let sides = (self.of(&left), self.of(&right));
                let (left, right) = match sides {
                    (Some(known), None) => (left, Box::new(self.as_word(known, *right))),
                    (None, Some(known)) => (Box::new(self.as_word(known, *left)), right),
                    _ => {
                        let unchanged = Expr::BinaryExpr(BinaryExpr { left, op, right });
                        return Ok(Transformed::no(unchanged));
                    }
                };
                Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
                    left,
                    op,
                    right,
                })))
            }
            Expr::InList(list) => match self.of(&list.expr) {
                Some(known) => {
                    let items = list.list.into_iter();
                    let items = items.map(|item| self.as_word(known, item)).collect();
                    Ok(Transformed::yes(Expr::InList(InList {
                        list: items,
                        ..list
                    })))
                }
                None => Ok(Transformed::no(Expr::InList(list))),
            },
            Expr::Like(like) => match self.of(&like.expr) {
                Some(known) => Ok(Transformed::yes(Expr::Like(pattern_of(known, like)))),
                None => Ok(Transformed::no(Expr::Like(like))),
            },
            Expr::Case(mut case) => {
                let known = case.expr.as_ref().and_then(|expr| self.of(expr));
                let Some(known) = known else {
                    return Ok(Transformed::no(Expr::Case(case)));
                };
                for (when, _) in &mut case.when_then_expr {
                    **when = self.as_word(known, when.as_ref().clone());
                }
                Ok(Transformed::yes(Expr::Case(case)))
            }
            Expr::InSubquery(within) => match self.of(&within.expr) {
                Some(known) => {
                    let subquery = within.subquery;
                    let plan = words_of(known, subquery.subquery.as_ref())?;
                    Ok(Transformed::yes(Expr::InSubquery(InSubquery {
                        subquery: subquery.with_plan(Arc::new(plan)),
                        ..within
                    })))
                }
                None => Ok(Transformed::no(Expr::InSubquery(within))),
            },
            expr => Ok(Transformed::no(expr)),
        }
    }

    fn of(&self, expr: &Expr) -> Option<&'static Vocabulary> {
        vocabulary(expr, self.schema)
    }

    /// The value that a word is compared with.
    fn as_word(&self, known: &'static Vocabulary, expr: Expr) -> Expr {
        let Expr::Literal(value, _) = &expr else {
            return match self.of(&expr).is_none() && is_text(&expr, self.schema) {
                true => word_of(known, expr),
                false => expr,
            };
        };
        let text = match value {
            ScalarValue::Int64(Some(number)) => number.to_string(),
            value => match value.try_as_str() {
                Some(Some(text)) => text.to_owned(),
                _ => return expr,
            },
        };
        match known.word(&text) {
            Some(word) => Expr::Literal(ScalarValue::Utf8View(Some(word.into_owned())), None),
            None => {
                (self.note)(never(known, &text));
                Expr::Literal(ScalarValue::Utf8View(Some(text)), None)
            }
        }
    }
}

/// A pattern in the case of the words that it is held against.
fn pattern_of(known: &Vocabulary, like: Like) -> Like {
    let pattern = match like.pattern.as_ref() {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    };
    match pattern.and_then(|text| known.pattern(text)) {
        Some(pattern) => Like {
            pattern: Box::new(Expr::Literal(ScalarValue::Utf8View(Some(pattern)), None)),
            ..like
        },
        None => Like {
            case_insensitive: true,
            ..like
        },
    }
}

/// The note that a column never has a text, with the nearest word that it has.
fn never(known: &Vocabulary, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let near = similar(&lower, known.names());
    let column = known.column;
    match near.as_slice() {
        [] if (1..=WORDS_LISTED).contains(&known.words().len()) => {
            format!(
                "{column} is never '{text}': it is {}",
                known.words().join(", ")
            )
        }
        [] => format!("{column} is never '{text}': weir fields {column} lists its values"),
        near => format!(
            "{column} is never '{text}': did you mean {}?",
            near.join(", ")
        ),
    }
}

/// The rows of a subquery of one column, with words in the place of texts.
fn words_of(known: &'static Vocabulary, plan: &LogicalPlan) -> Result<LogicalPlan> {
    let Some((relation, field)) = plan.schema().iter().next() else {
        return Ok(plan.clone());
    };
    if !field.data_type().is_string() || Vocabulary::of_field(field).is_some() {
        return Ok(plan.clone());
    }
    let text = Expr::Column(Column::new(relation.cloned(), field.name()));
    let word = word_of(known, text).alias(field.name());
    LogicalPlanBuilder::from(plan.clone())
        .project([word])?
        .build()
}

const fn is_equality(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq | Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom
    )
}

/// The word that a text means, or the text itself.
fn word_of(known: &'static Vocabulary, text: Expr) -> Expr {
    ScalarUDF::from(WordOf {
        column: known.column,
        signature: Signature::any(1, Volatility::Immutable),
    })
    .call(vec![text])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WordOf {
    column: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for WordOf {
    fn name(&self) -> &'static str {
        "word"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (Some(known), [texts]) = (Vocabulary::of(self.column), arrays.as_slice()) else {
            return exec_err!("the function takes one text");
        };
        let texts = cast(texts, &DataType::Utf8View)?;
        let texts = texts.as_string_view();
        let mut words = StringViewBuilder::with_capacity(texts.len());
        for text in texts {
            match text {
                Some(text) => match known.word(text) {
                    Some(word) => words.append_value(word),
                    None => words.append_value(text),
                },
                None => words.append_null(),
            }
        }
        let words: ArrayRef = Arc::new(words.finish());
        Ok(ColumnarValue::Array(words))
    }
}

/// A vocabulary with so few words has all of them named.
const WORDS_LISTED: usize = 16;
