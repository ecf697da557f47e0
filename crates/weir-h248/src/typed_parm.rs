//! All values of a property or parameter by the type that its package gives them.

use crate::message::property::{ExtraInfo, Relation};
use crate::name::Value;
use crate::package_value::{NotOfType, Typed, ValueForm, ValueType, expected};

/// All values of a property or parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypedParm<'a> {
    /// One value.
    One(Typed<'a>),
    /// Any value that is greater than, smaller than or unequal to this one.
    Relation(Relation, Typed<'a>),
    /// A range from the first to the second.
    Range(Typed<'a>, Typed<'a>),
    /// One of several values.
    AnyOf(Vec<Typed<'a>>),
    /// Several values together.
    AllOf(Vec<Typed<'a>>),
}

impl ValueType {
    /// Decodes all values of a property or parameter.
    ///
    /// # Errors
    /// When one of the values is not of this type, or there is none.
    pub fn decode_parm<'a>(
        &self,
        values: &[Value<'a>],
        extra: Option<ExtraInfo>,
        form: ValueForm,
    ) -> Result<TypedParm<'a>, NotOfType> {
        let one = |value: &Value<'a>| self.decode(value.octets, form);
        let all = || values.iter().map(one).collect::<Result<Vec<_>, _>>();
        Ok(match (values, extra) {
            ([], _) => return expected("a value"),
            ([value], None) => TypedParm::One(one(value)?),
            ([value], Some(ExtraInfo::Relation(relation))) => {
                TypedParm::Relation(relation, one(value)?)
            }
            ([low, high], Some(ExtraInfo::Range(true))) => TypedParm::Range(one(low)?, one(high)?),
            (_, Some(ExtraInfo::Sublist(true))) => TypedParm::AllOf(all()?),
            _ => TypedParm::AnyOf(all()?),
        })
    }
}
