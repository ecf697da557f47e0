//! Running a program over a window.

use crate::interpret;
use crate::native::{CompileError, Native};
use crate::program::{Program, Space};
use crate::state::{AT_WORD, LEFT_WORD, PAUSED, STATE_WORDS};

/// A program, ready to run: interpreted, or compiled.
#[derive(Debug)]
pub struct Runner {
    program: Program,
    native: Option<Native>,
}

/// The range and the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Bytes of the window that are done.
    pub at: usize,
    /// Records that are done.
    pub records: u64,
    /// The reason why it ended.
    pub exit: Exit,
}

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The maximum number of records was processed.
    Paused,
    /// [`Terminator::Leave`](crate::Terminator::Leave) with this number.
    Left(u8),
}

impl Runner {
    /// Words of a state that a program leaves alone.
    pub const STATE_WORDS: u64 = STATE_WORDS;

    /// A program to be interpreted.
    #[must_use]
    pub const fn interpreted(program: Program) -> Self {
        Self {
            program,
            native: None,
        }
    }

    /// Compiles the program: what runs before and behind that does the same, at another speed.
    ///
    /// # Errors
    /// When this machine has no compiler, or the system refuses memory for machine code. The program can be
    /// run all the same.
    pub fn compile(&mut self) -> Result<(), CompileError> {
        if self.native.is_none() {
            self.native = Some(Native::new(&self.program)?);
        }
        Ok(())
    }

    /// Whether it is machine code.
    #[must_use]
    pub const fn is_compiled(&self) -> bool {
        self.native.is_some()
    }

    /// The program.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// Does records of the window from `at` on, `records` of them at most. `spaces` are the state and the
    /// other spaces that are given, in the order in which the program names them.
    ///
    /// # Panics
    /// When there are fewer spaces, or one of them is smaller, than the program says.
    pub fn run(&self, window: &[u8], at: usize, records: u64, spaces: &mut [&mut [u64]]) -> Run {
        self.run_by(window, at, records, spaces, |window, spaces| {
            match &self.native {
                Some(native) => native.run(&self.program, window, spaces),
                None => interpret::run(&self.program, window, spaces, &mut []),
            }
        })
    }

    /// The same by the interpreter, which notes of each block of the program whether it came through it:
    /// see [`Program::narrowed`].
    ///
    /// # Panics
    /// As [`Runner::run`] does.
    pub fn sample(
        &self,
        window: &[u8],
        at: usize,
        records: u64,
        spaces: &mut [&mut [u64]],
        visited: &mut [bool],
    ) -> Run {
        self.run_by(window, at, records, spaces, |window, spaces| {
            interpret::run(&self.program, window, spaces, visited)
        })
    }

    fn run_by(
        &self,
        window: &[u8],
        at: usize,
        records: u64,
        spaces: &mut [&mut [u64]],
        run: impl FnOnce(&[u8], &mut [&mut [u64]]) -> u64,
    ) -> Run {
        let len = usize::try_from(Program::WINDOW_LEN_MAX).unwrap_or(usize::MAX);
        let window = window.get(..len).unwrap_or(window);
        let at = at.min(window.len());
        let given = self
            .program
            .spaces
            .iter()
            .filter(|space| matches!(space, Space::Given { .. }));
        assert_eq!(given.clone().count(), spaces.len(), "spaces of a program");
        for (space, words) in given.zip(spaces.iter()) {
            assert!(words.len() as u64 >= space.words_min(), "words of a space");
        }
        if records == 0 {
            return Run {
                at,
                records: 0,
                exit: Exit::Paused,
            };
        }
        if let Some(state) = spaces.first_mut() {
            state[AT_WORD] = at as u64;
            state[LEFT_WORD] = records;
        }
        let code = run(window, spaces);
        let (at, left) = match spaces.first() {
            Some(state) => (state[AT_WORD], state[LEFT_WORD]),
            None => (0, 0),
        };
        Run {
            at: usize::try_from(at).unwrap_or(usize::MAX).min(window.len()),
            records: records.saturating_sub(left),
            exit: match code {
                PAUSED => Exit::Paused,
                code => Exit::Left(code as u8),
            },
        }
    }
}
