//! Files: opening, recognising, patterns, and several at once in the order of time.

use std::{fs, path::Path};

use crate::common::*;
use flate2::write::GzEncoder;
use weir_capture::{
    Compression, ErrorKind, Format, Merge, ReadOptions, Reader, expand, open, sniff, sniff_path,
};

fn capture(seconds: &[u32]) -> Vec<u8> {
    let mut file = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 1);
    for second in seconds {
        file.extend(pcap_record(Little, (*second, 0), &[*second as u8], 60));
    }
    file
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).unwrap();
}

#[test]
fn a_file_is_opened_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.pcap", &capture(&[1, 2]));
    write(folder.path(), "b.txt", b"what is this?");
    let mut reader = open(&folder.path().join("a.pcap")).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().data, [1]);
    let kind = |name: &str| open(&folder.path().join(name)).unwrap_err().kind();
    assert_eq!(kind("missing.pcap"), ErrorKind::NotFound);
    assert_eq!(kind("b.txt"), ErrorKind::UnknownFormat);
    let error = open(folder.path()).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Io, "is a directory")
    );
    assert!(error.hint().is_some());
}

#[test]
fn readers_can_move_to_other_threads() {
    fn is_send<T: Send>() {}
    is_send::<weir_capture::CaptureFile>();
    is_send::<Merge<fs::File>>();
    is_send::<weir_capture::Error>();
}

#[test]
fn captures_are_distinguished_from_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let pcap = capture(&[1]);
    let pcapng = [section(Big), interface(Big, 1, 0, &[])].concat();
    let erf: Vec<u8> = (0..3)
        .flat_map(|n| erf(1_700_000_000 << 32 | n, 1, 0, &[0; 64], 60))
        .collect();
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &pcapng).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(&erf[..], 1).unwrap();
    let parquet = [&b"PAR1"[..], &[0x15, 4, 0x15, 16], &[0; 4000], b"PAR1"].concat();
    for (bytes, plain, through) in [
        (
            &pcap,
            Some(Format::Pcap),
            Some((Format::Pcap, Compression::None)),
        ),
        (
            &pcapng,
            Some(Format::Pcapng),
            Some((Format::Pcapng, Compression::None)),
        ),
        (
            &erf,
            Some(Format::Erf),
            Some((Format::Erf, Compression::None)),
        ),
        (&gzip, None, Some((Format::Pcapng, Compression::Gzip))),
        (&zstd, None, Some((Format::Erf, Compression::Zstd))),
        (&parquet, None, None),
        (
            &b"time,source\n2024-01-01,10.0.0.1\n".repeat(500),
            None,
            None,
        ),
        (&b"{\"time\": 1}\n".repeat(500), None, None),
        (&b"ARROW1\0\0\xff\xff\xff\xff".to_vec(), None, None),
        (&Vec::new(), None, None),
        // Damaged, but gzip all the same.
        (&gzip[..12].to_vec(), None, None),
    ] {
        assert_eq!(sniff(bytes), plain);
        write(folder.path(), "file", bytes);
        assert_eq!(sniff_path(&folder.path().join("file")).unwrap(), through);
    }
    let error = sniff_path(&folder.path().join("missing")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn a_pattern_means_all_files_that_match_it_in_order() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("deep/er.pcap")).unwrap();
    for name in ["b.pcap", "a.pcap", "c.pcapng", "deep/d.pcap", "e[1].pcap"] {
        write(folder.path(), name, &capture(&[1]));
    }
    let names = |pattern: &str| -> Vec<String> {
        let root = folder.path().to_str().unwrap();
        expand(&format!("{root}/{pattern}"))
            .map(|paths| {
                let relative = paths
                    .iter()
                    .map(|path| path.strip_prefix(folder.path()).unwrap());
                relative
                    .map(|path| path.to_str().unwrap().to_owned())
                    .collect()
            })
            .unwrap_or_else(|error| vec![format!("{:?}", error.kind())])
    };
    for (pattern, expected) in [
        ("a.pcap", &["a.pcap"][..]),
        ("*.pcap", &["a.pcap", "b.pcap", "e[1].pcap"]),
        ("?.pcap*", &["a.pcap", "b.pcap", "c.pcapng"]),
        (
            "**/*.pcap",
            &["a.pcap", "b.pcap", "deep/d.pcap", "e[1].pcap"],
        ),
        // A name with brackets is a name first.
        ("e[1].pcap", &["e[1].pcap"]),
        ("[ab].pcap", &["a.pcap", "b.pcap"]),
        ("x.pcap", &["NotFound"]),
        ("x*.pcap", &["NotFound"]),
        ("a***.pcap", &["NotFound"]),
    ] {
        assert_eq!(names(pattern), expected, "{pattern}");
    }
    let error = expand("no-such-folder/*.pcap").unwrap_err();
    assert_eq!(error.to_string(), "no file matches no-such-folder/*.pcap");
    assert!(error.hint().is_some());
    let error = expand("a***.pcap").unwrap_err();
    assert!(
        error.to_string().starts_with("the pattern is not valid: "),
        "{error}"
    );
}

/// Such a file, folder or link was passed over without a word.
#[cfg(unix)]
#[test]
fn a_pattern_finds_names_that_are_not_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let odd = |bytes: &'static [u8]| root.join(OsStr::from_bytes(bytes));
    fs::create_dir(odd(b"d\xfe")).unwrap();
    for path in [
        odd(b"a.pcap"),
        odd(b"b\xff.pcap"),
        odd(b"d\xfe/c\xe9\\.pcap"),
    ] {
        fs::write(path, capture(&[1])).unwrap();
    }
    std::os::unix::fs::symlink(odd(b"b\xff.pcap"), odd(b"l\xfd.pcap")).unwrap();
    // A link that leads nowhere is found, as its reader reports the error; one that leads around is walked once.
    std::os::unix::fs::symlink("nowhere", odd(b"n\xff.pcap")).unwrap();
    std::os::unix::fs::symlink(".", odd(b"round")).unwrap();
    let found = |pattern: &str| -> Vec<String> {
        let paths = expand(&format!("{}/{pattern}", root.to_str().unwrap())).unwrap();
        let relative = paths.iter().map(|path| path.strip_prefix(root).unwrap());
        relative
            .map(|path| weir_capture::shown(path).into_owned())
            .collect()
    };
    let here = ["a.pcap", r"b\xff.pcap", r"l\xfd.pcap", r"n\xff.pcap"];
    assert_eq!(found("*.pcap"), here);
    assert_eq!(
        found("?*[!x].pcap"),
        [r"b\xff.pcap", r"l\xfd.pcap", r"n\xff.pcap"]
    );
    assert_eq!(found("b?.pcap"), [r"b\xff.pcap"]);
    let mut all = here.to_vec();
    all.insert(2, r"d\xfe/c\xe9\\.pcap");
    assert_eq!(found("**/*.pcap"), all);
    assert_eq!(found("d*/*"), [r"d\xfe/c\xe9\\.pcap"]);
    // Each listed name can be given back as a path.
    for name in all.into_iter().filter(|name| !name.starts_with('n')) {
        assert_eq!(found(name), [name]);
        assert_eq!(expand(root.join(name).to_str().unwrap()).unwrap().len(), 1);
    }
}

/// File and second of each record.
fn merged(files: &[Vec<u8>]) -> (Vec<(usize, u8)>, Vec<usize>) {
    let readers = files
        .iter()
        .map(|file| Reader::new(&file[..]).unwrap())
        .collect();
    let mut merge = Merge::new(readers);
    let (mut order, mut failed) = (Vec::new(), Vec::new());
    loop {
        match merge.next() {
            Ok(Some((file, record))) => order.push((file, record.data[0])),
            Ok(None) => break,
            Err(error) => failed.push(error.file),
        }
    }
    assert!(matches!(merge.next(), Ok(None)), "the end stays the end");
    (order, failed)
}

#[test]
fn records_of_several_files_come_in_the_order_of_time() {
    let (order, failed) = merged(&[capture(&[1, 4, 9]), capture(&[]), capture(&[2, 4, 5])]);
    assert_eq!(order, [(0, 1), (2, 2), (0, 4), (2, 4), (2, 5), (0, 9)]);
    assert_eq!(failed, []);
    // A clock that runs backwards does not reorder its own file.
    let (order, _) = merged(&[capture(&[5, 1, 6]), capture(&[2, 7])]);
    assert_eq!(order, [(1, 2), (0, 5), (0, 1), (0, 6), (1, 7)]);
    assert_eq!(merged(&[]).0, []);
}

#[test]
fn a_record_without_a_time_goes_with_the_one_before() {
    let pcapng = [
        section(Little),
        interface(Little, 1, 0, &option(Little, 9, &[0])),
        enhanced(Little, 0, 3, &[3], 1, &[]),
        simple(Little, &[33], 1),
        enhanced(Little, 0, 6, &[6], 1, &[]),
    ]
    .concat();
    let (order, _) = merged(&[capture(&[1, 4]), pcapng]);
    assert_eq!(order, [(0, 1), (1, 3), (1, 33), (0, 4), (1, 6)]);
}

/// The seconds in the order in which a window of so many bytes gives them, and how many came too late for it.
fn in_window(files: &[Vec<u8>], bytes: usize) -> (Vec<(usize, u8)>, u64) {
    let readers = files.iter().map(|file| Reader::new(&file[..]).unwrap());
    let mut merge = Merge::new(readers.collect()).with_window(bytes);
    let mut order = Vec::new();
    while let Some((file, record)) = merge.next().unwrap() {
        assert_eq!(record.interface.link_type, record.link_type);
        order.push((file, record.data[0]));
    }
    (order, merge.late())
}

/// The records of one file once kept its order, also when their times did not.
#[test]
fn records_of_one_file_come_in_the_order_of_time_within_a_window() {
    let file = capture(&[1, 5, 3, 4, 2, 9, 7, 7]);
    let sorted = [1, 2, 3, 4, 5, 7, 7, 9].map(|second| (0, second));
    assert_eq!(
        in_window(std::slice::from_ref(&file), 1 << 20),
        (sorted.to_vec(), 0)
    );
    // A record of a byte takes 161: four wait, and then the earliest is given.
    let (order, late) = in_window(std::slice::from_ref(&file), 4 * 161);
    assert_eq!((order, late), (sorted.to_vec(), 0));
    // A window of two records yields 5 before 2, and a window of one changes nothing.
    let (order, late) = in_window(std::slice::from_ref(&file), 2 * 161);
    assert_eq!(order, [1, 3, 4, 2, 5, 7, 7, 9].map(|second| (0, second)));
    assert_eq!(late, 1);
    let (order, late) = in_window(&[file], 1);
    assert_eq!(order, [1, 5, 3, 4, 2, 9, 7, 7].map(|second| (0, second)));
    assert_eq!(late, 5);
    // Several files, whose order at equal times is that of their names.
    let files = [capture(&[5, 1, 6]), capture(&[2, 7, 6, 5])];
    let (order, late) = in_window(&files, 1 << 20);
    assert_eq!(
        order,
        [(0, 1), (1, 2), (0, 5), (1, 5), (0, 6), (1, 6), (1, 7)]
    );
    assert_eq!(late, 0);
    assert_eq!(in_window(&[], 1 << 20), (vec![], 0));
}

/// The metadata of a record wait together with its bytes.
#[test]
fn records_that_wait_are_whole() {
    let described = |name: &[u8]| {
        let options = [option(Little, 2, name), option(Little, 9, &[0])].concat();
        interface(Little, 1, 0, &options)
    };
    let comment = option(Little, 1, b"why");
    let file = [
        section(Little),
        described(b"eth0"),
        described(b"eth1"),
        enhanced(Little, 1, 9, &[9], 60, &comment),
        enhanced(Little, 0, 8, &[8], 61, &[]),
        simple(Little, &[88], 1),
        // Another section has other interfaces.
        section(Little),
        described(b"wlan0"),
        enhanced(Little, 0, 7, &[7], 62, &[]),
    ]
    .concat();
    let reader = Reader::new(&file[..]).unwrap();
    let mut merge = Merge::new(vec![reader]).with_window(1 << 20);
    let mut found = Vec::new();
    while let Some((_, record)) = merge.next().unwrap() {
        let name = record.interface.name.clone().unwrap();
        let comment = record.comment.map(str::to_owned);
        found.push((
            record.number,
            record.data[0],
            record.wire_len,
            name,
            comment,
        ));
    }
    let row = |number, byte, wire_len, name: &str, comment: Option<&str>| {
        (
            number,
            byte,
            wire_len,
            name.to_owned(),
            comment.map(str::to_owned),
        )
    };
    assert_eq!(
        found,
        [
            row(4, 7, 62, "wlan0", None),
            row(2, 8, 61, "eth0", None),
            // A record without a time stays after the one before it.
            row(3, 88, 1, "eth0", None),
            row(1, 9, 60, "eth1", Some("why")),
        ]
    );
}

#[test]
fn a_damaged_file_does_not_stop_the_others() {
    let mut cut = capture(&[2, 3]);
    cut.pop();
    let mut cut_at_once = capture(&[2]);
    cut_at_once.pop();
    let (order, failed) = merged(&[capture(&[1, 4]), cut, cut_at_once]);
    assert_eq!(order, [(0, 1), (1, 2), (0, 4)]);
    assert_eq!(failed, [2, 1]);
}

#[test]
fn many_files_are_opened_with_small_buffers() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..50_u32 {
        write(
            folder.path(),
            &format!("{number:02}.pcap"),
            &capture(&[50 - number, 100 + number]),
        );
    }
    let paths = expand(folder.path().join("*.pcap").to_str().unwrap()).unwrap();
    let mut merge = Merge::open(&paths, &ReadOptions::default()).unwrap();
    let mut seconds = Vec::new();
    while let Some((_, record)) = merge.next().unwrap() {
        seconds.push(record.time_ns.unwrap() / 1_000_000_000);
    }
    assert_eq!(seconds.len(), 100);
    assert!(seconds.is_sorted());
    assert_eq!(
        merge.readers().map(Reader::bytes_read).sum::<u64>(),
        50 * 58
    );
    let missing = [paths[0].clone(), folder.path().join("missing")];
    let error = Merge::open(&missing, &ReadOptions::default()).unwrap_err();
    assert_eq!((error.file, error.error.kind()), (1, ErrorKind::NotFound));
}
