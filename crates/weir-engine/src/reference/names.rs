//! The names of the tables that references become, and their place in the statement.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, TableFactor, Visitor, VisitorMut,
};
use weir_capture::redacted;

use super::written::Reference;

/// The name under which the table of a reference is registered: the reference as it was written.
pub(super) fn reference_name(factor: &TableFactor) -> String {
    let TableFactor::Table { name, args, .. } = factor else {
        return factor.to_string();
    };
    match args {
        None => name_of(name),
        Some(args) => {
            let args: Vec<String> = args.args.iter().map(ToString::to_string).collect();
            format!("{name}({})", args.join(", "))
        }
    }
}

pub(super) fn name_of(name: &ObjectName) -> String {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => ident.value.clone(),
        _ => name.to_string(),
    }
}

/// The names that tables have in plans: without what references keep secret.
#[derive(Default)]
pub(super) struct PlanNames(Vec<(String, String)>);

impl PlanNames {
    /// The name of the table that a reference means. References that would be shown alike get numbers.
    pub(super) fn shown(&mut self, reference: String) -> String {
        if let Some((_, name)) = self.0.iter().find(|(known, _)| *known == reference) {
            return name.clone();
        }
        let shown = redacted(&reference).into_owned();
        let mut name = shown.clone();
        let mut number = 1;
        while self.0.iter().any(|(_, taken)| *taken == name) {
            number += 1;
            name = format!("{shown}({number})");
        }
        self.0.push((reference, name.clone()));
        name
    }
}

/// Collects the tables in FROM, and whether each is a query of WITH.
#[derive(Default)]
pub(super) struct Factors {
    pub(super) found: Vec<(TableFactor, bool)>,
    scopes: Scopes,
}

impl Visitor for Factors {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.scopes.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        // A subquery may have others within, and each would be copied as often as it is deep.
        if matches!(factor, TableFactor::Table { .. }) {
            self.found.push((factor.clone(), self.scopes.has(factor)));
        }
        ControlFlow::Continue(())
    }
}

/// The queries of WITH that FROM may name at a place of the walk: the name of one stands for it, also where it looks like that of a file.
#[derive(Default)]
struct Scopes(Vec<Scope>);

/// The queries of the WITH of one query.
struct Scope {
    names: Vec<String>,
    /// Whether the queries of WITH may name all of them, and not only those in front.
    is_recursive: bool,
    /// The number of queries right below this one that the walk has left: those of WITH come first.
    left: usize,
}

impl Scopes {
    fn enter(&mut self, query: &Query) {
        let with = query.with.iter();
        let names = with.flat_map(|with| &with.cte_tables);
        self.0.push(Scope {
            names: names.map(|cte| known_as(&cte.alias.name)).collect(),
            is_recursive: query.with.as_ref().is_some_and(|with| with.recursive),
            left: 0,
        });
    }

    fn leave(&mut self) {
        self.0.pop();
        if let Some(around) = self.0.last_mut() {
            around.left = around.left.saturating_add(1);
        }
    }

    /// Whether a table is a query of WITH, in quotes of either kind, as in DuckDB.
    fn has(&self, factor: &TableFactor) -> bool {
        let TableFactor::Table {
            name, args: None, ..
        } = factor
        else {
            return false;
        };
        let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
            return false;
        };
        let name = known_as(ident);
        self.0.iter().any(|scope| {
            let count = match scope.is_recursive {
                true => scope.names.len(),
                false => scope.left,
            };
            scope.names.iter().take(count).any(|known| *known == name)
        })
    }
}

/// A name as the planner knows it.
fn known_as(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// Replaces references by the names of their tables.
pub(super) struct Replacer {
    names: PlanNames,
    scopes: Scopes,
}

impl Replacer {
    pub(super) fn of(names: PlanNames) -> Self {
        Self {
            names,
            scopes: Scopes::default(),
        }
    }
}

impl VisitorMut for Replacer {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.scopes.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if self.scopes.has(factor) {
            return ControlFlow::Continue(());
        }
        let table = reference_name(factor);
        if let TableFactor::Table { name, args, .. } = factor {
            let arguments = args.as_ref().map(|args| args.args.as_slice());
            if let Ok(Some(_)) = Reference::read(name, arguments) {
                let table = self.names.shown(table);
                *args = None;
                *name = ObjectName::from(vec![Ident::with_quote('"', table)]);
            }
        }
        ControlFlow::Continue(())
    }
}
