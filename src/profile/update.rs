//! The evenly spread share of the accounts that the update changes, as exact SQL.

use super::schema::SHARE_PARTS;
use super::{ACCOUNTS_PER_SCALE, Profile};

/// Rows of `pgbench_accounts` on a heap page, at fillfactor 100.
const ROWS_PER_PAGE: f64 = 61.0;

/// A share of rows as a fraction in lowest terms: `numerator` of every `denominator` consecutive `aid`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Rows chosen of each `denominator`.
    pub numerator: u32,
    /// At most 1,000,000.
    pub denominator: u32,
}

/// The accounts of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AidRange {
    /// The first `aid`, from 1 up.
    pub first: u64,
    /// The last `aid`, included.
    pub last: u64,
}

impl Share {
    /// The share of a checked profile's `update.fraction`, which has at most six decimals.
    fn of(fraction: f64) -> Self {
        // A cast from f64 ends at the integer's bounds; a checked fraction is between a millionth and 1.
        let parts = (fraction * f64::from(SHARE_PARTS)).round() as u32;
        let divisor = greatest_common_divisor(parts, SHARE_PARTS);
        Self { numerator: parts / divisor, denominator: SHARE_PARTS / divisor }
    }

    /// A condition on `aid` that holds for exactly `numerator` of any `denominator` consecutive rows.
    ///
    /// As the two have no common divisor, `aid * numerator` takes each remainder once in `denominator` rows. The
    /// product is a `bigint`: `aid` is an `int` up to scale 20,000.
    pub fn predicate(self) -> String {
        let Self { numerator, denominator } = self;
        if numerator == 1 {
            format!("aid % {denominator} = 0")
        } else {
            format!("(aid::bigint * {numerator}) % {denominator} < {numerator}")
        }
    }
}

/// Of `b` and 0 it is `b`, so it is never 0 for a `b` above 0.
fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if a == 0 { b } else { greatest_common_divisor(b % a, a) }
}

impl Profile {
    /// Rows of `pgbench_accounts`.
    pub fn accounts(&self) -> u64 {
        u64::from(self.workload.scale) * ACCOUNTS_PER_SCALE
    }

    /// The share of the accounts that the update changes.
    pub fn update_share(&self) -> Share {
        Share::of(self.update.fraction)
    }

    /// Heap pages of `pgbench_accounts` that the update touches. The rows are spread evenly: from one row in
    /// [`ROWS_PER_PAGE`] on it is every page.
    pub fn updated_pages(&self) -> f64 {
        self.accounts() as f64 / ROWS_PER_PAGE * (self.update.fraction * ROWS_PER_PAGE).min(1.0)
    }

    /// What a batch of the update runs, in its transaction. In the user's own SQL `:first` and `:last` stand for the
    /// first and the last `aid` of the batch, as a script of pgbench would write them.
    pub fn update_statement(&self, batch: AidRange) -> String {
        let AidRange { first, last } = batch;
        let sql = self.update_template().replace(":first", &first.to_string());
        sql.replace(":last", &last.to_string())
    }

    /// The same with `:first` and `:last` still in it.
    pub fn update_template(&self) -> String {
        if !self.workload.update_sql.is_empty() {
            return self.workload.update_sql.clone();
        }
        let share = self.update_share().predicate();
        format!(
            "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE {share} AND aid BETWEEN :first AND :last"
        )
    }

    /// The accounts of each batch, in order: without gap or overlap from 1 to the last, of sizes that differ by one
    /// at most.
    pub fn batches(&self) -> impl Iterator<Item = AidRange> + use<> {
        let (accounts, batches) = (u128::from(self.accounts()), u128::from(self.update.batches));
        // Within u64, as `batch` is at most `batches` and the quotient so at most `accounts`.
        let end = move |batch: u32| (accounts * u128::from(batch) / batches) as u64;
        (0..self.update.batches).map(move |batch| AidRange { first: end(batch) + 1, last: end(batch + 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::quick;
    use super::*;

    /// What the database would do with the predicate.
    fn chosen(share: Share, aid: u64) -> bool {
        let (numerator, denominator) = (u64::from(share.numerator), u64::from(share.denominator));
        if numerator == 1 {
            aid.is_multiple_of(denominator)
        } else {
            (aid * numerator) % denominator < numerator
        }
    }

    #[test]
    fn an_update_of_one_row_a_page_or_more_touches_every_page() {
        let mut profile = quick(&[]);
        profile.workload.scale = 20;
        // As pg_class says of a freshly loaded table: 32,787 pages.
        assert!((profile.updated_pages() - 32_787.0).abs() < 1.0);
        profile.update.fraction = 0.001;
        assert!((profile.updated_pages() - 2_000.0).abs() < 1.0);
    }

    #[test]
    fn a_share_is_a_fraction_in_lowest_terms() {
        for (fraction, numerator, denominator) in [
            (0.05, 1, 20),
            (1.0, 1, 1),
            (0.3, 3, 10),
            (0.15, 3, 20),
            (0.000_001, 1, 1_000_000),
            (0.999_999, 999_999, 1_000_000),
            (0.5, 1, 2),
        ] {
            assert_eq!(Share::of(fraction), Share { numerator, denominator }, "{fraction}");
        }
    }

    #[test]
    fn exactly_the_share_of_any_rows_in_a_row_is_chosen() {
        for millionths in [1_u32, 7, 1000, 50_000, 150_000, 333_333, 500_000, 999_999, 1_000_000] {
            let share = Share::of(f64::from(millionths) / 1e6);
            let rows = u64::from(share.denominator);
            for first in [1, 12_345, 9_999_000_001] {
                let count = (first..first + rows).filter(|aid| chosen(share, *aid)).count();
                assert_eq!(count, share.numerator as usize, "{millionths} millionths from {first}");
            }
        }
    }

    #[test]
    fn the_predicate_is_what_the_reference_ran_and_bigint_where_a_product_needs_it() {
        assert_eq!(quick(&[]).update_share().predicate(), "aid % 20 = 0");
        let share = quick(&["update.fraction=0.15"]).update_share();
        assert_eq!(share.predicate(), "(aid::bigint * 3) % 20 < 3");
    }

    #[test]
    fn batches_cover_every_account_once() {
        for batches in [1, 3, 7, 100_000] {
            let profile = quick(&["workload.scale=1", &format!("update.batches={batches}")]);
            let mut next = 1;
            let mut sizes = Vec::new();
            for range in profile.batches() {
                assert_eq!(range.first, next);
                sizes.push(range.last + 1 - range.first);
                next = range.last + 1;
            }
            assert_eq!(next, 100_001);
            assert_eq!(sizes.len(), batches);
            assert!(sizes.iter().max() <= sizes.iter().min().map(|least| least + 1).as_ref());
        }
    }

    #[test]
    fn a_batch_runs_the_standard_update_or_the_users_own_sql_on_its_accounts() {
        let batch = AidRange { first: 1, last: 50_000 };
        assert_eq!(
            quick(&[]).update_statement(batch),
            "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid % 20 = 0 AND aid BETWEEN 1 AND 50000"
        );
        let own = quick(&["workload.update_sql=INSERT INTO t SELECT generate_series(:first, :last)"]);
        assert_eq!(own.update_statement(batch), "INSERT INTO t SELECT generate_series(1, 50000)");
    }
}
