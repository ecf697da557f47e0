//! Studies and advice as JSON and CSV, for programs: every digit, no rounding.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::advise::{Advice, Candidate, CpuTimes};
use crate::exact::ClassSizes;
use crate::library::{Library, snippet};
use crate::memory::{ZlibBuild, deflate_bytes, inflate_bytes};
use crate::setting::Setting;
use crate::study::StudyResult;
use crate::wire::Direction;

/// A line for every setting that was studied: of all messages, of each direction, and of each kind of
/// message, which the first two columns distinguish. Sizes are bytes; `micros` is the CPU time of a message
/// in microseconds, empty without `times` and for kinds; the memory is one end's, after the first
/// message, without takeover what all connections of a core share.
#[must_use]
pub fn study_csv(study: &StudyResult, times: Option<&CpuTimes>) -> String {
    let mut text = String::from(
        "direction,kind,takeover,window_bits,level,mem_level,messages,bytes,compressed_bytes,ratio,\
         micros,deflate_bytes,inflate_idle_bytes,inflate_active_bytes\n",
    );
    let mut put = |direction: &str, kind: &str, sizes: &ClassSizes, times: Option<&CpuTimes>| {
        for setting in studied(sizes) {
            let memory = memory(setting);
            let micros = times.map_or(String::new(), |times| times.micros(setting).to_string());
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "{direction},{},{},{},{},{},{},{},{},{},{micros},{},{},{}",
                csv_value(kind),
                setting.takeover,
                setting.window_bits,
                setting.level,
                setting.mem_level,
                sizes.messages,
                sizes.bytes,
                sizes.compressed(setting),
                sizes.ratio(setting),
                memory.0,
                memory.1,
                memory.2,
            );
        }
    };
    put("all", "all", &study.total(None), times);
    for direction in [Direction::ToServer, Direction::ToClient] {
        let sizes = study.total(Some(direction));
        if sizes.messages > 0 {
            put(direction.name(), "all", &sizes, None);
        }
    }
    for class in &study.classes {
        let direction = class.direction.map_or("unknown", Direction::name);
        put(direction, &class.kind, &class.sizes, None);
    }
    text
}

/// The same as one JSON object, with the histogram of the messages' sizes.
#[must_use]
pub fn study_json(study: &StudyResult, times: Option<&CpuTimes>) -> String {
    let sizes = |sizes: &ClassSizes, times: Option<&CpuTimes>| -> Value {
        studied(sizes)
            .map(|setting| {
                let mut value = setting_json(setting);
                value["compressed_bytes"] = json!(sizes.compressed(setting));
                value["ratio"] = json!(sizes.ratio(setting));
                if let Some(times) = times {
                    let memory = memory(setting);
                    value["micros"] = json!(times.micros(setting));
                    value["deflate_bytes"] = json!(memory.0);
                    value["inflate_idle_bytes"] = json!(memory.1);
                    value["inflate_active_bytes"] = json!(memory.2);
                }
                value
            })
            .collect()
    };
    let total = study.total(None);
    let directions = [Direction::ToServer, Direction::ToClient].map(|direction| {
        let total = study.total(Some(direction));
        json!({
            "direction": direction.name(),
            "messages": total.messages,
            "bytes": total.bytes,
            "settings": sizes(&total, None),
        })
    });
    let kinds: Vec<Value> = study
        .classes
        .iter()
        .map(|class| {
            json!({
                "direction": class.direction.map(Direction::name),
                "kind": class.kind,
                "messages": class.sizes.messages,
                "bytes": class.sizes.bytes,
                "framed_bytes": class.framed_bytes,
                "histogram": class.histogram.to_vec(),
                "settings": sizes(&class.sizes, None),
            })
        })
        .collect();
    let whole = json!({
        "messages": total.messages,
        "bytes": total.bytes,
        "contexts": study.contexts,
        "windows_cut": study.windows_cut,
        "connections_left_out": study.connections_left_out,
        "messages_too_long": study.too_long,
        "cpu": times.map(|times| if times.measured { "measured" } else { "estimated" }),
        "settings": sizes(&total, times),
        "directions": directions,
        "kinds": kinds,
    });
    format!("{whole:#}\n")
}

/// A line for every setting, with what it costs; `on_front`, `fits` and `chosen` are `true` or `false`.
#[must_use]
pub fn advice_csv(advice: &Advice) -> String {
    let mut text = String::from(
        "takeover,window_bits,level,mem_level,ratio,connection_bytes,deflate_bytes,memory_bytes,\
         micros,cores,on_front,fits,chosen\n",
    );
    for candidate in &advice.candidates {
        let setting = candidate.setting;
        let cores = candidate.cores.map_or(String::new(), |c| c.to_string());
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{cores},{},{},{}",
            setting.takeover,
            setting.window_bits,
            setting.level,
            setting.mem_level,
            candidate.ratio,
            candidate.connection_bytes,
            candidate.deflate_bytes,
            candidate.memory_bytes,
            candidate.micros,
            candidate.on_front,
            candidate.fits,
            is_chosen(advice, candidate),
        );
    }
    text
}

/// The recommendation, the Pareto front, and the configuration for each library, as one JSON object.
/// `threshold` as for [`snippet`].
#[must_use]
pub fn advice_json(advice: &Advice, threshold: u64) -> String {
    let candidate = |candidate: &Candidate| {
        let mut value = setting_json(candidate.setting);
        value["ratio"] = json!(candidate.ratio);
        value["connection_bytes"] = json!(candidate.connection_bytes);
        value["deflate_bytes"] = json!(candidate.deflate_bytes);
        value["memory_bytes"] = json!(candidate.memory_bytes);
        value["micros"] = json!(candidate.micros);
        value["cores"] = json!(candidate.cores);
        value["fits"] = json!(candidate.fits);
        value
    };
    let snippets: Vec<Value> = advice
        .chosen
        .iter()
        .flat_map(|chosen| {
            Library::ALL.map(|library| {
                let snippet = snippet(library, chosen.setting, threshold);
                json!({
                    "library": library.name(),
                    "code": snippet.code,
                    "warnings": snippet.warnings,
                })
            })
        })
        .collect();
    let front: Vec<Value> = advice.front().iter().map(candidate).collect();
    let whole = json!({
        "chosen": advice.chosen.as_ref().map(candidate),
        "reason": advice.reason,
        "saved_percent": advice.saved_percent,
        "warnings": advice.warnings,
        "cpu": if advice.cpu_measured { "measured" } else { "estimated" },
        "front": front,
        "snippets": snippets,
    });
    format!("{whole:#}\n")
}

fn is_chosen(advice: &Advice, candidate: &Candidate) -> bool {
    let chosen = advice.chosen.as_ref();
    chosen.is_some_and(|chosen| chosen.setting == candidate.setting)
}

fn studied(sizes: &ClassSizes) -> impl Iterator<Item = Setting> {
    Setting::all().filter(|&setting| sizes.compressed(setting) > 0)
}

/// The memory of deflate, and of inflate before and after its first message.
fn memory(setting: Setting) -> (u64, u64, u64) {
    let build = ZlibBuild::STOCK;
    let (idle, active) = inflate_bytes(setting.window_bits, build);
    let deflate = deflate_bytes(setting.window_bits, setting.mem_level, build);
    (deflate, idle, active)
}

fn setting_json(setting: Setting) -> Value {
    json!({
        "takeover": setting.takeover,
        "window_bits": setting.window_bits,
        "level": setting.level,
        "mem_level": setting.mem_level,
    })
}

/// A value of a CSV line (RFC 4180), in quotes where it needs them.
#[must_use]
pub fn csv_value(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Format, InputOptions, Study, StudyOptions, advise, read_messages};

    fn study() -> StudyResult {
        let transcript = "{\"type\":\"a,b\",\"text\":\"to be or not\"}\nplain\n".repeat(40);
        let mut study = Study::new(StudyOptions::default());
        let mut each = |message: &crate::InputMessage<'_>| study.message(message);
        read_messages(
            transcript.as_bytes(),
            Format::Lines,
            InputOptions::default(),
            &mut each,
        )
        .unwrap();
        study.finish()
    }

    #[test]
    fn a_study_is_the_same_as_csv_and_as_json() {
        let study = study();
        let times = CpuTimes::estimate(20.0);
        let csv = study_csv(&study, Some(&times));
        // All messages and two kinds, each with every setting.
        assert_eq!(csv.lines().count(), 1 + 3 * crate::CELLS);
        let line = "all,all,true,15,6,8,80,";
        let line = csv.lines().find(|found| found.starts_with(line)).unwrap();
        let compressed = study.total(None).compressed(Setting::ZLIB);
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[8], compressed.to_string());
        assert_eq!(fields[11], "268096");
        assert!(csv.contains("\nunknown,\"{type=\"\"a,b\"\",text}\",true,15,6,8,40,"));

        let json: Value = serde_json::from_str(&study_json(&study, Some(&times))).unwrap();
        assert_eq!(json["messages"], 80);
        assert_eq!(json["cpu"], "estimated");
        assert_eq!(json["kinds"].as_array().unwrap().len(), 2);
        let settings = json["settings"].as_array().unwrap();
        assert_eq!(settings.len(), crate::CELLS);
        assert_eq!(
            settings[Setting::ZLIB.index()]["compressed_bytes"],
            compressed
        );
    }

    #[test]
    fn advice_names_the_chosen_setting_once() {
        let sizes = study().total(None);
        let budget = Budget::new(1_000_000, 20 << 30);
        let advice = advise(&sizes, &CpuTimes::from_fn(|_| 5.0), &budget);
        let csv = advice_csv(&advice);
        assert_eq!(csv.lines().count(), 1 + crate::CELLS);
        assert_eq!(csv.matches(",true\n").count(), 1);
        let json: Value = serde_json::from_str(&advice_json(&advice, 64)).unwrap();
        let chosen = advice.chosen.unwrap();
        assert_eq!(json["chosen"]["window_bits"], chosen.setting.window_bits);
        assert_eq!(json["cpu"], "measured");
        assert_eq!(
            json["snippets"].as_array().unwrap().len(),
            Library::ALL.len()
        );
        assert_eq!(
            json["front"].as_array().unwrap().len(),
            advice.front().len()
        );
    }
}
