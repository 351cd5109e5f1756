#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::docker::fake::{Answer, FakeEngine};
use crate::image::installation::tests::prefix;

#[tokio::test]
async fn modules_that_need_an_interpreter_and_manual_pages_stay_out() {
    let dir = prefix("share", "lib");
    let root = dir.path().canonicalize().unwrap();
    let packed =
        pack_server(&installation(&root.join("bin"), Some(&root)).await.unwrap()).unwrap().host_files();
    let has = |path: &str| packed.contains(&root.join(path));
    assert!(
        has("lib/libpqwalreceiver.so") && has("lib/plpgsql.so") && has("share/extension/plpgsql.control")
    );
    for unwanted in ["lib/llvmjit.so", "lib/jsonb_plperl.so", "lib/libpgcommon.a", "share/man/page"] {
        assert!(!has(unwanted), "{unwanted} is packed");
    }
}

#[tokio::test]
async fn an_engine_of_another_architecture_is_refused() {
    let info = |arch: &str| Answer::json(&format!(r#"{{"Architecture":"{arch}"}}"#));
    let fake = FakeEngine::start().answer("GET /info", info("riscv64"));
    let error = check_same_machine(&fake.connect().await).await.unwrap_err();
    assert!(error.to_string().starts_with("the engine runs on linux riscv64, this host is"), "{error}");
    let fake = FakeEngine::start().answer("GET /info", info(std::env::consts::ARCH));
    check_same_machine(&fake.connect().await).await.unwrap();
}
