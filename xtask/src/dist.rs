//! The packages for users: archives, Debian and RPM packages, a wheel, a formula and an image, with checksums and a bill of
//! materials, all made from one program.
//!
//! Only [`binary`] builds anything; what comes after it takes any program (`--binary PATH`), so that it is tested
//! without a release. Parts that need a missing tool are named and left out, and the rest is made. The same program
//! makes the same bytes: times are those of the commit, owners are root, names are sorted.

mod sbom;
mod wheel;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

use crate::process::{installed, missing, run};
use crate::workspace::{cargo, root, target_dir};

/// The arguments of the command.
#[derive(Debug, Default)]
struct DistArgs {
    binary: Option<PathBuf>,
    targets: Vec<String>,
    out: Option<PathBuf>,
    check: bool,
}

/// A program, and what is known of it.
#[derive(Debug)]
struct Program {
    path: PathBuf,
    target: String,
    version: String,
    /// The oldest C library that it runs with, such as 2.34; `None` when it needs none.
    libc: Option<(u32, u32)>,
}

/// `cargo xtask dist`.
pub(crate) fn command(words: &[&str]) -> Result<()> {
    let wanted = wanted(words)?;
    let out = match &wanted.out {
        Some(out) => out.clone(),
        None => target_dir()?.join("dist"),
    };
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    let mut made = 0;
    for program in programs(&wanted)? {
        eprintln!("{} for {}", program.version, program.target);
        make(&program, &out)?;
        if wanted.check {
            check(&program, &out)?;
        }
        made += 1;
    }
    if made == 0 {
        bail!("no program was made");
    }
    sums(&out)?;
    for name in names(&out)? {
        println!("{}", out.join(name).display());
    }
    Ok(())
}

fn wanted(words: &[&str]) -> Result<DistArgs> {
    let mut wanted = DistArgs::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().context(format!("{word} needs a value"));
        match *word {
            "--binary" => wanted.binary = Some(PathBuf::from(value()?)),
            "--target" => wanted.targets.push((*value()?).to_owned()),
            "--out" => wanted.out = Some(PathBuf::from(value()?)),
            "--check" => wanted.check = true,
            other => bail!("{other} is none of --binary, --target, --out and --check"),
        }
    }
    if wanted.binary.is_some() && wanted.targets.len() > 1 {
        bail!("one program is of one target");
    }
    Ok(wanted)
}

/// The requested programs; targets that cannot be built here are reported.
fn programs(wanted: &DistArgs) -> Result<Vec<Program>> {
    if let Some(path) = &wanted.binary {
        return Ok(vec![Program::of(
            path,
            wanted.targets.first().map(String::as_str),
        )?]);
    }
    let host = host()?;
    let targets = match wanted.targets.as_slice() {
        [] => vec![
            host.clone(),
            "x86_64-unknown-linux-musl".to_owned(),
            "aarch64-unknown-linux-musl".to_owned(),
        ],
        some => some.to_vec(),
    };
    let mut programs = Vec::new();
    for target in targets {
        if let Some(path) = binary(&target, &host)? {
            programs.push(Program::of(&path, Some(&target))?);
        }
    }
    Ok(programs)
}

/// Builds the program of a release for a target; `None`, with a message, when the tools for it are missing.
fn binary(target: &str, host: &str) -> Result<Option<PathBuf>> {
    let mut build = if target == host {
        cargo(&["build"])?
    } else {
        let known = Command::new("rustup")
            .args(["target", "list", "--installed"])
            .output()
            .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            .unwrap_or_default();
        if !known.lines().any(|known| known == target) {
            let hint = format!("rustup target add {target}");
            missing(&hint, &format!("no program for {target}"))?;
            return Ok(None);
        }
        // The C of zstd needs a compiler that knows the target: zig does, and cargo-zigbuild calls it.
        if !installed("cargo-zigbuild") || !installed("zig") && !has_python_zig() {
            missing(
                "cargo-zigbuild and zig (pip install ziglang)",
                &format!("no program for {target}"),
            )?;
            return Ok(None);
        }
        cargo(&["zigbuild"])?
    };
    build.args([
        "--release",
        "--locked",
        "-p",
        "weir-cli",
        "--features",
        "full",
        "--target",
        target,
    ]);
    // Two builds of one commit are to be the same wherever they are made.
    build.env("SOURCE_DATE_EPOCH", epoch()?.to_string());
    build.env("CARGO_PROFILE_RELEASE_STRIP", "true");
    // The program has a third fewer pages to fill in when it starts, and takes 12 GB of memory to link.
    build.env("CARGO_PROFILE_RELEASE_LTO", "fat");
    run(&mut build)?;
    Ok(Some(
        target_dir()?.join(target).join("release").join("weir"),
    ))
}

fn has_python_zig() -> bool {
    let output = Command::new("python3")
        .args(["-m", "ziglang", "version"])
        .output();
    output.is_ok_and(|output| output.status.success())
}

fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc names its host")?.to_owned())
}

/// Seconds since 1970 of the last commit, or of SOURCE_DATE_EPOCH.
fn epoch() -> Result<u64> {
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        return text.parse().context("SOURCE_DATE_EPOCH is a number");
    }
    let output = Command::new("git")
        .args(["log", "-1", "--format=%ct"])
        .current_dir(root()?)
        .output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    Ok(said.unwrap_or_default().trim().parse().unwrap_or(0))
}

impl Program {
    fn of(path: &Path, target: Option<&str>) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        let target = match target {
            Some(target) => target.to_owned(),
            None => {
                target_of(&bytes).context("the program says no target: --target TRIPLE does")?
            }
        };
        let output = Command::new(path).arg("--version").output();
        let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        // A program for another machine does not run here.
        let version = said
            .ok()
            .and_then(|said| Some(said.split_whitespace().nth(1)?.to_owned()));
        Ok(Self {
            path: path.to_owned(),
            version: version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            libc: libc_of(&bytes),
            target,
        })
    }

    fn machine(&self) -> &str {
        self.target.split('-').next().unwrap_or_default()
    }

    fn is_linux(&self) -> bool {
        self.target.contains("linux")
    }

    /// The program runs here, so that it can print its pages and scripts.
    fn ask(&self, words: &[&str]) -> Result<Vec<u8>> {
        let output = Command::new(&self.path).args(words).output()?;
        if !output.status.success() {
            bail!(
                "{} {}: {}",
                self.path.display(),
                words.join(" "),
                output.status
            );
        }
        Ok(output.stdout)
    }
}

/// The target of an ELF program by its header and by the loader that it names.
fn target_of(bytes: &[u8]) -> Option<String> {
    let machine = match (bytes.get(..4)?, bytes.get(18..20)?) {
        (b"\x7fELF", [62, 0]) => "x86_64",
        (b"\x7fELF", [183, 0]) => "aarch64",
        _ => return None,
    };
    let libc = match libc_of(bytes) {
        Some(_) => "gnu",
        None => "musl",
    };
    Some(format!("{machine}-unknown-linux-{libc}"))
}

/// The oldest version of glibc that starts a program: the newest whose symbols it names, and the one since which packed
/// addresses are filled in, where it has them.
fn libc_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let sign = b"GLIBC_";
    let version = |at: usize| {
        let text = bytes.get(at + sign.len()..)?;
        let len = text
            .iter()
            .position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
        let text = std::str::from_utf8(text.get(..len)?).ok()?;
        let mut parts = text.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??))
    };
    let packed = b"GLIBC_ABI_DT_RELR";
    let needs = |at: usize| match bytes.get(at..).is_some_and(|rest| rest.starts_with(packed)) {
        true => Some((2, 36)),
        false => version(at),
    };
    let places = bytes.windows(sign.len()).enumerate();
    places
        .filter(|(_, window)| window == sign)
        .filter_map(|(at, _)| needs(at))
        .max()
}

/// All that is made of one program.
fn make(program: &Program, out: &Path) -> Result<()> {
    let stage = out.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    lay_out(program, &stage)?;
    let archive = archive(program, &stage, out)?;
    if program.is_linux() {
        debian(program, &stage, out)?;
        rpm(program, &stage, out)?;
        wheel::make(program, out, epoch()?)?;
        formula(program, &archive, out)?;
        image(program, out)?;
    }
    sbom::make(program, out)?;
    fs::remove_dir_all(&stage)?;
    Ok(())
}

/// The files as they lie once they are installed, below a folder.
fn lay_out(program: &Program, stage: &Path) -> Result<()> {
    let put = |path: &str, bytes: &[u8], mode: u32| -> Result<()> {
        let path = stage.join(path);
        fs::create_dir_all(path.parent().context("a path has a folder")?)?;
        fs::write(&path, bytes)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        Ok(())
    };
    put("usr/bin/weir", &fs::read(&program.path)?, 0o755)?;
    let pages = stage.join("pages");
    let asked = (|| -> Result<()> {
        for (shell, path) in COMPLETIONS {
            put(path, &program.ask(&["completions", shell])?, 0o644)?;
        }
        fs::create_dir_all(&pages)?;
        program.ask(&["man", &pages.to_string_lossy()])?;
        for name in names(&pages)? {
            let page = packed(&fs::read(pages.join(&name))?)?;
            put(&format!("usr/share/man/man1/{name}.gz"), &page, 0o644)?;
        }
        fs::remove_dir_all(&pages)?;
        Ok(())
    })();
    if let Err(error) = asked {
        // A program for another machine cannot print its pages here, so its packages lack them.
        if program.target == host()? {
            return Err(error);
        }
        missing(
            &format!("machine that runs {}", program.target),
            "completions and manual pages are not in its packages",
        )?;
    }
    let root = root()?;
    let read = |name: &str| fs::read(root.join(name)).with_context(|| name.to_owned());
    put("usr/share/doc/weir/README.md", &read("README.md")?, 0o644)?;
    let changes = packed(&read("CHANGELOG.md")?)?;
    put("usr/share/doc/weir/changelog.gz", &changes, 0o644)?;
    // The program has a font in it.
    let licences = [
        read("LICENSE-APACHE")?,
        read("LICENSE-MIT")?,
        read("crates/weir-output/fonts/LICENSE")?,
    ];
    put(
        "usr/share/doc/weir/copyright",
        &licences.join(&b"\n\n"[..]),
        0o644,
    )?;
    Ok(())
}

/// gzip without a name and a time.
fn packed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// `weir-VERSION-TARGET.tar.gz`: a folder with `bin` and `share`, to be unpacked anywhere.
fn archive(program: &Program, stage: &Path, out: &Path) -> Result<PathBuf> {
    let name = format!("weir-{}-{}", program.version, program.target);
    let path = out.join(format!("{name}.tar.gz"));
    let tar = out.join(format!("{name}.tar"));
    run(Command::new("tar")
        .args([
            "--create",
            "--sort=name",
            "--format=gnu",
            "--owner=0",
            "--group=0",
        ])
        .args(["--numeric-owner", "--mode=go-w"])
        .arg(format!("--mtime=@{}", epoch()?))
        .arg(format!("--transform=s,^usr,{name},"))
        .arg("--directory")
        .arg(stage)
        .arg("--file")
        .arg(&tar)
        .arg("usr"))?;
    fs::write(&path, packed(&fs::read(&tar)?)?)?;
    fs::remove_file(&tar)?;
    Ok(path)
}

/// A Debian package, by dpkg-deb.
fn debian(program: &Program, stage: &Path, out: &Path) -> Result<()> {
    if !installed("dpkg-deb") {
        return missing("dpkg-deb", "no Debian package is made");
    }
    let machine = match program.machine() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("Debian's name for {other} is not known here"),
    };
    let depends = match program.libc {
        Some((major, minor)) => format!("Depends: libc6 (>= {major}.{minor}), libgcc-s1\n"),
        None => String::new(),
    };
    let size: u64 = sizes(stage)? / 1024;
    let control = format!(
        "Package: weir\nVersion: {version}\nArchitecture: {machine}\nMaintainer: The weir project <weir@localhost>\n\
         Installed-Size: {size}\nSection: net\nPriority: optional\n{depends}Suggests: libcap2-bin\n\
         Homepage: {HOMEPAGE}\nDescription: {SUMMARY}\n{DESCRIPTION}\n The capability to capture (cap_net_raw) \
         is set when the package is installed, for all\n users of the machine; with WEIR_NO_CAPTURE=1 in the \
         environment of the\n installation it is not.\n",
        version = program.version,
    );
    let folder = stage.join("DEBIAN");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("control"), control)?;
    fs::write(folder.join("postinst"), AFTER_INSTALL)?;
    fs::set_permissions(folder.join("postinst"), fs::Permissions::from_mode(0o755))?;
    let path = out.join(format!("weir_{}_{machine}.deb", program.version));
    run(Command::new("dpkg-deb")
        .args(["--root-owner-group", "-Zgzip", "--build"])
        .arg(stage)
        .arg(&path)
        .env("SOURCE_DATE_EPOCH", epoch()?.to_string()))?;
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// An RPM, by rpmbuild.
fn rpm(program: &Program, stage: &Path, out: &Path) -> Result<()> {
    if !installed("rpmbuild") {
        return missing("rpmbuild", "no RPM is made");
    }
    let work = out.join("rpm");
    fs::create_dir_all(&work)?;
    let machine = program.machine();
    let spec = format!(
        "Name: weir\nVersion: {version}\nRelease: 1\nSummary: {SUMMARY}\nLicense: Apache-2.0 OR MIT\nURL: {HOMEPAGE}\n\
         %description\n{DESCRIPTION}\n%install\ncp -a %{{stage}}/usr %{{buildroot}}/\n\
         %post\nif [ -z \"$WEIR_NO_CAPTURE\" ] && command -v setcap >/dev/null; then setcap cap_net_raw+ep /usr/bin/weir || :; fi\n\
         %files\n%attr(755,root,root) /usr/bin/weir\n/usr/share/doc/weir\n{more}",
        version = program.version.replace('-', "~"),
        more = match stage.join("usr/share/man").exists() {
            true =>
                "/usr/share/man/man1/*\n/usr/share/bash-completion/completions/weir\n\
                     /usr/share/zsh/site-functions/_weir\n/usr/share/fish/vendor_completions.d/weir.fish\n",
            false => "",
        },
    );
    let spec_path = work.join("weir.spec");
    fs::write(&spec_path, spec)?;
    let define = |name: &str, value: &str| format!("{name} {value}");
    run(Command::new("rpmbuild")
        .args(["--quiet", "-bb"])
        .args(["--target", machine])
        .args(["--define", &define("_topdir", &work.to_string_lossy())])
        .args([
            "--define",
            &define("stage", &stage.canonicalize()?.to_string_lossy()),
        ])
        // These definitions keep the program unchanged: rpmbuild does not strip, compress or index it.
        .args(["--define", "__os_install_post %{nil}"])
        .args(["--define", "debug_package %{nil}"])
        .args(["--define", "_build_id_links none"])
        .args(["--define", "use_source_date_epoch_as_buildtime 1"])
        .args(["--define", "clamp_mtime_to_source_date_epoch 1"])
        .args(["--define", "_buildhost weir"])
        .arg(&spec_path)
        .env("SOURCE_DATE_EPOCH", epoch()?.to_string()))?;
    for name in names(&work.join("RPMS").join(machine))? {
        let from = work.join("RPMS").join(machine).join(&name);
        fs::rename(from, out.join(&name))?;
    }
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// A formula for Homebrew: on Linux it takes the archive, elsewhere it builds.
fn formula(program: &Program, archive: &Path, out: &Path) -> Result<()> {
    let sum = sum(archive)?;
    let name = archive
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let folder = name.trim_end_matches(".tar.gz").to_owned();
    let text = format!(
        "# Made by cargo xtask dist.\nclass Weir < Formula\n  desc \"{SUMMARY}\"\n  homepage \"{HOMEPAGE}\"\n  \
         version \"{version}\"\n  license any_of: [\"Apache-2.0\", \"MIT\"]\n\n  on_linux do\n    \
         url \"{HOMEPAGE}/releases/download/v{version}/{name}\"\n    sha256 \"{sum}\"\n  end\n\n  on_macos do\n    \
         url \"{HOMEPAGE}.git\", tag: \"v{version}\"\n    depends_on \"rust\" => :build\n  end\n\n  def install\n    \
         if OS.mac?\n      system \"cargo\", \"install\", \"--locked\", \"--features\", \"full\", *std_cargo_args(path: \"crates/weir-cli\")\n      \
         generate_completions_from_executable(bin/\"weir\", \"completions\")\n      \
         system bin/\"weir\", \"man\", man1\n    else\n      bin.install \"bin/weir\"\n      \
         man1.install Dir[\"share/man/man1/*\"]\n      \
         bash_completion.install \"share/bash-completion/completions/weir\"\n      \
         zsh_completion.install \"share/zsh/site-functions/_weir\"\n      \
         fish_completion.install \"share/fish/vendor_completions.d/weir.fish\"\n    end\n  end\n\n  test do\n    \
         assert_match version.to_s, shell_output(\"#{{bin}}/weir --version\")\n    system bin/\"weir\", \"demo\", \"--quiet\"\n  end\nend\n\
         # {folder}\n",
        version = program.version,
    );
    fs::write(out.join(format!("weir-{}.rb", program.machine())), text)?;
    Ok(())
}

/// The Containerfile of an image: `docker build -f Containerfile -t weir .` beside the archive.
fn image(program: &Program, out: &Path) -> Result<()> {
    let template = fs::read_to_string(root()?.join("deploy/container/Containerfile"))?;
    let base = match program.libc {
        Some(_) => "debian:stable-slim",
        None => "scratch",
    };
    let archive = format!("weir-{}-{}", program.version, program.target);
    let text = template
        .replace("ARG BASE=scratch", &format!("ARG BASE={base}"))
        .replace("ARG ARCHIVE=weir", &format!("ARG ARCHIVE={archive}"));
    fs::write(out.join(format!("Containerfile.{}", program.target)), text)?;
    Ok(())
}

/// Unpacks the archive of a program, installs its Debian package and its wheel into empty folders, and runs each.
fn check(program: &Program, out: &Path) -> Result<()> {
    let work = out.join("check");
    fs::create_dir_all(&work)?;
    let work = work.canonicalize()?;
    let says_version = |path: &Path| -> Result<()> {
        let output = Command::new(path)
            .arg("--version")
            .env_clear()
            .output()
            .with_context(|| path.display().to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if said != format!("weir {} (release)", program.version) {
            bail!("{} --version says {said:?}", path.display());
        }
        Ok(())
    };
    let runs_here = program.machine() == std::env::consts::ARCH;
    let name = format!("weir-{}-{}", program.version, program.target);
    run(Command::new("tar")
        .arg("--extract")
        .arg("--directory")
        .arg(&work)
        .arg("--file")
        .arg(out.join(format!("{name}.tar.gz"))))?;
    if runs_here {
        says_version(&work.join(&name).join("bin/weir"))?;
        check_debian(out, &work, &says_version)?;
        wheel::check(out, &work, &says_version)?;
    }
    fs::remove_dir_all(&work)?;
    Ok(())
}

fn check_debian(out: &Path, work: &Path, says: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
    let package = names(out)?.into_iter().find(|name| name.ends_with(".deb"));
    let Some(package) = package else {
        return Ok(());
    };
    let package = out.join(package).canonicalize()?;
    let place = work.join("debian");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(place.join(folder))?;
    }
    fs::write(place.join("var/lib/dpkg/status"), "")?;
    let dpkg = |words: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", place.display()));
        // There is no C library below this root, nor a shell.
        dpkg.args([
            "--force-script-chrootless",
            "--force-depends",
            "--force-not-root",
        ]);
        dpkg.args(words);
        dpkg
    };
    run(dpkg(&["--install"]).arg(&package))?;
    says(&place.join("usr/bin/weir"))?;
    for (_, path) in COMPLETIONS {
        let len = fs::metadata(place.join(path))
            .with_context(|| path.to_owned())?
            .len();
        if len == 0 {
            bail!("{path} is empty");
        }
    }
    if !place.join("usr/share/man/man1/weir.1.gz").exists() {
        bail!("the package has no manual page");
    }
    run(&mut dpkg(&["--remove", "weir"]))?;
    if place.join("usr/bin/weir").exists() {
        bail!("the package leaves its program behind");
    }
    Ok(())
}

/// `SHA256SUMS` of everything that was made.
fn sums(out: &Path) -> Result<()> {
    let mut text = String::new();
    for name in names(out)? {
        text.push_str(&format!("{}  {name}\n", sum(&out.join(&name))?));
    }
    fs::write(out.join("SHA256SUMS"), text)?;
    Ok(())
}

fn sum(path: &Path) -> Result<String> {
    let digest = Sha256::digest(fs::read(path)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Bytes of all files below a folder.
fn sizes(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += match metadata.is_dir() {
            true => sizes(&entry.path())?,
            false => metadata.len(),
        };
    }
    Ok(total)
}

/// The folders that shells search for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/weir"),
    ("zsh", "usr/share/zsh/site-functions/_weir"),
    ("fish", "usr/share/fish/vendor_completions.d/weir.fish"),
];
const HOMEPAGE: &str = "https://github.com/weir-project/weir";
const SUMMARY: &str = "SQL over network captures and signalling";
const DESCRIPTION: &str = " Captures (pcap, pcapng, ERF, snoop, NetMon), interfaces, flows, SIP, Megaco and\n \
    WebSocket are tables, with Wireshark's field names.";
/// The script that Debian runs after unpacking, also below another root.
const AFTER_INSTALL: &str = "#!/bin/sh\nset -e\n\
    if [ \"$1\" = configure ] && [ -z \"$WEIR_NO_CAPTURE\" ] && command -v setcap >/dev/null; then\n    \
    # Where the file system keeps no capabilities, capturing takes root.\n    \
    setcap cap_net_raw+ep \"$DPKG_ROOT/usr/bin/weir\" || echo \"weir: capturing takes root here\" >&2\nfi\n";

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that answers as weir does as far as packages ask it.
    const STAND_IN: &str = "#!/bin/sh\ncase \"$1\" in\n--version) echo 'weir 9.8.7 (release)' ;;\n\
        completions) echo \"# completions of $2\" ;;\nman) echo '.TH weir' > \"$2/weir.1\"; echo '.TH q' > \"$2/weir-query.1\" ;;\nesac\n";

    #[test]
    fn packages_of_any_program_are_made_alike_and_installed_where_nothing_is() {
        let folder = std::env::temp_dir().join(format!("weir-dist-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let binary = folder.join("weir");
        fs::write(&binary, STAND_IN).unwrap();
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let mut made = Vec::new();
        for round in ["one", "two"] {
            let out = folder.join(round);
            let mut words = vec!["--target", target.as_str()];
            // Once is enough of installing.
            words.extend((round == "one").then_some("--check"));
            words.push("--binary");
            let paths = [binary.to_str().unwrap(), "--out", out.to_str().unwrap()];
            command(&[&words[..], &paths[..]].concat()).unwrap();
            made.push(fs::read_to_string(out.join("SHA256SUMS")).unwrap());
        }
        for name in [".tar.gz", ".whl", ".rb", ".cdx.json", "Containerfile"] {
            assert!(made[0].contains(name), "{name} is missing:\n{}", made[0]);
        }
        if installed("dpkg-deb") {
            assert!(made[0].contains(".deb"), "{}", made[0]);
        }
        // RPMs have a number of their own that is made at random before version 4.19.
        let same = |sums: &str| -> Vec<String> {
            let lines = sums.lines().filter(|line| !line.ends_with(".rpm"));
            lines.map(ToOwned::to_owned).collect()
        };
        assert_eq!(
            same(&made[0]),
            same(&made[1]),
            "the same program, other bytes"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_program_says_what_it_runs_on() {
        let mut bytes =
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0 GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.4\0"
                .to_vec();
        assert_eq!(libc_of(&bytes), Some((2, 34)));
        let packed = [&bytes[..], b"GLIBC_ABI_DT_RELR\0"].concat();
        assert_eq!(libc_of(&packed), Some((2, 36)));
        assert_eq!(target_of(&bytes).unwrap(), "x86_64-unknown-linux-gnu");
        bytes.truncate(20);
        assert_eq!(target_of(&bytes).unwrap(), "x86_64-unknown-linux-musl");
        assert_eq!(target_of(b"#!/bin/sh"), None);
    }
}
