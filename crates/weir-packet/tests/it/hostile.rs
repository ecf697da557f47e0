//! Tests of hostile bytes: decoding does not panic, every column can be read, and the value of a column does not depend on which
//! other columns are requested.

use crate::common::text;
use crate::samples::samples;
use proptest::prelude::*;
use weir_packet::{Decoder, Frame, Layer, LinkType, Needs, Options, PROTOCOLS, fields};

/// Reads every column, deep and with only its own needs.
fn read_all(frame: Frame<'_>, start: Option<Layer>) {
    let decode = |needs| {
        let mut decoder = Decoder::new(Options::default(), [needs]);
        let packet = match start {
            Some(layer) => decoder.decode_as(frame, layer),
            None => decoder.decode(frame),
        };
        if let Some(stop) = packet.stop() {
            assert!(stop.offset as usize <= frame.data.len(), "{stop}");
        }
        assert!(packet.layers().count() <= PROTOCOLS.len());
        fields()
            .map(|(field, own)| {
                let text = text(field, &packet);
                // A field is NULL where no header of its home protocol was found: a scan then skips it.
                let is_home = |home| packet.layers().any(|layer| layer.form_of() == home);
                let is_there = field.home(own).is_none_or(is_home);
                assert!(
                    is_there || text.is_none(),
                    "{} without its header",
                    field.name
                );
                (field.name, own, text)
            })
            .collect::<Vec<_>>()
    };
    let all = decode(Needs::All);
    for needs in [
        Needs::Network,
        Needs::Transport,
        Needs::Layer(Layer::Ipv4),
        Needs::Layer(Layer::Tcp),
    ] {
        for ((name, own, expected), (_, _, found)) in all.iter().zip(decode(needs)) {
            if *own == needs {
                assert_eq!(*expected, found, "{name} with {needs:?} alone");
            }
        }
    }
}

fn frame(link: u32, data: &[u8], missing: u32) -> Frame<'_> {
    let mut frame = Frame::new(LinkType(link), data);
    frame.wire_len = frame.wire_len.saturating_add(missing);
    frame
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_of_any_link_type(
        link in 0_u32..300,
        data in prop::collection::vec(any::<u8>(), 0..200),
        missing in prop_oneof![Just(0), 0_u32..2000, Just(u32::MAX)],
    ) {
        read_all(frame(link, &data, missing), None);
    }

    #[test]
    fn random_bytes_as_any_protocol(
        layer in 0..PROTOCOLS.len(),
        data in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let layer = Layer::all().nth(layer);
        read_all(frame(1, &data, 0), layer);
    }

    #[test]
    fn samples_with_changed_bytes(
        sample in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        cut_it in any::<bool>(),
    ) {
        let samples = samples();
        let sample = &samples[sample.index(samples.len())];
        let mut data = sample.bytes.clone();
        for (at, value) in changes {
            let at = at.index(data.len());
            data[at] = value;
        }
        let len = if cut_it { cut.index(data.len()) } else { data.len() };
        read_all(frame(sample.link, &data[..len], (data.len() - len) as u32), None);
    }
}

#[test]
fn the_longest_lengths_that_fields_can_state_do_no_harm() {
    for sample in samples() {
        for at in 0..sample.bytes.len() {
            for value in [0x00, 0x0f, 0x7f, 0x80, 0xf0, 0xff] {
                let mut data = sample.bytes.clone();
                data[at] = value;
                let mut decoder = Decoder::default();
                let packet = decoder.decode(Frame::new(LinkType(sample.link), &data));
                for (field, _) in fields() {
                    text(field, &packet);
                }
            }
        }
    }
}

#[test]
fn a_protocol_and_its_other_forms_know_each_other() {
    for layer in Layer::all() {
        let home = layer.form_of();
        let is_listed = home.other_forms().contains(&layer);
        assert_eq!(is_listed, home != layer, "{layer:?}");
        assert!(home == layer || layer.other_forms().is_empty(), "{layer:?}");
    }
}
