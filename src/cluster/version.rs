//! The server that runs is the one that was asked for.

use super::raise::RaiseError;
use crate::image::ServerImage;
use crate::postgres::{Connection, PostgresError};

/// Holds what the running server says of its version against what the image was built with: a tag can be moved.
pub(super) async fn check(control: &Connection, image: &ServerImage) -> Result<(), RaiseError> {
    compare(image, running(control).await?)
}

async fn running(control: &Connection) -> Result<u32, PostgresError> {
    let sql = "SELECT current_setting('server_version_num')::int8";
    let rows = control.query("its version", sql, &[]).await?;
    let number: Option<i64> = rows.first().map(|row| row.get(0));
    Ok(number.and_then(|number| u32::try_from(number).ok()).unwrap_or_default())
}

fn compare(image: &ServerImage, running: u32) -> Result<(), RaiseError> {
    if running == image.version.number {
        return Ok(());
    }
    Err(RaiseError::OtherVersion { image: image.reference.clone(), expected: image.version.number, running })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::image::server_image_of;

    #[test]
    fn a_server_of_another_version_than_its_images_label_is_refused() {
        let image = server_image_of("postgres (PostgreSQL) 18.6");
        assert!(compare(&image, 180_006).is_ok());
        let error = compare(&image, 170_002).unwrap_err().to_string();
        assert!(error.contains("runs PostgreSQL 170002 and not 180006"), "{error}");
        assert!(error.contains("stall-lab image remove"), "{error}");
    }
}
