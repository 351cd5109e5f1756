//! The servers: what they are, and how they are asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::disk::DiskSource;
use super::session::Probe;
use super::{ObserveError, Request};
use crate::measure::Source;
use crate::postgres::{
    Connection, Endpoint, OwnStatements, PrimaryInquiry, ProbeTable, Replica, ServerFacts, SqlSource,
    StandbyInquiry,
};
use crate::profile::PRIMARY;
use crate::progress::Progress;
use crate::store::{NodeInfo, Observed, ObservedServer, Role, Server};

/// How long the first connection to a server may take.
const CONNECT: Duration = Duration::from_secs(15);

/// How long an answer may take before its connection is given up for another.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the servers let one of the lab's questions run.
const STATEMENT: Duration = Duration::from_secs(10);

/// A server that has said what it is.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub node: String,
    pub endpoint: Endpoint,
    pub facts: ServerFacts,
}

/// The primary and its standbys, each asked once.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    pub primary: Known,
    pub standbys: Vec<Known>,
}

impl Servers {
    /// Asks all of them, at once, what they are.
    pub async fn meet(request: &Request) -> Result<Self, ObserveError> {
        let standbys = request.standbys.iter().map(known);
        let (primary, standbys) =
            futures_util::try_join!(known(&request.primary), futures_util::future::try_join_all(standbys))?;
        if primary.facts.in_recovery {
            return Err(ObserveError::NoPrimary { place: primary.endpoint.place() });
        }
        if let Some(standby) = standbys.iter().find(|standby| !standby.facts.in_recovery) {
            return Err(ObserveError::NoStandby { place: standby.endpoint.place() });
        }
        Ok(Self { primary, standbys })
    }

    fn all(&self) -> impl Iterator<Item = &Known> {
        std::iter::once(&self.primary).chain(&self.standbys)
    }

    /// The standbys as the primary is to tell them apart: two with one name are not told apart at all.
    fn replicas(&self) -> Vec<Replica> {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for name in self.standbys.iter().filter_map(|standby| standby.facts.application_name.as_deref()) {
            *uses.entry(name).or_default() += 1;
        }
        let own = |name: &String| uses.get(name.as_str()) == Some(&1);
        let replica = |standby: &Known| Replica {
            node: standby.node.clone(),
            application_name: standby.facts.application_name.clone().filter(own),
        };
        self.standbys.iter().map(replica).collect()
    }

    /// What the user should know before watching begins.
    pub fn cautions(&self) -> Vec<String> {
        let mut cautions: Vec<String> =
            self.all().flat_map(|known| known.endpoint.warnings().to_vec()).collect();
        for known in self.all() {
            let hidden = hidden(known);
            if !hidden.is_empty() {
                let what = hidden.join(" and ");
                cautions.push(format!(
                    "{}: this role may not see {what}; GRANT pg_monitor to it to record that",
                    known.node
                ));
            }
        }
        let nameless = self.replicas().into_iter().filter(|replica| replica.application_name.is_none());
        cautions.extend(nameless.map(|replica| {
            format!(
                "{}: the name it connects to the primary by is not known, or is another's too (set cluster_name, or \
                 application_name in primary_conninfo): what the primary says of it is not recorded",
                replica.node
            )
        }));
        if self.primary.facts.synchronous_standby_names.is_none() {
            cautions.push(
                "primary: synchronous_standby_names is empty: no commit waits for a standby, so none can hang for it"
                    .to_owned(),
            );
        }
        cautions
    }

    /// What `run.json` says of them.
    pub fn observed(&self, request: &Request) -> Observed {
        let server = |known: &Known| ObservedServer {
            node: known.node.clone(),
            address: known.endpoint.place(),
            version: known.facts.version.clone(),
            application_name: known.facts.application_name.clone(),
            hidden: hidden(known).into_iter().map(str::to_owned).collect(),
        };
        Observed {
            servers: self.all().map(server).collect(),
            synchronous_standby_names: Some(
                self.primary.facts.synchronous_standby_names.clone().unwrap_or_default(),
            ),
            length: request.length,
            stall_after: request.stall_after,
            probe_per_s: request.probe.map(|probe| probe.per_s),
        }
    }

    /// What `run.json` says of the server.
    pub fn server(&self) -> Server {
        Server {
            version: self.primary.facts.version.clone(),
            version_num: self.primary.facts.version_num,
            image: None,
            image_id: None,
            source: "not built by the lab".to_owned(),
            note: None,
            build: None,
            unknown_settings: vec![],
        }
    }

    /// What `run.json` says of the nodes.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        let role = |known: &Known| if known.node == PRIMARY { Role::Primary } else { Role::Standby };
        let node = |known: &Known| NodeInfo {
            name: known.node.clone(),
            role: role(known),
            read_iops_cap: None,
            write_iops_cap: None,
            cap_proof: None,
            read_ahead_kb: None,
            settings: known.facts.settings.clone(),
            defaults: [].into(),
        };
        self.all().map(node).collect()
    }

    /// Opens everything that is asked once a tick.
    pub async fn sources(
        &self,
        request: &Request,
        own: &Arc<OwnStatements>,
        progress: &Progress,
    ) -> Result<Vec<Box<dyn Source>>, ObserveError> {
        let failed = |node: &str| {
            let node = node.to_owned();
            move |source| ObserveError::Ask { node, source }
        };
        let inquiry = PrimaryInquiry::watching(PRIMARY, self.replicas(), Arc::clone(own));
        let endpoint = self.primary.endpoint.clone().read_only(STATEMENT);
        let primary = SqlSource::open(endpoint, inquiry, Duration::ZERO).await.map_err(failed(PRIMARY))?;
        let mut sources: Vec<Box<dyn Source>> = vec![Box::new(primary.giving_up_after(PATIENCE))];
        for Known { node, endpoint, facts } in &self.standbys {
            let inquiry = StandbyInquiry::new(node, facts.version_num);
            let endpoint = endpoint.clone().read_only(STATEMENT);
            let source = SqlSource::open(endpoint, inquiry, Duration::ZERO).await.map_err(failed(node))?;
            sources.push(Box::new(source.giving_up_after(PATIENCE)));
        }
        for disk in &request.disks {
            sources.push(Box::new(DiskSource::start(disk, progress)));
        }
        Ok(sources)
    }

    /// Makes the probe's table.
    pub async fn probe(
        &self,
        request: &Request,
        run_id: &str,
        own: &Arc<OwnStatements>,
    ) -> Result<Option<Probe>, ObserveError> {
        let Some(probe) = request.probe else { return Ok(None) };
        let table = format!("stall_lab_probe_{}", run_id.replace('-', "_"));
        let endpoint = &self.primary.endpoint;
        let writer = ProbeTable::create(endpoint, &table, probe.deadline, Arc::clone(own)).await;
        let writer = writer.map_err(ObserveError::Probe)?;
        Ok(Some(Probe { writer: Box::new(writer), pause: Duration::from_secs_f64(1.0 / probe.per_s) }))
    }
}

async fn known(endpoint: &Endpoint) -> Result<Known, ObserveError> {
    let once = endpoint.clone().read_only(STATEMENT);
    let connection = Connection::open_once(&once, CONNECT).await?;
    let facts = connection.server_facts().await?;
    Ok(Known { node: endpoint.name().to_owned(), endpoint: endpoint.clone(), facts })
}

/// What this role is not shown of a server.
fn hidden(known: &Known) -> Vec<&'static str> {
    match (known.facts.sees_statistics, known.facts.in_recovery) {
        (true, _) => vec![],
        (false, false) => vec!["who waits for a standby", "what was sent to standbys"],
        (false, true) => vec!["whether it streams", "what its startup process waits for"],
    }
}
