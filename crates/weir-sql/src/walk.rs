//! The walk over a parsed statement.
//!
//! [`Visit::visit`] is generated anew for each type of visitor, for each of some 470 types of the tree: 400 kB of
//! program a visitor. Visitors are handed to the functions here as trait objects, so that one walk serves them all;
//! a virtual call a node is nothing beside the parser's allocations.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

/// Shows every part of `node` to the visitor, until it breaks.
pub fn walk(node: &impl Visit, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()> {
    deep(|| node.visit(&mut Shared(visitor)))
}

/// Shows every part of `node` to the visitor, which may change it, until it breaks.
pub fn walk_mut(
    node: &mut impl VisitMut,
    visitor: &mut dyn VisitorMut<Break = ()>,
) -> ControlFlow<()> {
    deep(|| node.visit(&mut Exclusive(visitor)))
}

/// Walks on a stack that has room for the deepest tree that there may be: threads that wait for sockets have less.
fn deep<T>(walk: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM_BYTES, STACK_BYTES, walk)
}

const ROOM_BYTES: usize = 8 << 20;
const STACK_BYTES: usize = 32 << 20;

struct Shared<'a>(&'a mut dyn Visitor<Break = ()>);

struct Exclusive<'a>(&'a mut dyn VisitorMut<Break = ()>);

/// Hands each kind of node on.
macro_rules! forward {
    ($forwarder:ident, $visitor:ident: $($node:ty, $before:ident, $after:ident;)+) => {
        impl $visitor for $forwarder<'_> {
            type Break = ();
            $(
                fn $before(&mut self, node: $node) -> ControlFlow<()> {
                    self.0.$before(node)
                }
                fn $after(&mut self, node: $node) -> ControlFlow<()> {
                    self.0.$after(node)
                }
            )+
        }
    };
}

forward! { Shared, Visitor:
    &Query, pre_visit_query, post_visit_query;
    &Select, pre_visit_select, post_visit_select;
    &ObjectName, pre_visit_relation, post_visit_relation;
    &TableFactor, pre_visit_table_factor, post_visit_table_factor;
    &Expr, pre_visit_expr, post_visit_expr;
    &Statement, pre_visit_statement, post_visit_statement;
    &ValueWithSpan, pre_visit_value, post_visit_value;
}

forward! { Exclusive, VisitorMut:
    &mut Query, pre_visit_query, post_visit_query;
    &mut Select, pre_visit_select, post_visit_select;
    &mut ObjectName, pre_visit_relation, post_visit_relation;
    &mut TableFactor, pre_visit_table_factor, post_visit_table_factor;
    &mut Expr, pre_visit_expr, post_visit_expr;
    &mut Statement, pre_visit_statement, post_visit_statement;
    &mut ValueWithSpan, pre_visit_value, post_visit_value;
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// Writes down what it is shown.
    #[derive(Default)]
    struct Log(Vec<&'static str>);

    macro_rules! log {
        ($visitor:ident: $($node:ty, $before:ident, $after:ident;)+) => {
            impl $visitor for Log {
                type Break = ();
                $(
                    fn $before(&mut self, _: $node) -> ControlFlow<()> {
                        self.0.push(stringify!($before));
                        ControlFlow::Continue(())
                    }
                    fn $after(&mut self, _: $node) -> ControlFlow<()> {
                        self.0.push(stringify!($after));
                        ControlFlow::Continue(())
                    }
                )+
            }
        };
    }

    log! { Visitor:
        &Query, pre_visit_query, post_visit_query;
        &Select, pre_visit_select, post_visit_select;
        &ObjectName, pre_visit_relation, post_visit_relation;
        &TableFactor, pre_visit_table_factor, post_visit_table_factor;
        &Expr, pre_visit_expr, post_visit_expr;
        &Statement, pre_visit_statement, post_visit_statement;
        &ValueWithSpan, pre_visit_value, post_visit_value;
    }

    log! { VisitorMut:
        &mut Query, pre_visit_query, post_visit_query;
        &mut Select, pre_visit_select, post_visit_select;
        &mut ObjectName, pre_visit_relation, post_visit_relation;
        &mut TableFactor, pre_visit_table_factor, post_visit_table_factor;
        &mut Expr, pre_visit_expr, post_visit_expr;
        &mut Statement, pre_visit_statement, post_visit_statement;
        &mut ValueWithSpan, pre_visit_value, post_visit_value;
    }

    #[test]
    fn a_trait_object_sees_what_a_visitor_of_its_own_type_sees() {
        let sql = "SELECT a + 1 FROM t JOIN (SELECT 'x') AS u ON t.a = u.b WHERE EXISTS (SELECT 2)";
        let mut statements = Parser::parse_sql(&GenericDialect {}, sql).unwrap();

        let (mut direct, mut walked) = (Log::default(), Log::default());
        let _ = Visit::visit(&statements, &mut direct);
        let _ = walk(&statements, &mut walked);
        assert_eq!(walked.0, direct.0);

        let (mut direct, mut walked) = (Log::default(), Log::default());
        let _ = VisitMut::visit(&mut statements, &mut direct);
        let _ = walk_mut(&mut statements, &mut walked);
        assert_eq!(walked.0, direct.0);

        for kind in [
            "pre_visit_query",
            "post_visit_select",
            "pre_visit_relation",
            "post_visit_table_factor",
            "pre_visit_expr",
            "post_visit_statement",
            "pre_visit_value",
        ] {
            assert!(walked.0.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn a_visitor_that_breaks_ends_the_walk() {
        struct First(usize);
        impl Visitor for First {
            type Break = ();
            fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
                self.0 += 1;
                ControlFlow::Break(())
            }
        }
        let statements = Parser::parse_sql(&GenericDialect {}, "SELECT 1, 2, 3").unwrap();
        let mut first = First(0);
        assert!(walk(&statements, &mut first).is_break());
        assert_eq!(first.0, 1);
    }
}
