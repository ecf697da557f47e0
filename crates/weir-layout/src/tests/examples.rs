//! The examples of the reference page: each is a layout that loads, and the worked ones are read
//! from bytes.

use super::{hex, read_all, show, text_of};
use crate::{Framing, Layout, Start, View, payload, read, types};
use weir_packet::{Layer, LinkType};

const PAGE: &str = include_str!("../../../../docs/reference/record-layouts.md");

/// The TOML blocks of the page. Blocks marked `toml fields` hold fields only.
fn blocks() -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in PAGE.lines() {
        match (&mut open, line) {
            (None, "```toml") => open = Some((false, String::new())),
            (None, "```toml fields") => open = Some((true, String::new())),
            (Some((fields, text)), "```") => {
                let text = std::mem::take(text);
                blocks.push(if *fields {
                    format!("field = [\n{text}]\n")
                } else {
                    text
                });
                open = None;
            }
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

/// Every layout of the page, for other tests too.
pub(super) fn texts() -> Vec<String> {
    let texts = blocks();
    assert!(texts.len() >= 10, "the page has its examples");
    texts
}

/// Layouts of the page by the name in their first line, `# recorder.toml: …`.
pub(super) fn load(path: &str) -> Result<String, String> {
    let start = format!("# {path}:");
    let found = blocks().into_iter().find(|text| text.starts_with(&start));
    found.ok_or_else(|| format!("no layout {path} on the page"))
}

fn named(path: &str) -> Layout {
    let text = load(path).unwrap();
    match Layout::parse(&text, &mut load) {
        Ok(layout) => layout,
        Err(error) => panic!("{path}: {error}, {:?}", error.hint()),
    }
}

#[test]
fn every_example_loads() {
    for text in texts() {
        if let Err(error) = Layout::parse(&text, &mut load) {
            panic!("{error}, {:?}\n{text}", error.hint());
        }
    }
}

#[test]
fn the_page_names_every_key_type_and_protocol() {
    let keys = [
        read::LAYOUT_KEYS,
        read::FILE_KEYS,
        read::RECORD_KEYS,
        read::TIME_KEYS,
        read::FIELD_KEYS,
        read::KIND_KEYS,
        read::PAYLOAD_KEYS,
    ];
    let links = payload::LINK_TYPES.iter().map(|(name, _)| *name);
    let layers = payload::LAYERS.iter().map(|(name, _)| *name);
    for name in keys
        .concat()
        .into_iter()
        .chain(types::names())
        .chain(links)
        .chain(layers)
    {
        assert!(PAGE.contains(&format!("`{name}`")), "`{name}` is missing");
    }
    for limit in [
        Layout::EXTENDS_MAX,
        Layout::FIELDS_MAX,
        Layout::GROUP_DEPTH_MAX,
        Layout::KINDS_MAX,
        Layout::PAYLOADS_MAX,
        Layout::ENUM_VALUES_MAX,
        Layout::NAME_LEN_MAX,
        Layout::MARK_LEN_MAX,
        Layout::RECORD_LEN_DEFAULT_MAX,
        Layout::FRAMING_FIELDS_MAX,
    ] {
        assert!(
            PAGE.contains(&format!("| {limit} ")),
            "the limit {limit} is missing"
        );
    }
}

#[test]
fn the_error_on_the_page_is_the_one_given() {
    let text = "[[field]]\nname = \"vpi\"\ntype = \"u12\"\n";
    let error = Layout::parse(text, &mut load).unwrap_err();
    assert!(PAGE.contains(&format!("{error}")), "{error}");
    assert!(PAGE.contains(error.hint().unwrap()), "{:?}", error.hint());
}

/// Records of the T1 recorder: data, status, lost frames, and a type that it does not know.
const RECORDED: &str = "
    65a0c7d6 0003d090 0018 0008 11 01 02 18 1841 03cc 4500 0008
    65a0c7d6 0003d091 0018 0000 20 00 00 07 000003e8 00000002
    65a0c7d7 00000000 0014 0000 30 00 01 03 00000005
    65a0c7d7 00000001 0010 0000 f0 00 01 03";

/// The demo's file of this format has a layout text of its own, which must say the same.
#[test]
fn the_demos_layout_reads_the_recorder_too() {
    let demo = include_str!("../../../weir-samples/src/demo/recorder.toml");
    let demo = match Layout::parse(demo, &mut load) {
        Ok(layout) => layout,
        Err(error) => panic!("recorder.toml: {error}, {:?}", error.hint()),
    };
    let page = named("recorder.toml");
    let (mut demo_row, mut page_row) = (demo.row(), page.row());
    let bytes = hex(RECORDED);
    let mut rest = bytes.as_slice();
    while let Framing::Record { len } = demo.next_record(rest) {
        assert_eq!(page.next_record(rest), Framing::Record { len });
        let ours = demo.decode(&rest[..len], &mut demo_row);
        let theirs = page.decode(&rest[..len], &mut page_row);
        let value = |layout: &Layout, view: &View<'_>, name: &str| {
            let mut columns = layout.columns().iter();
            let column = columns.position(|column| column.name == name).unwrap();
            view.value(column).map(|value| text_of(&value))
        };
        for name in [
            "message_type_name",
            "board",
            "interface",
            "channel",
            "frames_seen",
            "frames_lost",
        ] {
            assert_eq!(
                value(&demo, &ours, name),
                value(&page, &theirs, name),
                "{name}"
            );
        }
        assert_eq!(
            (ours.time_ns(), ours.wire_len()),
            (theirs.time_ns(), theirs.wire_len())
        );
        assert_eq!(
            (ours.payload(), ours.stop()),
            (theirs.payload(), theirs.stop())
        );
        rest = &rest[len..];
    }
    assert!(rest.is_empty());
}

#[test]
fn a_t1_recorder() {
    let layout = named("recorder.toml");
    assert_eq!(
        read_all(&layout, &hex(RECORDED)),
        [
            "kind=\"data\" recorded=1705035734250000000 record_length=24 frame_length=8 message_type=1 \
             message_type_name=\"data\" cut=false from_network=true board=1 interface=2 channel=24 \
             frames_seen=- frames_bad=- frames_lost=- ; time 1705035734250000000 ; wire 8 ; \
             107:184103cc45000008",
            "kind=\"status\" recorded=1705035734250001000 record_length=24 frame_length=0 message_type=2 \
             message_type_name=\"status\" cut=false from_network=false board=0 interface=0 channel=7 \
             frames_seen=1000 frames_bad=2 frames_lost=- ; time 1705035734250001000 ; wire 0",
            "kind=\"lost\" recorded=1705035735000000000 record_length=20 frame_length=0 message_type=3 \
             message_type_name=\"lost\" cut=false from_network=false board=0 interface=1 channel=3 \
             frames_seen=- frames_bad=- frames_lost=5 ; time 1705035735000000000 ; wire 0",
            "kind=- recorded=1705035735000001000 record_length=16 frame_length=0 message_type=15 \
             message_type_name=- cut=false from_network=false board=0 interface=1 channel=3 \
             frames_seen=- frames_bad=- frames_lost=- ; time 1705035735000001000 ; wire 0",
        ],
    );
    let starts: Vec<_> = layout.payload_starts().collect();
    assert_eq!(starts, [Start::Link(LinkType(107))]);
}

#[test]
fn a_cell_of_64_bytes() {
    let layout = named("atm64.toml");
    assert_eq!(layout.record_len_fixed(), Some(64));
    assert!(layout.payload_starts().eq([Start::Layer(Layer::Atm)]));
    // GFC 0, VPI 5, VCI 33, PTI 1, CLP 0.
    let mut record = hex("00000080 d6c7a065 deadbeef 00500212");
    record.resize(64, 0x6a);
    let mut row = layout.row();
    let shown = show(&layout, &layout.decode(&record, &mut row));
    let payload = "6a".repeat(48);
    assert_eq!(
        shown,
        format!(
            "recorded=1705035734500000000 crc=3735928559 gfc=0 vpi=5 vci=33 pti=1 clp=false \
             cell=0x{payload} ; time 1705035734500000000 ; wire 52 ; atm:00500212{payload}"
        ),
    );
    for end in 0..64 {
        let stop = layout.decode(&record[..end], &mut row).stop();
        assert!(stop.is_some(), "{end} bytes are no cell");
    }
}

#[test]
fn an_erf_record_of_a_multi_channel_hdlc_line() {
    let layout = named("erf_mc_hdlc.toml");
    let file = hex(
        "00000080 d6c7a065 05 07 001c 0000 000a 4100 0305 184103cc4500 ffff
         00000080 d6c7a065 85 07 002c 0001 000a 81aaaaaa aaaaaaaa 02bbbbbb bbbbbbbb 0000 0007 184103cc4500 ffff
         00000080 d6c7a065 30 00 0010 0000 0000",
    );
    assert_eq!(
        read_all(&layout, &file),
        [
            "kind=\"mc_hdlc\" recorded=1705035734500000000 more=false type=5 type_name=\"mc_hdlc\" \
             receive_error=false truncated=false interface=3 rlen=28 lost=0 wlen=10 more_1=- ext_1=- \
             ext_2=- errors=65 connection=773 ; time 1705035734500000000 ; wire 10 ; \
             107:184103cc4500ffff",
            "kind=\"mc_hdlc\" recorded=1705035734500000000 more=true type=5 type_name=\"mc_hdlc\" \
             receive_error=false truncated=false interface=3 rlen=44 lost=1 wlen=10 more_1=true ext_1=1 \
             ext_2=2 errors=0 connection=7 ; time 1705035734500000000 ; wire 10 ; \
             107:184103cc4500ffff",
            "kind=- recorded=1705035734500000000 more=false type=48 type_name=\"pad\" receive_error=false \
             truncated=false interface=0 rlen=16 lost=0 wlen=0 more_1=- ext_1=- ext_2=- errors=- \
             connection=- ; time 1705035734500000000 ; wire 0",
        ],
    );
}
