//! Windows: groups of records that follow one another in time or in number.
//!
//! `tumble(time, length)` and `hop(time, length, slide)` cut time, or the numbers of records, into
//! windows of one length; `session(time, gap)` ends where nothing came for so long;
//! `closed_by(predicate)` ends with the record for which the predicate holds. They stand in GROUP BY.
//!
//! A rule of the physical optimiser ([`PlanWindows`]) gives aggregates over them to a
//! [`WindowAggregate`](aggregate::WindowAggregate), which lets go of a window as soon as no record
//! can come any more that belongs into it. That takes records in the order of time. Where the source
//! is a stream, a [`TimeOrder`] puts them into it as far as they are late by
//! no more than the lateness allowed, and counts those that it must leave out. It is also what lets a
//! join of two streams forget (`IntervalJoin`). Files are read to their end
//! before anything is decided, and nothing in them is late.

mod aggregate;
mod assign;
pub(crate) mod function;
mod groups;
mod join;
mod keys;
mod length;
mod logical;
mod ordered;
mod pieces;
mod rule;
mod time_order;

pub(crate) use length::nanoseconds;
pub(crate) use logical::{WindowKeys, is_grouped};
pub(crate) use rule::PlanWindows;
pub(crate) use time_order::TimeOrder;
