//! Rows and records for tests.

use jiff::Timestamp;

use super::{Method, Mode, OpenLoop, Part, Request};
use crate::store::{
    LoadSummary, LoadWindow, NodeInfo, Platform, Refusal, Role, Server, Trial, WaitForInfo, WakeReturn,
};

pub(crate) fn request() -> Request {
    Request {
        parts: Part::ALL.to_vec(),
        seed: 7,
        latency_methods: [
            Method::POLL,
            Method::BusyPoll,
            Method::WAIT_FOR,
            Method::WaitFor(Mode::StandbyWrite),
        ]
        .to_vec(),
        trials: 30,
        latency_repeat: 2,
        load_methods: vec![Method::POLL, Method::BusyPoll, Method::WAIT_FOR],
        workers: 4,
        seconds: 2,
        load_repeat: 3,
        sweep: vec![1, 4],
        sweep_seconds: 1,
        sweep_repeat: 2,
        open: OpenLoop::HalfOfTheSlower,
        open_repeat: 1,
        waiters: vec![2, 15],
        wake_repeat: 3,
    }
}

/// What was run, on a server of this version.
pub(crate) fn info(version: &str) -> WaitForInfo {
    let major: u32 = version.get(..2).and_then(|major| major.parse().ok()).unwrap_or_default();
    let node = |name: &str, role| NodeInfo {
        name: name.to_owned(),
        role,
        read_iops_cap: None,
        write_iops_cap: None,
        cap_proof: None,
        read_ahead_kb: Some(128),
        defaults: [].into(),
        settings: [("max_connections".to_owned(), "230".to_owned())].into(),
    };
    WaitForInfo {
        schema: WaitForInfo::SCHEMA,
        run_id: "191500-abcdef".to_owned(),
        started: Timestamp::UNIX_EPOCH,
        command_line: ["stall-lab", "wait-for", "all"].map(str::to_owned).to_vec(),
        lab_version: "0.1.0".to_owned(),
        git_revision: None,
        debug_build: false,
        request: request(),
        server: Server {
            version: version.to_owned(),
            version_num: major * 10_000,
            image: Some("stall-lab/postgres:19rc1".to_owned()),
            image_id: Some("sha256:0".to_owned()),
            source: "fake".to_owned(),
            note: None,
            build: None,
            unknown_settings: Vec::new(),
        },
        platform: Platform { cpus: Some(2), ..Platform::default() },
        node_cpus: 2.0,
        client_threads: 2,
        nodes: vec![
            node("primary", Role::Primary),
            node("standby", Role::Standby),
            node("follower", Role::Standby),
        ],
        finished: Part::ALL.map(|part| part.name().to_owned()).to_vec(),
    }
}

pub(crate) fn trial(method: &str, wait_ms: f64) -> Trial {
    Trial {
        order: 1,
        repeat: 1,
        method: method.to_owned(),
        insert_ms: Some(0.5),
        lsn_ms: Some(0.1),
        wait_ms,
        queries: 1,
        slept_ms: 0.0,
    }
}

/// A window of two seconds with 1,000 completions for which the standby used half a CPU.
pub(crate) fn window(method: &str, workers: u32, repeat: u32) -> LoadWindow {
    LoadWindow {
        order: 1,
        repeat,
        shape: "closed".to_owned(),
        method: method.to_owned(),
        workers,
        rate_per_s: None,
        window_s: 2.0,
        completions: 1_000,
        p50_ms: Some(2.0),
        p95_ms: Some(3.0),
        p99_ms: Some(4.0),
        max_ms: Some(9.0),
        wait_p50_ms: Some(0.4),
        wait_p99_ms: Some(0.9),
        standby_queries: 3_000,
        standby_cpu_s: Some(1.0),
        standby_cpu_peak_pct: Some(55.0),
        primary_cpu_s: Some(0.5),
        client_cpu_s: Some(0.5),
        machine_busy: Some(0.6),
    }
}

pub(crate) fn load(method: &str, workers: u32, repeat: u32) -> LoadSummary {
    let rows =
        crate::store::WaitForRows { load: vec![window(method, workers, repeat)], ..Default::default() };
    super::judge(&info("19rc1"), &rows).load.remove(0)
}

pub(crate) fn returned(waiters: u32, round: u32, waiter: u32, returned_ms: f64) -> WakeReturn {
    WakeReturn { waiters, round, waiter, returned_ms, wait_event: "IPC/WaitForWalReplay".to_owned() }
}

pub(crate) fn refusal(case: &str, role: &str, no_throw: bool, sqlstate: &str, status: &str) -> Refusal {
    Refusal {
        case: case.to_owned(),
        role: role.to_owned(),
        no_throw,
        sqlstate: sqlstate.to_owned(),
        status: status.to_owned(),
        wait_event: String::new(),
        waited_ms: None,
        message: if sqlstate.is_empty() { String::new() } else { "what the server said".to_owned() },
        detail: String::new(),
        hint: String::new(),
        sql: "WAIT FOR LSN '0/0'".to_owned(),
    }
}
