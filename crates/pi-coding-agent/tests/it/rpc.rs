//! RPC mode, driven by a client over pipes.

use pi_test::RpcClient;

use crate::bed::Bed;

mod impatient;
mod limits;
mod prompts;
mod sessions;
mod state;

pub(crate) fn client<'a>(bed: &Bed, args: impl IntoIterator<Item = &'a str>) -> RpcClient {
    RpcClient::new(bed.pi(["--mode", "rpc"].into_iter().chain(args)).talk().start())
}
