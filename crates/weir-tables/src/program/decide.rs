//! Conditions: the places where they are tested, and results that are known without a test.

use weir_compile::{Operation, Register, Relation};

use super::condition::{NumberRange, Test};
use super::lower::{Lowering, Path};
use super::plan::{Comparison, Condition, From, PlannedValue};

/// The state of a condition at a place of the program.
enum Outcome<'o> {
    Decided(bool),
    /// The condition is true when one of these numbers passes its test.
    Open(Vec<(&'o Test, Register)>),
}

impl Lowering<'_> {
    /// Tests the conditions whose fields are known, or at the last header all; returns false when no branch selects the
    /// record any more, which is then done.
    pub(super) fn decide(&mut self, path: &mut Path, is_last: bool) -> bool {
        let plan = self.plan;
        let mut ready: Vec<usize> = (0..plan.conditions.len())
            .filter(|index| path.done >> index & 1 == 0)
            .filter(|index| {
                let mut fields = plan.conditions[*index].fields();
                is_last || fields.all(|field| path.fields[field].is_some())
            })
            .collect();
        ready.sort_by_key(|index| plan.conditions[*index].selectivity());
        let mut has_changed = false;
        let mut required = Vec::new();
        for index in ready {
            path.done |= 1 << index;
            let before = path.alive;
            let of = self.branches_with(index) & before;
            if of == 0 {
                continue;
            }
            match self.outcome(&plan.conditions[index], path) {
                Outcome::Decided(true) => {}
                Outcome::Decided(false) => path.alive &= !of,
                Outcome::Open(any_of) if of == path.alive => required.push(any_of),
                Outcome::Open(any_of) => {
                    let holds = self.holds(&any_of);
                    for branch in 0..plan.branches.len() {
                        if of >> branch & 1 == 1 {
                            let flag = self.flags[branch];
                            self.builder.update(Operation::And, flag, holds);
                        }
                    }
                    has_changed = true;
                }
            }
            has_changed |= of != before && path.alive != before;
            if path.alive == 0 {
                self.builder.jump(self.next);
                return false;
            }
        }
        self.require(&required);
        // The branches that are left may all have failed.
        if has_changed && plan.branches.len() > 1 {
            let alive = (0..plan.branches.len()).filter(|branch| path.alive >> branch & 1 == 1);
            let mut flags = alive
                .map(|branch| self.flags[branch])
                .collect::<Vec<_>>()
                .into_iter();
            if let Some(first) = flags.next() {
                let any = flags.fold(first, |any, flag| {
                    self.builder.compute(Operation::Or, any, flag)
                });
                self.builder.require(Relation::NotEqual, any, 0, self.next);
            }
        }
        true
    }

    /// The state of a condition when all of its fields are known; an open one is tested on the record.
    fn outcome<'a>(&mut self, condition: &'a Condition, path: &Path) -> Outcome<'a> {
        let mut open = Vec::new();
        for Comparison { value, test } in &condition.any_of {
            let decided = match self.fixed_number(value, path) {
                Some(number) => test.accepts(number),
                None => match (test, self.value(value, path)) {
                    (Test::IsThere, value) => value.is_some(),
                    (Test::IsMissing, value) => value.is_none(),
                    (_, None) => false,
                    (test, Some(value)) => {
                        open.push((test, value));
                        continue;
                    }
                },
            };
            if decided {
                return Outcome::Decided(true);
            }
        }
        match open.is_empty() {
            true => Outcome::Decided(false),
            false => Outcome::Open(open),
        }
    }

    /// The number that a field has in every plain header, such as the version of IP.
    fn fixed_number(&self, value: &PlannedValue, path: &Path) -> Option<u64> {
        let From::Field(field) = value.from else {
            return None;
        };
        let location = usize::from(path.fields[field]?);
        let location = self.plan.fields[field].locations.get(location)?;
        let [shape] = location.layer.shapes() else {
            return None;
        };
        let bits = location.at.bits()?;
        let mut tests = shape.tests.iter();
        let test = tests.find(|test| test.bits == bits && !test.when_cut)?;
        match test.ranges {
            [(low, high)] if low == high && value.steps.is_empty() && !value.is_flag => Some(*low),
            _ => None,
        }
    }

    fn branches_with(&self, condition: usize) -> u32 {
        let branches = self.plan.branches.iter().enumerate();
        branches.fold(0, |all, (index, branch)| {
            all | u32::from(branch.conditions.contains(&condition)) << index
        })
    }

    /// The record is done unless one of the tests of each condition holds. All are tested at once: which of several
    /// does not hold cannot be predicted, whether all hold mostly can.
    fn require(&mut self, conditions: &[Vec<(&Test, Register)>]) {
        let next = self.next;
        if let [any_of] = conditions
            && let [(Test::Within(range), value)] = &any_of[..]
        {
            let (relation, left, right) = self.relation(range, *value);
            return self.builder.require(relation, left, right, next);
        }
        let mut failing = None;
        for any_of in conditions {
            let fails = self.fails(any_of);
            failing = Some(match failing {
                None => fails,
                Some(failing) => self.builder.compute(Operation::Or, failing, fails),
            });
        }
        if let Some(failing) = failing {
            self.builder.require(Relation::Equal, failing, 0, next);
        }
    }

    /// Returns a value other than 0 when none of the tests holds.
    fn fails(&mut self, any_of: &[(&Test, Register)]) -> Register {
        if let [(Test::Within(range), value)] = any_of {
            let (relation, left, right) = self.relation(range, *value);
            return match relation {
                Relation::Equal => self.builder.compute(Operation::ExclusiveOr, left, right),
                relation => self.builder.select((relation, left, right), 0, 1),
            };
        }
        let holds = self.holds(any_of);
        self.builder.compute(Operation::ExclusiveOr, holds, 1)
    }

    /// Returns 1 when one of the tests holds.
    fn holds(&mut self, any_of: &[(&Test, Register)]) -> Register {
        let mut all = self.builder.copy(0);
        for (test, value) in any_of {
            let ranges: &[NumberRange] = match test {
                Test::Within(range) => std::slice::from_ref(range),
                Test::IsOneOf(ranges) => ranges,
                Test::IsThere | Test::IsMissing => &[],
            };
            for range in ranges {
                let relation = self.relation(range, *value);
                all = self.builder.select(relation, 1, all);
            }
        }
        all
    }

    pub(super) fn relation(
        &mut self,
        range: &NumberRange,
        value: Register,
    ) -> (Relation, Register, u64) {
        let (first, more, negated) = range.parts();
        let (relation, left, right) = match (first, more) {
            (_, 0) => (Relation::Equal, value, first),
            (0, _) => (Relation::LessOrEqual, value, more),
            _ => {
                let from = self.builder.compute(Operation::Subtract, value, first);
                (Relation::LessOrEqual, from, more)
            }
        };
        match negated {
            true => (relation.negated(), left, right),
            false => (relation, left, right),
        }
    }
}
