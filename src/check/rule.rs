//! `synchronous_standby_names`

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

/// For how many standbys a commit waits, and which count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// How they are chosen.
    pub method: Method,
    /// How many.
    pub count: usize,
    /// Their names, in order; `*` is every one.
    pub names: Vec<String>,
}

/// How the standbys are chosen that a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The first of those that stream.
    First,
    /// Any of them.
    Any,
}

impl Rule {
    /// Reads the setting as the server does (`syncrep_gram.y`); none where it is empty. A server has accepted it, so
    /// what cannot be read is of a newer kind.
    ///
    /// # Errors
    /// With what was not understood.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let tokens = tokens(text)?;
        if tokens.is_empty() {
            return Ok(None);
        }
        let not_understood = || format!("synchronous_standby_names is not understood: {text}");
        let word = |at: usize| match tokens.get(at) {
            Some(Token::Word(word)) => Some(word.as_str()),
            _ => None,
        };
        let counted = |method, at: usize| {
            let count = word(at)?.parse().ok()?;
            let listed = tokens.get(at + 1) == Some(&Token::Open) && tokens.last() == Some(&Token::Close);
            let names = listed.then(|| names(&tokens[at + 2..tokens.len() - 1])).flatten()?;
            Some(Self { method, count, names })
        };
        let rule = match word(0) {
            Some(first) if first.eq_ignore_ascii_case("first") && tokens.get(2) == Some(&Token::Open) => {
                counted(Method::First, 1)
            }
            Some(any) if any.eq_ignore_ascii_case("any") && tokens.get(2) == Some(&Token::Open) => {
                counted(Method::Any, 1)
            }
            Some(_) if tokens.get(1) == Some(&Token::Open) => counted(Method::First, 0),
            _ => names(&tokens).map(|names| Self { method: Method::First, count: 1, names }),
        };
        rule.map(Some).ok_or_else(not_understood)
    }

    /// Does a standby of this name count. The server does not tell upper from lower case.
    #[must_use]
    pub fn counts(&self, name: &str) -> bool {
        self.names.iter().any(|listed| listed == "*" || listed.eq_ignore_ascii_case(name))
    }

    /// The same rule, satisfied by any as many of these and one more.
    #[must_use]
    pub fn with(&self, name: &str) -> Self {
        let mut names = self.names.clone();
        if !self.counts(name) {
            names.push(name.to_owned());
        }
        Self { method: Method::Any, count: self.count, names }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match self.method {
            Method::First => "FIRST",
            Method::Any => "ANY",
        };
        let names: Vec<String> = self.names.iter().map(|name| quoted(name)).collect();
        write!(f, "{method} {} ({})", self.count, names.join(", "))
    }
}

/// As the setting wants a name: in double quotes, unless it is plain.
fn quoted(name: &str) -> String {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let plain = name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
    let keyword = ["any", "first"].iter().any(|keyword| name.eq_ignore_ascii_case(keyword));
    if name == "*" || (plain && !keyword) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Comma,
    Open,
    Close,
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        tokens.push(match c {
            c if c.is_whitespace() => continue,
            ',' => Token::Comma,
            '(' => Token::Open,
            ')' => Token::Close,
            '"' => {
                Token::Word(in_quotes(&mut chars).ok_or("synchronous_standby_names: a quote is not closed")?)
            }
            _ => {
                let is_end = |c: &char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | '"');
                let end = text[at..].find(|c| is_end(&c)).map_or(text.len(), |length| at + length);
                while chars.next_if(|(at, _)| *at < end).is_some() {}
                Token::Word(text[at..end].to_owned())
            }
        });
    }
    Ok(tokens)
}

/// What stands up to the closing quote; two quotes are one.
fn in_quotes(chars: &mut Peekable<CharIndices<'_>>) -> Option<String> {
    let mut name = String::new();
    loop {
        match chars.next()?.1 {
            '"' if chars.next_if(|(_, c)| *c == '"').is_some() => name.push('"'),
            '"' => return Some(name),
            c => name.push(c),
        }
    }
}

/// Words with commas between them.
fn names(tokens: &[Token]) -> Option<Vec<String>> {
    if tokens.len().is_multiple_of(2) {
        return None;
    }
    tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| match (at % 2, token) {
            (0, Token::Word(word)) => Some(Some(word.clone())),
            (1, Token::Comma) => None,
            _ => Some(None),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rule(method: Method, count: usize, names: &[&str]) -> Option<Rule> {
        Some(Rule { method, count, names: names.iter().map(|name| (*name).to_owned()).collect() })
    }

    #[test]
    fn every_form_that_a_server_accepts_is_understood() {
        for (text, expected) in [
            ("", None),
            ("  ", None),
            ("a", rule(Method::First, 1, &["a"])),
            ("a, b", rule(Method::First, 1, &["a", "b"])),
            ("*", rule(Method::First, 1, &["*"])),
            ("2 (a, b, c)", rule(Method::First, 2, &["a", "b", "c"])),
            ("FIRST 2 (a,b)", rule(Method::First, 2, &["a", "b"])),
            ("any 1(a,*)", rule(Method::Any, 1, &["a", "*"])),
            ("ANY 1 (\"a b\", \"say \"\"c\"\"\")", rule(Method::Any, 1, &["a b", "say \"c\""])),
            ("first", rule(Method::First, 1, &["first"])),
        ] {
            assert_eq!(Rule::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said_and_not_guessed() {
        for text in ["a b", "ANY 1 (a", "ANY x (a)", "a,,b", "\"a", "SOME 1 (a)", "2 ()"] {
            assert!(Rule::parse(text).is_err(), "{text}: {:?}", Rule::parse(text));
        }
    }

    #[test]
    fn names_are_compared_without_case_and_quoted_where_they_must_be() {
        let rule = Rule::parse("Walreceiver").unwrap().unwrap();
        assert!(rule.counts("walRECEIVER") && !rule.counts("other"));
        assert_eq!(rule.with("db-2").to_string(), "ANY 1 (Walreceiver, \"db-2\")");
        assert_eq!(rule.with("walreceiver").to_string(), "ANY 1 (Walreceiver)");
        assert_eq!(Rule::parse("*").unwrap().unwrap().with("x").to_string(), "ANY 1 (*)");
    }
}
