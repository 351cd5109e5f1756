#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Read as _;

use super::*;
use crate::docker::fake::{Answer, FakeEngine};

fn spec(archive: Option<&Path>) -> BuildSpec {
    BuildSpec {
        dockerfile: "Dockerfile".to_owned(),
        tag: Some("lab:1".to_owned()),
        context: BuildContext {
            files: vec![ContextFile {
                name: "Dockerfile".to_owned(),
                mode: 0o644,
                bytes: b"FROM scratch\n".to_vec(),
            }],
            archive: archive
                .map(|path| ContextArchive { name: "rootfs.tar".to_owned(), path: path.to_owned() }),
        },
        ..Default::default()
    }
}

async fn build(answer: Answer) -> (Result<String, DockerError>, Vec<String>) {
    let fake = FakeEngine::start().answer("POST /build", answer);
    let mut lines = Vec::new();
    let result = fake.connect().await.build_image(&spec(None), |line| lines.push(line.to_owned())).await;
    (result, lines)
}

const OUTPUT: &str = concat!(
    r#"{"stream":"Step 1/1 : FROM scratch"}"#,
    "\r\n",
    r#"{"stream":"\n"}"#,
    "\r\n",
    r#"{"stream":" ---\u003e "}"#,
    "\r\n",
    r#"{"stream":"abc\n"}"#,
    "\r\n",
);

#[tokio::test]
async fn the_context_is_a_whole_archive_and_the_large_file_is_in_it() {
    for size in [0_usize, 511, 512, 100_000] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let content: Vec<u8> = (0..=255).cycle().take(size).collect();
        std::fs::write(file.path(), &content).unwrap();
        let mut stream = open_context("lab:1", &spec(Some(file.path())).context).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes.len() % 512, 0);
        let mut seen = Vec::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            seen.push((entry.path().unwrap().to_string_lossy().into_owned(), content));
        }
        assert_eq!(
            seen,
            [("Dockerfile".to_owned(), b"FROM scratch\n".to_vec()), ("rootfs.tar".to_owned(), content)]
        );
    }
}

#[tokio::test]
async fn an_archive_that_is_not_there_is_named() {
    let fake = FakeEngine::start();
    let error =
        fake.connect().await.build_image(&spec(Some(Path::new("/nowhere.tar"))), |_| ()).await.unwrap_err();
    assert!(
        error.to_string().starts_with("cannot read /nowhere.tar for the build of image lab:1"),
        "{error}"
    );
}

#[tokio::test]
async fn a_build_gives_its_lines_and_the_id() {
    let body = format!("{OUTPUT}{}\r\n", r#"{"aux":{"ID":"sha256:42"}}"#);
    let (result, lines) = build(Answer::stream(body.as_bytes())).await;
    assert_eq!(result.unwrap(), "sha256:42");
    assert_eq!(lines, ["Step 1/1 : FROM scratch", " ---> abc"]);
}

#[test]
fn a_line_is_what_stays_on_a_terminal() {
    assert_eq!(plain("Reading 5%\rReading 10%\rReading done\r\n"), "Reading done");
    assert_eq!(plain("\u{1b}[91mrm: busy\n"), "rm: busy");
    assert_eq!(plain("\u{1b}[0m\n"), "");
    assert_eq!(plain(" ---> abc\n"), " ---> abc");
}

#[tokio::test]
async fn a_step_that_fails_is_an_error_with_the_last_lines() {
    let body = format!(
        "{OUTPUT}{}\r\n",
        r#"{"errorDetail":{"code":1,"message":"returned a non-zero code: 1"},"error":"x"}"#
    );
    let (result, _) = build(Answer::stream(body.as_bytes())).await;
    let text = result.unwrap_err().to_string();
    assert!(text.starts_with("cannot build image lab:1: returned a non-zero code: 1"), "{text}");
    assert!(text.contains("---> abc"), "{text}");
}

#[tokio::test]
async fn an_output_that_ends_without_an_id_is_an_error() {
    let (result, _) = build(Answer::stream(OUTPUT.as_bytes())).await;
    assert!(result.unwrap_err().to_string().contains("the output ended before the build did"));
}

#[tokio::test]
async fn an_output_that_is_cut_is_an_error() {
    assert!(matches!(
        build(Answer::cut_stream(OUTPUT.as_bytes())).await.0.unwrap_err(),
        DockerError::BuildImage { .. }
    ));
}

#[tokio::test]
async fn a_refused_build_carries_the_engines_words() {
    let (result, _) = build(Answer::error(400, "dockerfile parse error")).await;
    assert!(result.unwrap_err().to_string().contains("dockerfile parse error"));
}
