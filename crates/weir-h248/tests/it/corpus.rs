//! The measurement corpus of Erlang's megaco: 149 messages in eight encodings.

use std::{fs, path::PathBuf};

use weir_h248::{
    Arena, BinaryOptions, ErlOptions, Limits, decode_ber, decode_erl, decode_per, encode_ber,
    encode_erl, encode_per,
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

/// The corpus, which lies beside the checkout; nothing, loudly, when it is not there.
pub(crate) fn samples() -> Vec<Sample> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/h248/time_test");
    let Ok(entries) = fs::read_dir(root.join("pretty")) else {
        eprintln!("SKIPPED: no corpus at {}", root.display());
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
        let mut z = ErlOptions::default();
        z.compressed = true;
        out.clear();
        match encode_erl(&erl, options, z, &mut out) {
            Ok(()) if out == sample.erl_z => {}
            result => wrong.push(format!("{} erl z octets {result:?} {} {}", sample.name, out.len(), sample.erl_z.len())),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
