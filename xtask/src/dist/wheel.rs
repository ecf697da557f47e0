//! A wheel that carries the program: `pip install weir-cli` puts `weir` beside `python` (PEP 427).

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, Datelike as _, Timelike as _};
use flate2::{Compression, Crc, write::DeflateEncoder};
use sha2::{Digest, Sha256};

use super::{HOMEPAGE, Program, SUMMARY, names};
use crate::process::{missing, run};
use crate::workspace::root;

/// Writes the wheel of a program.
pub(super) fn make(program: &Program, out: &Path, epoch: u64) -> Result<()> {
    let version = program.version.replace('-', "+");
    let machine = program.machine();
    let platform = match program.libc {
        // A static program runs with glibc and with musl.
        None => format!("manylinux_2_17_{machine}.musllinux_1_1_{machine}"),
        Some((major, minor)) => format!("manylinux_{major}_{minor}_{machine}"),
    };
    let tags: Vec<String> = platform
        .split('.')
        .map(|platform| format!("Tag: py3-none-{platform}\n"))
        .collect();
    let readme = fs::read_to_string(root()?.join("README.md"))?;
    let info = format!("weir_cli-{version}.dist-info");
    let metadata = format!(
        "Metadata-Version: 2.4\nName: weir-cli\nVersion: {version}\nSummary: {SUMMARY}\nHome-page: {HOMEPAGE}\n\
         License-Expression: Apache-2.0 OR MIT\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}"
    );
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n{}",
        tags.concat()
    );
    let mut files = vec![
        (
            format!("weir_cli-{version}.data/scripts/weir"),
            fs::read(&program.path)?,
            0o755,
        ),
        (format!("{info}/METADATA"), metadata.into_bytes(), 0o644),
        (format!("{info}/WHEEL"), wheel.into_bytes(), 0o644),
    ];
    let mut record = String::new();
    for (name, bytes, _) in &files {
        let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        record.push_str(&format!("{name},sha256={digest},{}\n", bytes.len()));
    }
    record.push_str(&format!("{info}/RECORD,,\n"));
    files.push((format!("{info}/RECORD"), record.into_bytes(), 0o644));
    let path = out.join(format!("weir_cli-{version}-py3-none-{platform}.whl"));
    fs::write(path, zip(&files, epoch)?)?;
    Ok(())
}

/// A zip archive of files with their modes, all of one time.
fn zip(files: &[(String, Vec<u8>, u32)], epoch: u64) -> Result<Vec<u8>> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    let time = dos_time(epoch);
    for (name, content, mode) in files {
        let mut crc = Crc::new();
        crc.update(content);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content)?;
        let packed = encoder.finish()?;
        let mut fields = vec![20, 0, 0, 0, 8, 0];
        fields.extend(time.to_le_bytes());
        for number in [
            crc.sum(),
            u32::try_from(packed.len())?,
            u32::try_from(content.len())?,
        ] {
            fields.extend(number.to_le_bytes());
        }
        fields.extend(u32::try_from(name.len())?.to_le_bytes());
        // Made on Unix, whose modes stand in the upper half of the attributes.
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&fields);
        directory.extend([0; 6]);
        directory.extend(((0o10_0000 | mode) << 16).to_le_bytes());
        directory.extend(u32::try_from(bytes.len())?.to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(fields);
        bytes.extend(name.as_bytes());
        bytes.extend(packed);
    }
    let start = u32::try_from(bytes.len()).context("a wheel has less than 4 GiB")?;
    let count = u16::try_from(files.len())?;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend(u32::try_from(directory.len())?.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    Ok(bytes)
}

/// A time as zip archives have it, in UTC: date in the upper half, in units of two seconds.
fn dos_time(epoch: u64) -> u32 {
    // The first instant that there is.
    const FIRST: u64 = 315_532_800;
    let seconds = epoch.clamp(FIRST, u64::from(u32::MAX));
    let time = DateTime::from_timestamp(seconds.cast_signed(), 0).unwrap_or_default();
    let date = ((time.year_ce().1 - 1980) << 9) | (time.month() << 5) | time.day();
    let clock = (time.hour() << 11) | (time.minute() << 5) | (time.second() / 2);
    (date << 16) | clock
}

/// Installs the wheel into an empty environment, and runs the program.
pub(super) fn check(out: &Path, work: &Path, says: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
    let wheel = names(out)?.into_iter().find(|name| name.ends_with(".whl"));
    let Some(wheel) = wheel else {
        return Ok(());
    };
    let place = work.join("python");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&place);
    if !venv.output().is_ok_and(|output| output.status.success()) {
        return missing("python3 with venv", "the wheel is not installed");
    }
    run(Command::new(place.join("bin/python"))
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-index",
            "--disable-pip-version-check",
        ])
        .arg(out.join(wheel)))?;
    says(&place.join("bin/weir"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(dos_time(0), 0x0021_0000);
        // 2026-11-23T13:46:30Z.
        let expected: u32 = (46 << 9 | 11 << 5 | 23) << 16 | (13 << 11 | 46 << 5 | 15);
        assert_eq!(dos_time(1_795_441_590), expected);
        // A leap day.
        assert_eq!(dos_time(1_709_164_800) >> 16, 44 << 9 | 2 << 5 | 29);
    }
}
