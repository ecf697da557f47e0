//! What else decides how many bytes are sent: on a part of the messages, with zlib's default setting.

use weir_ws::{
    Setting, Variant, broadcast, fragmentation, mixed, reconnects, reflections, threshold,
};
use weir_zlib::Deflate;

use super::input::Kept;
use super::print::Table;
use crate::output::grouped;

/// The studies of a direction, one table each.
pub(super) fn studies(kept: &Kept, text: &mut String) {
    let setting = Setting::ZLIB;
    let messages = kept.largest();
    let bytes: u64 = messages.iter().map(|message| message.len() as u64).sum();
    if bytes == 0 {
        return;
    }
    text.push_str(&format!(
        "\nStudies with {setting}, on the first {} messages of the larger direction, {} bytes\n",
        grouped(messages.len() as u64),
        grouped(bytes)
    ));
    let count = messages.len() as u64;
    variants(
        "Flushed every so many bytes, as libraries do that compress while they write (0: whole messages)",
        ["fragment", "compressed"],
        &fragmentation(&messages, setting, &[0, 128, 256, 1024, 4096, 32_768]),
        bytes,
        text,
    );
    variants(
        "Messages below a threshold sent as they are",
        ["threshold", "compressed"],
        &threshold(&messages, setting, &[0, 32, 64, 128, 256, 512, 1024]),
        bytes,
        text,
    );
    variants(
        "The window lost every so many messages (0: never)",
        ["reconnect", "compressed"],
        &reconnects(&messages, setting, &[0, 1, 4, 16, 64, 256, 1024]),
        bytes,
        text,
    );
    broadcasts(&messages, setting, count, bytes, text);
    kinds(&messages, setting, text);
    reflected(kept, text);
}

fn variants(title: &str, names: [&str; 2], all: &[Variant], bytes: u64, text: &mut String) {
    let mut table = Table::new(&[names[0], "ratio", "bytes", names[1]]);
    for variant in all {
        table.row(vec![
            grouped(variant.value),
            ratio(variant.payload_bytes, bytes),
            grouped(variant.payload_bytes),
            grouped(variant.compressed_messages),
        ]);
    }
    table.write(title, text);
}

fn broadcasts(messages: &[&[u8]], setting: Setting, count: u64, bytes: u64, text: &mut String) {
    const CLIENTS: u64 = 1000;
    let found = broadcast(messages, setting, CLIENTS);
    let mut table = Table::new(&["way", "ratio", "bytes to each", "compressions"]);
    let mut put = |way: &str, sent: u64, compressions: u64| {
        let row = [ratio(sent, bytes), grouped(sent), grouped(compressions)];
        table.row(std::iter::once(way.to_owned()).chain(row).collect());
    };
    put(
        "each client with its window",
        found.each_bytes,
        found.each_compressions,
    );
    put(
        "once, without takeover",
        found.once_bytes,
        found.once_compressions,
    );
    put("not compressed", bytes, 0);
    let title = format!(
        "{} messages to {} clients each",
        grouped(count),
        grouped(CLIENTS)
    );
    table.write(&title, text);
}

fn kinds(messages: &[&[u8]], setting: Setting, text: &mut String) {
    let found = mixed(messages, setting);
    if found.apart.len() < 2 {
        return;
    }
    let mut table = Table::new(&["kind", "messages", "compressed bytes"]);
    let mut apart = 0;
    for (kind, count, bytes) in &found.apart {
        apart += bytes;
        table.row(vec![kind.clone(), grouped(*count), grouped(*bytes)]);
    }
    table.row(vec![
        "together, apart".to_owned(),
        String::new(),
        grouped(apart),
    ]);
    table.row(vec![
        "together, on one connection".to_owned(),
        String::new(),
        grouped(found.together_bytes),
    ]);
    table.write("Each kind on a connection of its own", text);
}

fn reflected(kept: &Kept, text: &mut String) {
    let both = kept.both();
    if !both.iter().any(|(client, _)| *client) || both.iter().all(|(client, _)| *client) {
        text.push_str(
            "\nText that comes back (CRIME, BREACH): needs messages of both directions\n",
        );
        return;
    }
    let found = reflections(both);
    let mut table = Table::new(&["member of the server's message", "times", "longest"]);
    for reflection in found.iter().take(16) {
        table.row(vec![
            reflection.field.clone(),
            grouped(reflection.count),
            grouped(reflection.longest as u64),
        ]);
    }
    if table.is_empty() {
        text.push_str(
            "\nNo text of the client comes back in the server's messages (CRIME, BREACH)\n",
        );
        return;
    }
    table.write(
        "The client's text in the server's messages: next to a secret, lengths tell (CRIME, BREACH)",
        text,
    );
}

/// zlib's strategies, by stock zlib itself.
pub(super) fn strategies(messages: &[&[u8]], text: &mut String) {
    let bytes: u64 = messages.iter().map(|message| message.len() as u64).sum();
    let mut table = Table::new(&["strategy", "with takeover", "without"]);
    for (number, name) in (0..).zip(["default", "filtered", "huffman only", "rle", "fixed"]) {
        let ratios = [true, false].map(|takeover| {
            let sent = run(messages, number, takeover);
            sent.map_or_else(String::new, |sent| ratio(sent, bytes))
        });
        table.row(std::iter::once(name.to_owned()).chain(ratios).collect());
    }
    let title = format!(
        "Ratio by zlib's strategy, window 15, memLevel 8, level 6, on the first {} messages",
        grouped(messages.len() as u64)
    );
    table.write(&title, text);
}

fn run(messages: &[&[u8]], strategy: u8, takeover: bool) -> Option<u64> {
    let mut deflate = Deflate::new(6, 15, 8, strategy)?;
    let mut out = Vec::new();
    let mut sent = 0;
    for message in messages {
        if !takeover {
            deflate.reset();
        }
        out.clear();
        deflate.message(message, &mut out);
        sent += out.len() as u64;
    }
    Some(sent)
}

fn ratio(sent: u64, bytes: u64) -> String {
    format!("{:.4}", sent as f64 / bytes.max(1) as f64)
}
