//! Validation of session settings: those that operators read when they run, and those of the planner.

use ballista_core::serde::protobuf::KeyValuePair;
use datafusion::config::ConfigOptions;
use datafusion::prelude::SessionConfig;

use super::{Checked, Refused, shown};

/// The type and range of a setting.
#[derive(Clone, Copy)]
enum SettingType {
    Flag,
    Number(u64, u64),
    Fraction,
    /// A word of at most so many characters, such as the name of a time zone.
    Word(usize),
}

/// Whether a setting is on the allowlist for clients.
pub(crate) fn is_allowed(key: &str) -> bool {
    kind(key).is_some()
}

/// Validates the settings of a client.
///
/// # Errors
/// When a setting is not on the allowlist, or its value is out of range.
pub(crate) fn check_settings(settings: &[KeyValuePair]) -> Checked {
    // The scheduler parses the values only when the job is queued, where a parse error would leave the job waiting for ever.
    let mut config = ConfigOptions::new();
    settings.iter().try_for_each(|setting| {
        let Some(kind) = kind(&setting.key) else {
            return Err(Refused::not_allowed(format!(
                "the setting {}",
                shown(&setting.key)
            )));
        };
        match &setting.value {
            Some(value) if !fits(kind, value) || config.set(&setting.key, value).is_err() => {
                Err(Refused::malformed(format!(
                    "{} is not a valid value of {} in a cluster",
                    shown(value),
                    setting.key
                )))
            }
            _ => Ok(()),
        }
    })
}

/// The settings of the client among those that a scheduler sends. The scheduler sends its own settings along with them.
///
/// # Errors
/// As [`check_settings`].
pub(crate) fn allowed_settings(settings: Vec<KeyValuePair>) -> Result<Vec<KeyValuePair>, Refused> {
    let allowed: Vec<_> = settings
        .into_iter()
        .filter(|setting| is_allowed(&setting.key))
        .collect();
    check_settings(&allowed)?;
    Ok(allowed)
}

/// Bounds the rows of a batch, so that literals of so many bytes, which become columns of as many rows, fill no more than
/// [`LITERALS_BYTES_MAX`] in it. The clients of weir send such a setting themselves.
pub(crate) fn bound_batch_rows(settings: &mut Vec<KeyValuePair>, literal_bytes: usize) {
    let most = (LITERALS_BYTES_MAX / literal_bytes.max(1)).max(1);
    // A setting without a value leaves the one before it in force.
    let given = settings.iter().filter(|setting| setting.key == BATCH_SIZE);
    let given = given
        .filter_map(|setting| setting.value.as_ref())
        .next_back();
    let given = given.and_then(|value| value.parse().ok());
    let rows: usize = given.unwrap_or_else(|| SessionConfig::new().batch_size());
    if rows > most {
        settings.retain(|setting| setting.key != BATCH_SIZE);
        settings.push(KeyValuePair {
            key: BATCH_SIZE.to_owned(),
            value: Some(most.to_string()),
        });
    }
}

fn kind(key: &str) -> Option<SettingType> {
    let found = EXECUTION.iter().find(|(name, _)| *name == key);
    match found {
        Some((_, kind)) => Some(*kind),
        // Settings of the optimizer choose between plans with equal results.
        None if key.starts_with("datafusion.optimizer.") => Some(SettingType::Word(20)),
        None => None,
    }
}

fn fits(kind: SettingType, value: &str) -> bool {
    match kind {
        SettingType::Flag => value.parse::<bool>().is_ok(),
        SettingType::Number(least, most) => value
            .parse::<u64>()
            .is_ok_and(|number| (least..=most).contains(&number)),
        SettingType::Fraction => value
            .parse::<f64>()
            .is_ok_and(|number| (0.0..=1.0).contains(&number)),
        SettingType::Word(most) => {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-:/.".contains(&byte);
            value.len() <= most && value.bytes().all(is_plain)
        }
    }
}

const BATCH_SIZE: &str = "datafusion.execution.batch_size";
/// Bytes that the literals of a plan fill in a batch, as in an engine.
const LITERALS_BYTES_MAX: usize = 64 << 20;
const EXECUTION: &[(&str, SettingType)] = &[
    (BATCH_SIZE, SettingType::Number(1, 1 << 16)),
    ("datafusion.execution.coalesce_batches", SettingType::Flag),
    ("datafusion.execution.collect_statistics", SettingType::Flag),
    ("datafusion.execution.enable_ansi_mode", SettingType::Flag),
    (
        "datafusion.execution.enable_migration_aggregate",
        SettingType::Flag,
    ),
    (
        "datafusion.execution.enforce_batch_size_in_joins",
        SettingType::Flag,
    ),
    (
        "datafusion.execution.max_spill_file_size_bytes",
        SettingType::Number(1 << 16, 1 << 40),
    ),
    (
        "datafusion.execution.perfect_hash_join_min_key_density",
        SettingType::Fraction,
    ),
    (
        "datafusion.execution.perfect_hash_join_small_build_threshold",
        SettingType::Number(0, 1 << 20),
    ),
    (
        "datafusion.execution.skip_partial_aggregation_probe_ratio_threshold",
        SettingType::Fraction,
    ),
    (
        "datafusion.execution.skip_partial_aggregation_probe_rows_threshold",
        SettingType::Number(0, u64::MAX),
    ),
    (
        "datafusion.execution.skip_physical_aggregate_schema_check",
        SettingType::Flag,
    ),
    (
        "datafusion.execution.sort_in_place_threshold_bytes",
        SettingType::Number(0, 1 << 30),
    ),
    (
        "datafusion.execution.sort_spill_reservation_bytes",
        SettingType::Number(0, 1 << 30),
    ),
    (
        "datafusion.execution.spill_compression",
        SettingType::Word(20),
    ),
    (
        "datafusion.execution.target_partitions",
        SettingType::Number(1, 1024),
    ),
    ("datafusion.execution.time_zone", SettingType::Word(64)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, value: &str) -> KeyValuePair {
        KeyValuePair {
            key: key.to_owned(),
            value: Some(value.to_owned()),
        }
    }

    /// A literal of ten megabytes was a column of 8,192 rows.
    #[test]
    fn long_literals_have_batches_of_fewer_rows() {
        let bounded = |given: &[&str], literal_bytes| {
            let mut settings: Vec<_> = given.iter().map(|rows| setting(BATCH_SIZE, rows)).collect();
            bound_batch_rows(&mut settings, literal_bytes);
            check_settings(&settings).unwrap();
            let values = settings.into_iter().map(|setting| setting.value.unwrap());
            values.collect::<Vec<_>>()
        };
        assert!(bounded(&[], 1_000).is_empty());
        assert_eq!(bounded(&[], 1 << 20), ["64"]);
        assert_eq!(bounded(&["10", "100"], 1 << 20), ["64"]);
        assert_eq!(bounded(&["10"], 1 << 20), ["10"]);
        assert_eq!(bounded(&["8192"], usize::MAX), ["1"]);
        // The rows counted as 8,192 behind a setting without a value, and were as many as before.
        let without_value = KeyValuePair {
            key: BATCH_SIZE.to_owned(),
            value: None,
        };
        let mut settings = vec![setting(BATCH_SIZE, "65536"), without_value];
        bound_batch_rows(&mut settings, LITERALS_BYTES_MAX / 8192);
        let values: Vec<_> = settings.into_iter().map(|setting| setting.value).collect();
        assert_eq!(values, [Some("8192".to_owned())]);
    }

    #[test]
    fn settings_of_an_engine_are_allowed_and_others_are_not() {
        let entries = ConfigOptions::new().entries();
        let own: Vec<_> = entries
            .into_iter()
            .filter(|entry| is_allowed(&entry.key))
            .map(|entry| KeyValuePair {
                key: entry.key,
                value: entry.value,
            })
            .collect();
        // Each setting on the allowlist exists in DataFusion.
        let of_execution = own
            .iter()
            .filter(|of| of.key.starts_with("datafusion.execution."));
        assert_eq!(of_execution.count(), EXECUTION.len());
        assert!(own.len() > EXECUTION.len());
        check_settings(&own).unwrap();
        for (key, value) in [
            ("ballista.scheduler.max_partitions_per_task", "0"),
            ("ballista.testing.chaos_execution.enabled", "true"),
            ("datafusion.runtime.temp_directory", "/home"),
            ("datafusion.execution.batch_size", "0"),
            ("datafusion.execution.batch_size", "1099511627776"),
            ("datafusion.execution.target_partitions", "1099511627776"),
            ("datafusion.execution.time_zone", "a b"),
            (
                "datafusion.execution.sort_spill_reservation_bytes",
                "18446744073709551615",
            ),
            ("datafusion.optimizer.max_passes", "1\n2"),
            ("datafusion.optimizer.max_passes", "x"),
            ("datafusion.optimizer.no_such_thing", "1"),
            ("", ""),
        ] {
            assert!(
                check_settings(&[setting(key, value)]).is_err(),
                "{key} = {value}"
            );
        }
    }

    #[test]
    fn settings_of_the_scheduler_are_removed() {
        let kept = allowed_settings(vec![
            setting("ballista.scheduler.max_partitions_per_task", "1"),
            setting("datafusion.execution.batch_size", "4096"),
        ]);
        assert_eq!(kept.unwrap().len(), 1);
        assert!(allowed_settings(vec![setting("datafusion.execution.batch_size", "x")]).is_err());
    }
}
