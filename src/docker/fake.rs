//! A tiny HTTP server that answers like an engine, for tests without one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::endpoint::{Address, Endpoint};
use super::{DockerError, Engine};

/// The bytes that answer a request.
#[derive(Clone)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    keep_open: bool,
}

impl Answer {
    pub(crate) fn text(status: u16, body: &str) -> Answer {
        Answer::body(status, "text/plain", body.as_bytes())
    }

    pub(crate) fn json(body: &str) -> Answer {
        Answer::body(200, "application/json", body.as_bytes())
    }

    pub(crate) fn error(status: u16, message: &str) -> Answer {
        let body = serde_json::json!({ "message": message }).to_string();
        Answer::body(status, "application/json", body.as_bytes())
    }

    fn body(status: u16, kind: &str, body: &[u8]) -> Answer {
        let mut bytes = format!(
            "HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        if status != 204 {
            bytes.extend_from_slice(body);
        }
        Answer { bytes, keep_open: false }
    }

    /// A chunked answer; one that is cut lacks its last chunk.
    pub(crate) fn stream(body: &[u8]) -> Answer {
        let mut answer = Answer::cut_stream(body);
        answer.bytes.extend_from_slice(b"0\r\n\r\n");
        answer
    }

    pub(crate) fn cut_stream(body: &[u8]) -> Answer {
        let mut bytes =
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        // An empty chunk would be the last one.
        if !body.is_empty() {
            bytes.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(body);
            bytes.extend_from_slice(b"\r\n");
        }
        Answer { bytes, keep_open: false }
    }

    /// The answer to an exec's start: the connection becomes a raw one.
    pub(crate) fn upgraded(body: &[u8]) -> Answer {
        let mut bytes = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n".to_vec();
        bytes.extend_from_slice(body);
        Answer { bytes, keep_open: false }
    }

    /// An answer after which nothing comes and the connection stays.
    pub(crate) fn then_silence(mut self) -> Answer {
        self.keep_open = true;
        self
    }
}

/// One frame of the engine's multiplexed output: stream 1 is standard output, 2 standard error.
pub(crate) fn frame(stream: u8, payload: &str) -> Vec<u8> {
    let mut bytes = vec![stream, 0, 0, 0];
    bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(payload.as_bytes());
    bytes
}

#[derive(Default)]
struct Shared {
    answers: HashMap<String, Vec<Answer>>,
    requests: Vec<String>,
    bodies: Vec<Vec<u8>>,
}

/// A server on a port of its own that lives as long as the test's runtime.
pub(crate) struct FakeEngine {
    address: String,
    shared: Arc<Mutex<Shared>>,
}

impl FakeEngine {
    /// A server that knows no request yet.
    pub(crate) fn bare() -> FakeEngine {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let for_server = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, Arc::clone(&for_server)));
            }
        });
        FakeEngine { address, shared }
    }

    /// A server that says it is an engine of API 1.41.
    pub(crate) fn start() -> FakeEngine {
        FakeEngine::bare()
            .answer("GET /version", Answer::json(r#"{"Version":"20.10.0","ApiVersion":"1.41"}"#))
    }

    /// Answers `METHOD /path` (without version and query) so; several answers are given in turn, the last one for ever.
    pub(crate) fn answer(self, request: &str, answer: Answer) -> FakeEngine {
        self.shared.lock().unwrap().answers.entry(request.to_owned()).or_default().push(answer);
        self
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint { address: Address::Tcp(self.address.clone()), origin: "test".to_owned() }
    }

    pub(crate) async fn try_connect(&self) -> Result<Engine, DockerError> {
        Engine::connect_to(vec![self.endpoint()]).await
    }

    pub(crate) async fn connect(&self) -> Engine {
        self.try_connect().await.unwrap()
    }

    /// `METHOD /path?query` of every request so far, with the version.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.lock().unwrap().requests.clone()
    }

    /// The body of the last request, as text.
    pub(crate) fn last_body(&self) -> String {
        String::from_utf8_lossy(self.shared.lock().unwrap().bodies.last().unwrap()).into_owned()
    }
}

async fn serve(mut connection: TcpStream, shared: Arc<Mutex<Shared>>) {
    let Some((request, body)) = read_request(&mut connection).await else {
        return;
    };
    let answer = {
        let mut shared = shared.lock().unwrap();
        shared.requests.push(request.clone());
        shared.bodies.push(body);
        match shared.answers.get_mut(&route(&request)) {
            Some(answers) if answers.len() > 1 => answers.remove(0),
            Some(answers) => answers[0].clone(),
            None => Answer::error(500, &format!("the test has no answer to {request}")),
        }
    };
    let _ = connection.write_all(&answer.bytes).await;
    if answer.keep_open {
        std::future::pending::<()>().await;
    }
    // Read on until the client closes: closing with unread bytes would reset the connection and lose the answer.
    let _ = connection.shutdown().await;
    let mut rest = [0; 1024];
    while matches!(connection.read(&mut rest).await, Ok(1..)) {}
}

fn route(request: &str) -> String {
    let (method, path) = request.split_once(' ').unwrap();
    let path = path.split('?').next().unwrap();
    match path.strip_prefix("/v1.").and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => format!("{method} /{rest}"),
        None => format!("{method} {path}"),
    }
}

async fn read_request(connection: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        match connection.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut body = bytes.split_off(head);
    let lower = text.to_lowercase();
    let length =
        lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let whole = |body: &[u8]| match length {
        Some(length) => body.len() >= length,
        None => !lower.contains("transfer-encoding: chunked") || body.ends_with(b"0\r\n\r\n"),
    };
    while !whole(&body) {
        match connection.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => body.extend_from_slice(&buffer[..read]),
        }
    }
    let mut words = text.split_whitespace();
    Some((format!("{} {}", words.next()?, words.next()?), body))
}
