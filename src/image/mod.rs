//! (being written)
/// stub
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct ServerImage {
    pub reference: String,
    pub id: String,
    pub version: String,
    pub version_num: u32,
    pub bindir: String,
    pub uid: u32,
    pub gid: u32,
    pub note: Option<String>,
}
impl ServerImage {
    /// stub
    pub fn is_custom(&self) -> bool {
        false
    }
}
