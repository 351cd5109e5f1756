//! Which file is which relation.

use super::{Connection, PostgresError};

/// The relations of the database and of the whole cluster, by the files they are in; 0 is what databases share.
const RELATIONS: &str = "
    SELECT CASE WHEN c.relisshared THEN 0
                ELSE (SELECT oid::int8 FROM pg_database WHERE datname = current_database()) END,
           pg_relation_filenode(c.oid)::int8,
           c.oid::regclass::text
      FROM pg_class c
     WHERE pg_relation_filenode(c.oid) IS NOT NULL";

impl Connection {
    /// Name of each relation of the database and of those that all databases share, with the oid of its database (0
    /// for the shared) and its relfilenumber.
    ///
    /// # Errors
    /// When the server refuses, fails, or does not answer within two minutes.
    pub async fn relations(&self) -> Result<Vec<((u32, u32), String)>, PostgresError> {
        let rows = self.query("the files of its relations", RELATIONS, &[]).await?;
        // Oids are 32 bits wide; PostgreSQL has no unsigned type to send them as numbers.
        let oid = |value: i64| u32::try_from(value).unwrap_or_default();
        Ok(rows.iter().map(|row| ((oid(row.get(0)), oid(row.get(1))), row.get(2))).collect())
    }
}
