//! Tables that are legible as plain text and as Markdown.

/// A table with its columns padded to one width.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        let mut table = Self { rows: Vec::new() };
        table.row(header);
        table
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|cell| escape(&cell.into())).collect());
    }

    /// Has it rows besides its header.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// The table as Markdown, its first column to the left, the others too.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                cells.map(|cell| cell.chars().count()).max().unwrap_or_default().max(3)
            })
            .collect();
        let mut text = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            text += &line(&widths, |column| row.get(column).map_or("", String::as_str), ' ');
            if at == 0 {
                text += &line(&widths, |_| "", '-');
            }
        }
        text
    }
}

fn line<'a>(widths: &[usize], cell: impl Fn(usize) -> &'a str, fill: char) -> String {
    let mut text = "|".to_owned();
    for (column, width) in widths.iter().enumerate() {
        let cell = cell(column);
        text.push(' ');
        text += cell;
        text.extend(std::iter::repeat_n(fill, width.saturating_sub(cell.chars().count())));
        text += " |";
    }
    text.push('\n');
    text
}

/// What would end a cell, or the row it stands in, is kept from doing so.
fn escape(cell: &str) -> String {
    cell.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_a_pipe_or_line_end_in_a_cell_breaks_nothing() {
        let mut table = Table::new(["figure", "try"]);
        table.row(["a|b", "one\ntwo"]);
        table.row(["short"]);
        assert_eq!(
            table.render(),
            "| figure | try     |\n| ------ | ------- |\n| a\\|b   | one two |\n| short  |         |\n"
        );
    }
}
