//! The limit on the columns that the tables of one FROM have together.
//!
//! Planning a join takes the square of its columns for each of its tables: four tables of packets with all their
//! columns, as in `SELECT *`, take three seconds, and sixteen take half a minute. So the columns are counted before a
//! join is planned.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Join, ObjectName, PipeOperator, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAlias, TableFactor, TableWithJoins, Visitor,
};
use weir_functions::{Error, ErrorKind};

use crate::statement::Statement;

/// Checks the joins of a statement. `columns` is how many columns a table has, by its name.
///
/// # Errors
/// When the tables of a FROM have more columns than can be planned.
pub fn check(statement: &Statement, columns: &dyn Fn(&ObjectName) -> usize) -> Result<(), Error> {
    let mut widths = Widths {
        columns,
        of_with: HashMap::new(),
        names: HashMap::new(),
        selects: HashMap::new(),
        queries: HashMap::new(),
        refusal: None,
    };
    statement.visit(&mut widths);
    match widths.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

struct Widths<'c> {
    columns: &'c dyn Fn(&ObjectName) -> usize,
    /// The columns of the queries of WITH, by their names in lower case.
    of_with: HashMap<String, usize>,
    /// The names of the queries of WITH that the walk has not left.
    names: HashMap<*const Query, String>,
    /// The columns of what the walk has left.
    selects: HashMap<*const Select, usize>,
    queries: HashMap<*const Query, usize>,
    refusal: Option<Error>,
}

impl Widths<'_> {
    /// The columns of the tables of a FROM; an error where these are too many to be joined.
    fn joined(&self, from: &[TableWithJoins]) -> Result<usize, Error> {
        let (mut tables, mut all) = (0_usize, 0_usize);
        for table in from {
            let joined = table.joins.iter().map(|join| &join.relation);
            for factor in std::iter::once(&table.relation).chain(joined) {
                tables += 1;
                all = all.saturating_add(self.factor(factor)?);
            }
        }
        look_at(tables, all)?;
        Ok(all)
    }

    /// The columns that a SELECT gives.
    fn select(&self, select: &Select) -> Result<usize, Error> {
        let is_all = |item: &SelectItem| {
            matches!(
                item,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        };
        let items = &select.projection;
        // The width of its table does not matter where the SELECT has no `*`.
        if let [table] = select.from.as_slice()
            && table.joins.is_empty()
            && !matches!(table.relation, TableFactor::NestedJoin { .. })
            && !items.iter().any(is_all)
        {
            return Ok(items.len());
        }
        let joined = self.joined(&select.from)?;
        let columns = items.iter().map(|item| -> Result<usize, Error> {
            Ok(match item {
                SelectItem::Wildcard(_) => joined,
                SelectItem::QualifiedWildcard(kind, _) => match kind {
                    SelectItemQualifiedWildcardKind::ObjectName(name) => {
                        self.of_table(name, &select.from)?.unwrap_or(joined)
                    }
                    SelectItemQualifiedWildcardKind::Expr(_) => joined,
                },
                _ => 1,
            })
        });
        columns.sum()
    }

    /// The columns of the table of a FROM that is meant in front of `.*`.
    fn of_table(
        &self,
        table: &ObjectName,
        from: &[TableWithJoins],
    ) -> Result<Option<usize>, Error> {
        let all = from.iter().flat_map(|table| {
            let joined = table.joins.iter().map(|join| &join.relation);
            std::iter::once(&table.relation).chain(joined)
        });
        for factor in all {
            let is_it = match factor {
                TableFactor::Table {
                    alias: Some(alias), ..
                }
                | TableFactor::Derived {
                    alias: Some(alias), ..
                } => is_alias(alias, table),
                TableFactor::Table {
                    name, alias: None, ..
                } => name == table,
                _ => false,
            };
            if is_it {
                return self.factor(factor).map(Some);
            }
        }
        Ok(None)
    }

    fn factor(&self, factor: &TableFactor) -> Result<usize, Error> {
        Ok(match factor {
            TableFactor::Table { name, .. } => self.named(name),
            TableFactor::Derived { subquery, .. } => {
                let query: *const Query = std::ptr::from_ref(&**subquery);
                self.queries.get(&query).copied().unwrap_or(1)
            }
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.joined(std::slice::from_ref(table_with_joins))?,
            _ => 1,
        })
    }

    fn named(&self, name: &ObjectName) -> usize {
        let of_with = match name.0.as_slice() {
            [part] => part
                .as_ident()
                .and_then(|name| self.of_with.get(&name.value.to_lowercase())),
            _ => None,
        };
        match of_with {
            Some(columns) => *columns,
            None => (self.columns)(name),
        }
    }

    fn body(&self, body: &SetExpr) -> usize {
        match body {
            SetExpr::Select(select) => {
                let select: *const Select = std::ptr::from_ref(&**select);
                self.selects.get(&select).copied().unwrap_or(1)
            }
            SetExpr::Query(query) => {
                let query: *const Query = std::ptr::from_ref(&**query);
                self.queries.get(&query).copied().unwrap_or(1)
            }
            SetExpr::SetOperation { left, .. } => self.body(left),
            _ => 1,
        }
    }

    /// The columns of a query, with those that its steps join.
    fn query(&self, query: &Query) -> Result<usize, Error> {
        let mut all = self.body(&query.body);
        let mut tables = 1_usize;
        for operator in &query.pipe_operators {
            if let PipeOperator::Join(Join { relation, .. }) = operator {
                tables += 1;
                all = all.saturating_add(self.factor(relation)?);
            }
        }
        look_at(tables, all)?;
        Ok(all)
    }
}

impl Visitor for Widths<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = cte.alias.name.value.to_lowercase();
            self.names.insert(std::ptr::from_ref(&*cte.query), name);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match self.select(select) {
            Ok(columns) => {
                self.selects.insert(std::ptr::from_ref(select), columns);
                ControlFlow::Continue(())
            }
            Err(refusal) => {
                self.refusal = Some(refusal);
                ControlFlow::Break(())
            }
        }
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match self.query(query) {
            Ok(columns) => {
                self.queries.insert(std::ptr::from_ref(query), columns);
                if let Some(name) = self.names.remove(&std::ptr::from_ref(query)) {
                    self.of_with.insert(name, columns);
                }
                ControlFlow::Continue(())
            }
            Err(refusal) => {
                self.refusal = Some(refusal);
                ControlFlow::Break(())
            }
        }
    }
}

fn is_alias(alias: &TableAlias, table: &ObjectName) -> bool {
    match table.0.as_slice() {
        [part] => part
            .as_ident()
            .is_some_and(|name| name.value.eq_ignore_ascii_case(&alias.name.value)),
        _ => false,
    }
}

/// Checks how many columns so many tables have, which one join has all.
fn look_at(tables: usize, columns: usize) -> Result<(), Error> {
    let most = (WORK_MAX / tables.max(1)).isqrt().min(COLUMNS_MAX);
    if tables < 2 || columns <= most {
        return Ok(());
    }
    let message = format!(
        "the {tables} tables of one FROM have {columns} columns together, and the limit is {most} for so many tables"
    );
    let hint = "a join has the columns that are named: write those that are needed in place of *, or in a query in FROM";
    Err(Error::new(ErrorKind::Limit, message).with_hint(hint))
}

/// Columns of a join: six tables of packets with all of them.
const COLUMNS_MAX: usize = 4096;
/// The square of the columns, times the tables.
const WORK_MAX: usize = 1 << 29;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_a_join_have_a_limit() {
        let columns = |name: &ObjectName| match name.to_string().as_str() {
            "wide" => 700,
            "narrow" => 30,
            _ => 1,
        };
        let looked = |sql: &str| {
            let statement = Statement::parse(sql).unwrap().remove(0);
            check(&statement, &columns).map_err(|refusal| refusal.to_string())
        };
        let times = |table: &str, count: usize| {
            let all: Vec<String> = (0..count)
                .map(|number| format!("{table} t{number}"))
                .collect();
            all.join(" CROSS JOIN ")
        };
        for sql in [
            format!("SELECT * FROM {}", times("wide", 6)),
            "SELECT * FROM wide, wide AS b, wide AS c, wide AS d, wide AS e, wide AS f".to_owned(),
            format!(
                "SELECT 1 FROM t WHERE EXISTS (SELECT * FROM {})",
                times("wide", 6)
            ),
            format!(
                "SELECT * FROM {}",
                times("(SELECT * FROM wide, wide AS b)", 3)
            ),
            format!(
                "WITH v AS (SELECT a.*, b.* FROM wide a, wide b) SELECT * FROM {}",
                times("V", 3)
            ),
            format!("FROM wide{}", " |> JOIN wide ON true".repeat(6)),
            format!("SELECT * FROM {}", times("narrow", 120)),
            format!("SELECT 1 FROM ({})", times("wide", 6)),
        ] {
            let refusal = looked(&sql).expect_err(&sql);
            assert!(
                refusal.contains("columns together, and the limit is"),
                "{sql}: {refusal}"
            );
        }
        for sql in [
            "SELECT * FROM wide".to_owned(),
            format!("SELECT * FROM {}", times("wide", 5)),
            vec!["SELECT * FROM wide"; 100].join(" UNION ALL "),
            format!("SELECT * FROM {}", times("narrow", 60)),
            format!("SELECT * FROM {}", times("(SELECT a, b FROM wide)", 100)),
            format!(
                "WITH v AS (SELECT a FROM wide) SELECT * FROM {}",
                times("v", 100)
            ),
        ] {
            assert_eq!(looked(&sql), Ok(()), "{sql}");
        }
    }
}
