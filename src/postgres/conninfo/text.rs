//! Connection strings, in both of libpq's forms.

use percent_encoding::percent_decode_str;

use super::error::ConninfoError;
use super::keyword::{keyword, nearest};
use super::parameters::Parameters;

/// Reads `name=value ...` or `postgresql://...`. An empty text is a text without parameters.
pub(super) fn parse(text: &str) -> Result<Parameters, ConninfoError> {
    match ["postgresql://", "postgres://"].iter().find_map(|scheme| text.strip_prefix(scheme)) {
        Some(rest) => Uri { text, rest }.parse(),
        None => Pairs { text, chars: text.char_indices().peekable() }.parse(),
    }
}

fn set(parameters: &mut Parameters, name: &str, value: String, at: usize) -> Result<(), ConninfoError> {
    let keyword = keyword(name).ok_or_else(|| ConninfoError::Unknown { at, nearest: nearest(name) })?;
    parameters.set(keyword.name, value);
    Ok(())
}

/// `name = 'value' ...`, as `conninfo_parse` reads it.
struct Pairs<'a> {
    text: &'a str,
    chars: std::iter::Peekable<std::str::CharIndices<'a>>,
}

impl Pairs<'_> {
    fn parse(mut self) -> Result<Parameters, ConninfoError> {
        let mut parameters = Parameters::default();
        loop {
            self.skip_space();
            if self.chars.peek().is_none() {
                return Ok(parameters);
            }
            let at = self.at();
            let name = self.name();
            self.skip_space();
            if self.chars.next_if(|(_, c)| *c == '=').is_none() {
                let what = "a parameter is written name=value, a value with spaces in it in single quotes";
                return Err(ConninfoError::Syntax { at, what });
            }
            self.skip_space();
            let value = self.value()?;
            set(&mut parameters, &name, value, at)?;
        }
    }

    /// The next character's number, from 1.
    fn at(&mut self) -> usize {
        let byte = self.chars.peek().map_or(self.text.len(), |(byte, _)| *byte);
        self.text[..byte].chars().count() + 1
    }

    fn skip_space(&mut self) {
        while self.chars.next_if(|(_, c)| c.is_ascii_whitespace()).is_some() {}
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some((_, c)) = self.chars.next_if(|(_, c)| *c != '=' && !c.is_ascii_whitespace()) {
            name.push(c);
        }
        name
    }

    fn value(&mut self) -> Result<String, ConninfoError> {
        let at = self.at();
        let quoted = self.chars.next_if(|(_, c)| *c == '\'').is_some();
        let mut value = String::new();
        while let Some((_, c)) = self.chars.next_if(|(_, c)| quoted || !c.is_ascii_whitespace()) {
            match c {
                '\'' if quoted => return Ok(value),
                '\\' => value.extend(self.chars.next().map(|(_, c)| c)),
                c => value.push(c),
            }
        }
        if quoted {
            return Err(ConninfoError::Syntax { at, what: "the quote that begins here is not closed" });
        }
        Ok(value)
    }
}

/// `postgresql://user:password@host:port,host:port/dbname?name=value&...`, as `conninfo_uri_parse` reads it.
struct Uri<'a> {
    text: &'a str,
    /// What follows the scheme.
    rest: &'a str,
}

impl<'a> Uri<'a> {
    fn parse(self) -> Result<Parameters, ConninfoError> {
        let mut parameters = Parameters::default();
        let (place, query) = split_at_any(self.rest, &['?']);
        let (authority, path) = split_at_any(place, &['/']);
        let hosts = match authority.split_once('@') {
            Some((who, hosts)) => {
                self.credentials(who, &mut parameters)?;
                hosts
            }
            None => authority,
        };
        // A password with an unescaped @ or / would go on in what is printed: the host, the port, the database.
        if hosts.contains('@') || path.contains('@') {
            let what = "an @ stands behind the host: in a user or a password write %40 for @ and %2F for /";
            return Err(self.syntax(hosts, what));
        }
        self.hosts(hosts, &mut parameters)?;
        if !path.is_empty() {
            parameters.set("dbname", self.decoded(path)?);
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            self.query_parameter(pair, &mut parameters)?;
        }
        Ok(parameters)
    }

    fn credentials(&self, who: &'a str, parameters: &mut Parameters) -> Result<(), ConninfoError> {
        let (user, password) = split_at_any(who, &[':']);
        for (name, value) in [("user", user), ("password", password)] {
            if !value.is_empty() {
                parameters.set(name, self.decoded(value)?);
            }
        }
        Ok(())
    }

    fn hosts(&self, hosts: &'a str, parameters: &mut Parameters) -> Result<(), ConninfoError> {
        if hosts.is_empty() {
            return Ok(());
        }
        let (mut names, mut ports) = (Vec::new(), Vec::new());
        for host in hosts.split(',') {
            let (name, port) = if let Some(bracketed) = host.strip_prefix('[') {
                let closed = bracketed.split_once(']');
                let (name, rest) =
                    closed.ok_or_else(|| self.syntax(host, "the [ of an IPv6 address is not closed"))?;
                let port = rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""));
                (name, port.ok_or_else(|| self.syntax(rest, "a host is followed by a port, a comma or a /"))?)
            } else {
                split_at_any(host, &[':'])
            };
            names.push(self.decoded(name)?);
            ports.push(self.decoded(port)?);
        }
        parameters.set("host", names.join(","));
        if ports.iter().any(|port| !port.is_empty()) {
            parameters.set("port", ports.join(","));
        }
        Ok(())
    }

    fn query_parameter(&self, pair: &'a str, parameters: &mut Parameters) -> Result<(), ConninfoError> {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| self.syntax(pair, "what follows the ? is written name=value&name=value"))?;
        let (name, value) = (self.decoded(name)?, self.decoded(value)?);
        // As JDBC writes it.
        if name == "ssl" && value == "true" {
            parameters.set("sslmode", "require".to_owned());
            return Ok(());
        }
        set(parameters, &name, value, self.position(pair))
    }

    fn decoded(&self, part: &'a str) -> Result<String, ConninfoError> {
        let escapes_are_whole = part
            .split('%')
            .skip(1)
            .all(|escape| escape.len() >= 2 && escape.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()));
        let text = percent_decode_str(part).decode_utf8().ok().filter(|_| escapes_are_whole);
        let text = text.filter(|text| !text.contains('\0'));
        text.map(Into::into).ok_or_else(|| self.syntax(part, "a % is followed by two hexadecimal digits"))
    }

    fn syntax(&self, part: &'a str, what: &'static str) -> ConninfoError {
        ConninfoError::Syntax { at: self.position(part), what }
    }

    /// The number of a part's first character, from 1. The part is one of the text.
    fn position(&self, part: &'a str) -> usize {
        let byte = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.text.char_indices().take_while(|(at, _)| *at < byte).count() + 1
    }
}

/// What stands before the first of these characters, and what behind it.
fn split_at_any<'a>(text: &'a str, at: &[char]) -> (&'a str, &'a str) {
    // The empty rest is one of the same text, so that its position is known.
    text.split_once(at).unwrap_or((text, &text[text.len()..]))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
