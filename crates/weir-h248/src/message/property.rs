//! Properties and statistics of packages, and how several values of one belong together.

use crate::{
    name::{Name, Value},
    wire::{
        leaf::{OctetValue, PropertyName, StatisticName},
        list::List,
    },
};

sequence! {
    /// A property and its value, or values.
    PropertyParm<'a> "PropertyParm" extensible 1 {
        /// The name of the property.
        [0] req name: Name<'a> => PropertyName,
        /// One value; several for a list, a range or alternatives; none to choose.
        [1] req value: &'a [Value<'a>] => List<OctetValue>,
        /// The relation of the values.
        [2] opt extra: Option<ExtraInfo> => ExtraInfo,
    }
}

choice! {
    /// The relation of the values of a property or a parameter.
    ExtraInfo closed root 3 {
        /// Not this value but one in this relation to it.
        [0] Relation(Relation) => Relation, "relation";
        /// The two are the ends of a range.
        [1] Range(bool) => bool, "range";
        /// True: all of them. False: one of them.
        [2] Sublist(bool) => bool, "sublist";
    }
}

enumerated! {
    /// The relation of a value to the given one.
    Relation extensible root 3 {
        /// Greater.
        [0] GreaterThan "greaterThan",
        /// Smaller.
        [1] SmallerThan "smallerThan",
        /// Different.
        [2] UnequalTo "unequalTo",
    }
}

plain_numbers!(Relation);

sequence! {
    /// One statistic.
    StatisticsParameter<'a> "StatisticsParameter" extensible 9 {
        /// The name.
        [0] req name: Name<'a> => StatisticName,
        /// The value; `None` in an audit of the statistic.
        [1] opt value: Option<&'a [Value<'a>]> => List<OctetValue>,
    }
}
