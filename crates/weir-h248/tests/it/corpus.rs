//! The measurement corpus of Erlang's megaco: 149 messages in eight encodings.

use std::{fs, path::PathBuf};

use weir_h248::{
    Arena, BinaryOptions, ErlOptions, Limits, TextOptions, TextStyle, decode_ber, decode_erl,
    decode_per, decode_text, encode_ber, encode_compact, encode_erl, encode_per, encode_pretty,
};

/// One message: its name and its octets in every encoding.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) pretty: Vec<u8>,
    pub(crate) compact: Vec<u8>,
    pub(crate) ber: Vec<u8>,
    pub(crate) per: Vec<u8>,
    pub(crate) erl: Vec<u8>,
    pub(crate) erl_mc: Vec<u8>,
    pub(crate) erl_z: Vec<u8>,
    pub(crate) erl_mc_z: Vec<u8>,
}

/// The corpus beside the checkout; empty, with a report, when it is missing.
pub(crate) fn samples() -> Vec<Sample> {
    let root =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/h248/time_test");
    let Ok(entries) = fs::read_dir(root.join("pretty")) else {
        weir_testkit::missing("h248-corpus", &root.display().to_string());
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    let read = |folder: &str, name: &str| {
        let folder = root.join(folder);
        let found = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_stem().is_some_and(|stem| stem == name))
            .unwrap_or_else(|| panic!("{name} is not in {}", folder.display()));
        fs::read(found).unwrap()
    };
    names
        .into_iter()
        .map(|name| Sample {
            pretty: read("pretty", &name),
            compact: read("compact", &name),
            ber: read("ber", &name),
            per: read("per", &name),
            erl: read("erl_dist", &name),
            erl_mc: read("erl_dist_mc", &name),
            erl_z: read("erl_dist_z", &name),
            erl_mc_z: read("erl_dist_mc_z", &name),
            name,
        })
        .collect()
}

#[test]
fn binary_encodings_agree_and_come_back_to_the_octet() {
    let options = BinaryOptions::default();
    let mut wrong = Vec::new();
    for sample in samples() {
        let arena = Arena::new();
        let ber = match decode_ber(&sample.ber, &arena, options) {
            Ok(message) => message,
            Err(error) => {
                wrong.push(format!("{} ber: {error}", sample.name));
                continue;
            }
        };
        let mut out = Vec::new();
        match encode_ber(&ber, options, &mut out) {
            Ok(()) if out == sample.ber => {}
            result => wrong.push(format!("{} ber octets {result:?}", sample.name)),
        }
        match decode_per(&sample.per, &arena, options) {
            Ok(per) if per == ber => {}
            result => wrong.push(format!("{} per: {result:?}", sample.name)),
        }
        out.clear();
        match encode_per(&ber, options, &mut out) {
            Ok(()) if out == sample.per => {}
            result => wrong.push(format!("{} per octets {result:?}", sample.name)),
        }
        let erl = match decode_erl(&sample.erl, &arena, options, Limits::default()) {
            Ok(message) => message,
            Err(error) => {
                wrong.push(format!("{} erl: {error}", sample.name));
                continue;
            }
        };
        if erl != ber {
            wrong.push(format!("{} erl differs:\n{erl:?}\n{ber:?}", sample.name));
        }
        out.clear();
        match encode_erl(&erl, options, ErlOptions::default(), &mut out) {
            Ok(()) if out == sample.erl => {}
            result => wrong.push(format!("{} erl octets {result:?}", sample.name)),
        }
        for (megaco_compressed, compressed, expected) in [
            (true, false, &sample.erl_mc),
            (false, true, &sample.erl_z),
            (true, true, &sample.erl_mc_z),
        ] {
            let name = format!("{} erl {megaco_compressed} {compressed}", sample.name);
            match decode_erl(expected, &arena, options, Limits::default()) {
                Ok(message) if message == erl => {}
                result => wrong.push(format!("{name}: {result:?}")),
            }
            let mut erl_options = ErlOptions::default();
            erl_options.megaco_compressed = megaco_compressed;
            erl_options.compressed = compressed;
            out.clear();
            match encode_erl(&erl, options, erl_options, &mut out) {
                Ok(()) if out == *expected => {}
                result => wrong.push(format!(
                    "{name} octets {result:?} {} {}",
                    out.len(),
                    expected.len()
                )),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn text_agrees_with_binary_and_comes_back() {
    let options = BinaryOptions::default();
    let mut wrong = Vec::new();
    let mut canonical = 0;
    for sample in samples() {
        let arena = Arena::new();
        let ber = decode_ber(&sample.ber, &arena, options).unwrap();
        let pretty = match decode_text(&sample.pretty, &arena, TextOptions::default()) {
            Ok(message) => message,
            Err(error) => {
                wrong.push(format!("{} pretty: {error}", sample.name));
                continue;
            }
        };
        let compact = match decode_text(&sample.compact, &arena, TextOptions::strict()) {
            Ok(message) => message,
            Err(error) => {
                wrong.push(format!("{} compact: {error}", sample.name));
                continue;
            }
        };
        if pretty != ber {
            wrong.push(format!(
                "{} pretty differs:\n{pretty:?}\n{ber:?}",
                sample.name
            ));
        }
        if compact != ber {
            wrong.push(format!(
                "{} compact differs:\n{compact:?}\n{ber:?}",
                sample.name
            ));
        }
        let mut out = Vec::new();
        match encode_compact(&pretty, TextStyle::erlang(), &mut out) {
            Ok(()) if out == sample.compact => {}
            // Erlang reverses the list of the empty descriptors of a reply each time it reads one; weir keeps the order.
            Ok(()) if sample.name == "msg79a01" => {}
            result => wrong.push(format!(
                "{} compact octets {result:?}\n{}\n{}",
                sample.name,
                out.escape_ascii(),
                sample.compact.escape_ascii()
            )),
        }
        out.clear();
        match encode_pretty(&pretty, TextStyle::erlang(), &mut out) {
            Ok(()) if out == sample.pretty => canonical += 1,
            result => eprintln!("{} pretty octets {result:?}", sample.name),
        }
        for (name, message) in [("compact", &compact), ("pretty", &pretty), ("ber", &ber)] {
            for encode in [encode_compact, encode_pretty] {
                out.clear();
                encode(message, TextStyle::default(), &mut out).unwrap();
                let again = decode_text(&out, &arena, TextOptions::strict());
                if again.as_ref() != Ok(message) {
                    wrong.push(format!(
                        "{} from {name}: {again:?}\n{}",
                        sample.name,
                        out.escape_ascii()
                    ));
                }
            }
        }
        out.clear();
        encode_per(&pretty, options, &mut out).unwrap();
        assert_eq!(out, sample.per);
        out.clear();
        encode_ber(&compact, options, &mut out).unwrap();
        assert_eq!(out, sample.ber);
    }
    eprintln!("{canonical} canonical");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
