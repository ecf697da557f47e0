//! Output that others write by a path: a file, or a folder of files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::new::{finish, renamed};
use crate::open_folder::OpenFolder;
use crate::place::{TargetKind, folder_of, sync_folder, temporary_name};
use crate::unfinished::Unfinished;

/// A hidden folder beside a target, in which the caller makes the file or the folder that is to have the
/// name of the target ([`Self::path`]). It gets there whole ([`Self::keep`]), or not at all.
#[derive(Debug)]
pub struct NewFolder {
    root: Unfinished,
    staged: PathBuf,
    target: PathBuf,
    /// The folder of the target and the hidden one, into which the paths lead while they are open.
    opened: Option<[OpenFolder; 2]>,
}

impl NewFolder {
    /// Room for what is to be `target`, under the name `name` meanwhile.
    ///
    /// # Errors
    /// When the folder of the target does not let another be made in it.
    pub fn create(target: &Path, name: &str) -> io::Result<Self> {
        let ((), root) = Unfinished::made(temporary_name(target), |path| fs::create_dir(path))?;
        Ok(Self {
            staged: root.path().join(name),
            root,
            target: target.to_owned(),
            opened: None,
        })
    }

    /// Room for what is to have the name `own` in an open folder, where no link is followed, under the name `name` meanwhile.
    ///
    /// # Errors
    /// When the folder does not let another be made in it.
    pub fn create_in(folder: OpenFolder, own: &OsStr, name: &str) -> io::Result<Self> {
        let target = folder.path().join(own);
        let ((), root) = Unfinished::made(temporary_name(&target), |path| fs::create_dir(path))?;
        let hidden = OpenFolder::itself(root.path())?;
        Ok(Self {
            staged: hidden.path().join(name),
            root,
            target,
            opened: Some([folder, hidden]),
        })
    }

    /// The folder to write into.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.staged
    }

    /// Renames the complete folder to its target.
    ///
    /// # Errors
    /// When the disk does not take it, or it cannot get there; what was there before stays then.
    pub fn keep(self) -> io::Result<()> {
        let Ok(metadata) = fs::metadata(&self.staged) else {
            // No file was written: no rows make no files in a folder.
            return Ok(());
        };
        if metadata.is_dir() {
            return self.keep_folder();
        }
        let kind = match self.opened {
            Some(_) => TargetKind::in_open_folder(self.target.clone())?,
            None => TargetKind::of(&self.target)?,
        };
        match kind {
            TargetKind::Direct(mut to) => {
                io::copy(&mut File::open(&self.staged)?, &mut to).map(|_| ())
            }
            TargetKind::Regular(path, old) => {
                finish(&File::open(&self.staged)?, old.as_ref())?;
                // If a link leads to another file system, the file has to be copied there first.
                let near = folder_of(&path) == folder_of(self.root.path());
                let temporary = Unfinished::new(temporary_name(&path));
                match near {
                    true => fs::rename(&self.staged, temporary.path())?,
                    false => {
                        fs::copy(&self.staged, temporary.path())?;
                        finish(&File::open(temporary.path())?, old.as_ref())?;
                    }
                }
                renamed(&temporary, &path)
            }
        }
    }

    fn keep_folder(&self) -> io::Result<()> {
        let mut files = Vec::new();
        gather(&self.staged, Path::new(""), &mut files)?;
        for file in &files {
            File::open(self.staged.join(file))?.sync_all()?;
        }
        if !self.target.exists() {
            fs::rename(&self.staged, &self.target)?;
            sync_folder(folder_of(&self.target));
            return Ok(());
        }
        let opened = match self.opened {
            Some(_) => Some(OpenFolder::itself(&self.target)?),
            None => None,
        };
        let target = opened.as_ref().map_or(&*self.target, OpenFolder::path);
        let mut moved = Moved {
            files: Vec::new(),
            folders: Vec::new(),
            stays: false,
            follows_links: opened.is_none(),
        };
        for file in &files {
            moved.one(&self.staged.join(file), target, file)?;
        }
        moved.stays = true;
        sync_folder(target);
        Ok(())
    }
}

/// The files under a folder, by their paths within it.
fn gather(root: &Path, within: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(within))? {
        let entry = entry?;
        let path = within.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => gather(root, &path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// The files that were moved into an existing folder; they are moved back unless all of them arrive.
struct Moved {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    stays: bool,
    /// Whether folders may be links to others.
    follows_links: bool,
}

impl Moved {
    fn one(&mut self, from: &Path, root: &Path, within: &Path) -> io::Result<()> {
        let mut folder = root.to_owned();
        // The path of the folder, and the one through which it is reached, which differs where no link is followed.
        let mut reached = root.to_owned();
        let mut opened = None;
        for part in within.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            reached.push(part);
            match fs::create_dir(&reached) {
                Ok(()) => self.folders.push(folder.clone()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            if !self.follows_links {
                // The folder above stays open until this one is.
                let next = opened.insert(OpenFolder::itself(&reached)?);
                next.path().clone_into(&mut reached);
            }
        }
        let to = reached.join(within.file_name().unwrap_or_default());
        // A link cannot take the place of a file that is there, as a rename could.
        match fs::hard_link(from, &to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) => {}
            Err(_) => fs::rename(from, &to)?,
        }
        self.files.push(root.join(within));
        Ok(())
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}
