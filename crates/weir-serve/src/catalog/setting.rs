//! Settings: the values that SHOW and `current_setting` give where a client has set no other.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use weir_engine::{Condition, Error, ErrorKind};

use super::cell::Cell;
use super::row_function::by_rows;

/// The number of the version of PostgreSQL whose catalog is given.
const VERSION_NUMBER: &str = "160006";

/// The version of PostgreSQL whose catalog is given, and that of this program.
pub(crate) const VERSION: &str = concat!("16.6 (weir ", env!("CARGO_PKG_VERSION"), ")");

/// The value of a setting, whose name has any case, on a server that may write or not.
pub(crate) fn setting(name: &str, is_read_only: bool) -> Option<&'static str> {
    let is_named = |known: &str| known.eq_ignore_ascii_case(name);
    if READ_ONLY.into_iter().any(is_named) {
        return Some(if is_read_only { "on" } else { "off" });
    }
    let fixed = SETTINGS.iter().map(|(known, value, _)| (*known, *value));
    let mut all = fixed.chain(DEFAULTS.iter().copied());
    all.find(|&(known, _)| is_named(known))
        .map(|(_, value)| value)
}

/// The settings that the client of a session has set, by their names in lower case.
#[derive(Debug, Default)]
pub(crate) struct ClientSettings(RwLock<Vec<(String, String)>>);

impl ClientSettings {
    /// Puts these in the places of all.
    pub(crate) fn set(&self, settings: Vec<(String, String)>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let settings = self.0.read().unwrap_or_else(PoisonError::into_inner);
        settings.clone()
    }

    pub(super) fn get(&self, name: &str) -> Option<String> {
        let settings = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut settings = settings.iter();
        let found = settings.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    }
}

/// The function `current_setting(name, missing_ok)`.
pub(super) fn current_setting(is_read_only: bool, of_client: &Arc<ClientSettings>) -> ScalarUDF {
    ScalarUDF::from(CurrentSetting {
        of_client: Arc::clone(of_client),
        signature: Signature::one_of(
            vec![TypeSignature::VariadicAny, TypeSignature::Nullary],
            Volatility::Stable,
        ),
        is_read_only,
    })
}

/// The value of a setting by its name. The time zone is that of the session.
#[derive(Debug)]
struct CurrentSetting {
    signature: Signature,
    is_read_only: bool,
    of_client: Arc<ClientSettings>,
}

impl PartialEq for CurrentSetting {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.of_client, &other.of_client) && self.is_read_only == other.is_read_only
    }
}

impl Eq for CurrentSetting {}

impl Hash for CurrentSetting {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_read_only.hash(state);
    }
}

impl CurrentSetting {
    fn value(&self, arguments: &[Option<&str>], zone: Option<&str>) -> Result<Cell> {
        let Some(Some(name)) = arguments.first() else {
            return Ok(Cell::Null);
        };
        let own = zone.filter(|_| name.eq_ignore_ascii_case("timezone"));
        let own = own.map(str::to_owned).or_else(|| self.of_client.get(name));
        if let Some(value) = own {
            return Ok(value.into());
        }
        if let Some(value) = setting(name, self.is_read_only) {
            return Ok(value.into());
        }
        if arguments.get(1) == Some(&Some("true")) {
            return Ok(Cell::Null);
        }
        let error = Error::new(ErrorKind::Run, unknown(name));
        let error = error.with_condition(Condition::UndefinedObject);
        Err(DataFusionError::External(Box::new(error)))
    }
}

impl ScalarUDFImpl for CurrentSetting {
    fn name(&self) -> &'static str {
        "current_setting"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = arguments.config_options.execution.time_zone.as_deref();
        by_rows(&arguments.args, &DataType::Utf8, |values| {
            self.value(values, zone)
        })
    }
}

/// PostgreSQL's message for a setting that is not there (42704).
pub(crate) fn unknown(name: &str) -> String {
    format!("unrecognized configuration parameter \"{name}\"")
}

/// The style of dates before a client sets another.
pub(crate) const DATE_STYLE: &str = "ISO, MDY";
/// The time zone before a client sets another.
pub(crate) const TIME_ZONE: &str = "UTC";

/// Settings that are on where statements may only read.
const READ_ONLY: [&str; 2] = ["default_transaction_read_only", "transaction_read_only"];

/// Settings that clients may set, and others that no relation lists, with their values.
const DEFAULTS: &[(&str, &str)] = &[
    ("application_name", ""),
    ("bytea_output", "hex"),
    ("catalogs", crate::files::CATALOG),
    ("datestyle", DATE_STYLE),
    ("default_transaction_isolation", "read committed"),
    ("extra_float_digits", "1"),
    ("in_hot_standby", "off"),
    ("intervalstyle", "postgres"),
    ("is_superuser", "off"),
    // asyncpg turns it off where it is on.
    ("jit", "off"),
    ("lc_collate", "C"),
    ("lc_ctype", "C"),
    ("statement_timeout", "0"),
    ("timezone", TIME_ZONE),
    ("transaction_isolation", "read committed"),
];

/// Settings that clients ask the catalog for, their values, and the types of these.
pub(super) const SETTINGS: &[(&str, &str, &str)] = &[
    ("client_encoding", "UTF8", "string"),
    ("integer_datetimes", "on", "bool"),
    ("max_identifier_length", "63", "integer"),
    ("max_index_keys", "32", "integer"),
    ("search_path", crate::files::SCHEMA, "string"),
    ("server_encoding", "UTF8", "string"),
    ("server_version", VERSION, "string"),
    ("server_version_num", VERSION_NUMBER, "integer"),
    ("standard_conforming_strings", "on", "bool"),
];

/// PostgreSQL's number of UTF-8.
pub(super) const UTF8: i64 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    /// An unknown setting was `off`, and so was the time zone.
    #[test]
    fn unknown_settings_are_an_error() {
        let function = CurrentSetting {
            signature: Signature::nullary(Volatility::Stable),
            is_read_only: true,
            of_client: Arc::default(),
        };
        let own = ("my.own".to_owned(), "x".to_owned());
        function.of_client.set(vec![own]);
        let value = |arguments: &[Option<&str>]| function.value(arguments, Some("Europe/Berlin"));
        for (name, expected) in [
            ("TimeZone", "Europe/Berlin"),
            ("DateStyle", DATE_STYLE),
            ("jit", "off"),
            ("My.Own", "x"),
            ("default_transaction_read_only", "on"),
        ] {
            assert_eq!(
                value(&[Some(name)]).unwrap(),
                Cell::from(expected),
                "{name}"
            );
        }
        assert_eq!(value(&[None]).unwrap(), Cell::Null);
        let missing_ok = [Some("nope"), Some("true")];
        assert_eq!(value(&missing_ok).unwrap(), Cell::Null);
        for arguments in [&missing_ok[..1], &[Some("nope"), Some("false")]] {
            let error = value(arguments).unwrap_err();
            assert!(error.to_string().contains("\"nope\""), "{error}");
        }
        assert_eq!(setting("timezone", true), Some(TIME_ZONE));
        assert_eq!(setting("transaction_read_only", false), Some("off"));
    }
}
