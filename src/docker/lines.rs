//! Frames in, lines out. The engine sends output in frames that begin and end anywhere.

use std::collections::VecDeque;

use bollard::container::LogOutput;

/// A line longer than this is cut, so that a stream without line ends cannot fill the memory.
const LONGEST_LINE: usize = 1 << 20;

/// Which of a process's outputs a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A line without its end, and where it is from. Bytes that are no UTF-8 are replaced.
pub type Line = (OutputStream, String);

/// Joins frames and cuts them into lines, each output by itself.
#[derive(Debug, Default)]
pub(super) struct LineCutter {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl LineCutter {
    /// Takes a frame and appends the lines it completes to `lines`.
    pub(super) fn push(&mut self, stream: OutputStream, bytes: &[u8], lines: &mut VecDeque<Line>) {
        let kept = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            kept.extend_from_slice(piece);
            if piece.ends_with(b"\n") || kept.len() >= LONGEST_LINE {
                lines.push_back((stream, take_line(kept)));
            }
        }
    }

    /// The lines that have begun and not ended, at the end of the output.
    pub(super) fn finish(&mut self, lines: &mut VecDeque<Line>) {
        for (stream, kept) in
            [(OutputStream::Stdout, &mut self.stdout), (OutputStream::Stderr, &mut self.stderr)]
        {
            if !kept.is_empty() {
                lines.push_back((stream, take_line(kept)));
            }
        }
    }
}

fn take_line(kept: &mut Vec<u8>) -> String {
    let line = kept.strip_suffix(b"\n").unwrap_or(kept);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = String::from_utf8_lossy(line).into_owned();
    kept.clear();
    line
}

/// The output a frame belongs to.
pub(super) fn stream_of(frame: &LogOutput) -> OutputStream {
    match frame {
        LogOutput::StdErr { .. } => OutputStream::Stderr,
        LogOutput::StdOut { .. } | LogOutput::StdIn { .. } | LogOutput::Console { .. } => {
            OutputStream::Stdout
        }
    }
}

/// The last lines of an output, for the error that may follow.
#[derive(Debug)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    longest: usize,
}

impl Tail {
    /// Keeps at most `longest` lines.
    pub(super) fn new(longest: usize) -> Tail {
        Tail { lines: VecDeque::new(), longest }
    }

    pub(super) fn push(&mut self, line: &str) {
        if self.lines.len() == self.longest {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}

#[cfg(test)]
mod tests {
    use super::OutputStream::{Stderr, Stdout};
    use super::*;

    fn cut(frames: &[(OutputStream, &[u8])]) -> Vec<Line> {
        let mut cutter = LineCutter::default();
        let mut lines = VecDeque::new();
        for (stream, bytes) in frames {
            cutter.push(*stream, bytes, &mut lines);
        }
        cutter.finish(&mut lines);
        lines.into()
    }

    fn line(stream: OutputStream, text: &str) -> Line {
        (stream, text.to_owned())
    }

    #[test]
    fn a_line_over_two_frames_is_one_line() {
        assert_eq!(cut(&[(Stdout, b"tps = 1"), (Stdout, b"23\n")]), [line(Stdout, "tps = 123")]);
    }

    #[test]
    fn a_frame_of_several_lines_is_several_lines() {
        assert_eq!(
            cut(&[(Stdout, b"a\n\nb\r\nc")]),
            [line(Stdout, "a"), line(Stdout, ""), line(Stdout, "b"), line(Stdout, "c")]
        );
    }

    #[test]
    fn the_two_outputs_do_not_mix_within_a_line() {
        assert_eq!(
            cut(&[(Stdout, b"out"), (Stderr, b"err\n"), (Stdout, b"put\n")]),
            [line(Stderr, "err"), line(Stdout, "output")]
        );
    }

    #[test]
    fn a_character_over_two_frames_is_whole() {
        let text = "grün\n".as_bytes();
        assert_eq!(cut(&[(Stdout, &text[..3]), (Stdout, &text[3..])]), [line(Stdout, "grün")]);
    }

    #[test]
    fn an_endless_line_is_cut() {
        let frame = vec![b'x'; LONGEST_LINE - 1];
        let lines = cut(&[(Stdout, &frame), (Stdout, b"yz"), (Stdout, b"end\n")]);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], line(Stdout, "end"));
    }

    #[test]
    fn no_output_is_no_line() {
        assert!(cut(&[]).is_empty());
        assert!(cut(&[(Stdout, b"")]).is_empty());
    }

    #[test]
    fn a_tail_keeps_the_last_lines() {
        let mut tail = Tail::new(2);
        for text in ["a", "b", "c"] {
            tail.push(text);
        }
        assert_eq!(tail.into_lines(), ["b", "c"]);
    }
}
