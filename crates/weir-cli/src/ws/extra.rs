//! Studies of other factors of the number of bytes sent, on a part of the messages with zlib's default setting.

use weir_ws::{
    Setting, Variant, broadcast, fragmentation, mixed, reconnects, reflections, threshold,
};
use weir_zlib::Deflate;

use super::input::MessageSample;
use super::print::{Sections, TextTable};
use weir_output::grouped;

/// The studies of a direction, one table each.
pub(super) fn studies(kept: &MessageSample, sections: &mut Sections) {
    let setting = Setting::ZLIB;
    let messages = kept.largest();
    let bytes: u64 = messages.iter().map(|message| message.len() as u64).sum();
    if bytes == 0 {
        return;
    }
    sections.line(format!(
        "Studies with {setting}, on the first {} messages of the larger direction, {} bytes",
        grouped(messages.len() as u64),
        grouped(bytes)
    ));
    let count = messages.len() as u64;
    variants(
        "Flushed after every N bytes, like libraries that compress while they write (0: whole messages)",
        ["fragment", "compressed"],
        &fragmentation(&messages, setting, &[0, 128, 256, 1024, 4096, 32_768]),
        bytes,
        sections,
    );
    variants(
        "Messages below a threshold sent as they are",
        ["threshold", "compressed"],
        &threshold(&messages, setting, &[0, 32, 64, 128, 256, 512, 1024]),
        bytes,
        sections,
    );
    variants(
        "The window lost after every N messages (0: never)",
        ["reconnect", "compressed"],
        &reconnects(&messages, setting, &[0, 1, 4, 16, 64, 256, 1024]),
        bytes,
        sections,
    );
    broadcasts(&messages, setting, count, bytes, sections);
    kinds(&messages, setting, sections);
    reflected(kept, sections);
}

fn variants(title: &str, names: [&str; 2], all: &[Variant], bytes: u64, sections: &mut Sections) {
    let mut table = TextTable::new(&[names[0], "ratio", "bytes", names[1]]);
    for variant in all {
        table.row(vec![
            grouped(variant.value),
            ratio(variant.payload_bytes, bytes),
            grouped(variant.payload_bytes),
            grouped(variant.compressed_messages),
        ]);
    }
    sections.table(title, table);
}

fn broadcasts(
    messages: &[&[u8]],
    setting: Setting,
    count: u64,
    bytes: u64,
    sections: &mut Sections,
) {
    const CLIENTS: u64 = 1000;
    let found = broadcast(messages, setting, CLIENTS);
    let mut table = TextTable::new(&["way", "ratio", "bytes to each", "compressions"]);
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
    sections.table(title, table);
}

fn kinds(messages: &[&[u8]], setting: Setting, sections: &mut Sections) {
    let found = mixed(messages, setting);
    if found.apart.len() < 2 {
        return;
    }
    let mut table = TextTable::new(&["kind", "messages", "compressed bytes"]);
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
    sections.table("Each kind on a connection of its own", table);
}

fn reflected(kept: &MessageSample, sections: &mut Sections) {
    let both = kept.both();
    if !both.iter().any(|(client, _)| *client) || both.iter().all(|(client, _)| *client) {
        sections.line("Text that comes back (CRIME, BREACH): needs messages of both directions");
        return;
    }
    let found = reflections(both);
    let mut table = TextTable::new(&["member of the server's message", "times", "longest"]);
    for reflection in found.iter().take(16) {
        table.row(vec![
            reflection.field.clone(),
            grouped(reflection.count),
            grouped(reflection.longest as u64),
        ]);
    }
    if table.is_empty() {
        sections.line("No text of the client comes back in the server's messages (CRIME, BREACH)");
        return;
    }
    sections.table(
        "The client's text in the server's messages: next to a secret, lengths tell (CRIME, BREACH)",
        table,
    );
}

/// zlib's strategies, by stock zlib itself.
pub(super) fn strategies(messages: &[&[u8]], sections: &mut Sections) {
    let bytes: u64 = messages.iter().map(|message| message.len() as u64).sum();
    let mut table = TextTable::new(&["strategy", "with takeover", "without"]);
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
    sections.table(title, table);
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
