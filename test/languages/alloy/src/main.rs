//! Lives one day with alloy, and prints one JSON line per step.

use alloy::{
    eips::{BlockId, BlockNumberOrTag, eip2930::AccessList, eip7702::Authorization},
    network::{EthereumWallet, TransactionBuilder, TransactionBuilder7702},
    primitives::{Address, B256, Bytes, U256},
    providers::{Provider, ProviderBuilder, WalletProvider},
    rpc::{
        client::{BatchRequest, RpcClient},
        types::{Filter, TransactionRequest},
    },
    signers::{SignerSync, local::PrivateKeySigner},
    sol,
    transports::layers::RetryBackoffLayer,
};
use eyre::Result;
use futures::StreamExt;
use serde_json::{Value, json};
use std::{env, io::stdin, time::Duration};
use tokio::time::{sleep, timeout};

sol! {
    #[derive(Debug)]
    error NotInvited(address visitor);
}

struct Day {
    input: Value,
    counter: Address,
    gate: Address,
}

impl Day {
    fn text(&self, name: &str) -> &str {
        self.input[name].as_str().unwrap_or_default()
    }
    fn bytes(&self, name: &str) -> Bytes {
        self.text(name).parse().unwrap_or_default()
    }
    fn chain_id(&self) -> u64 {
        self.input["chainId"].as_u64().unwrap_or_default()
    }
}

fn show(step: &str, result: Result<Value>) {
    let line = match result {
        Ok(result) => json!({ "step": step, "result": result }),
        Err(error) => json!({ "step": step, "error": format!("{error:#}") }),
    };
    println!("{line}");
}

#[tokio::main]
async fn main() -> Result<()> {
    let input: Value = serde_json::from_reader(stdin())?;
    let day = Day {
        counter: input["counter"].as_str().unwrap_or_default().parse()?,
        gate: input["gate"].as_str().unwrap_or_default().parse()?,
        input,
    };
    let mode = env::args().nth(1).unwrap_or_default();
    let signer: PrivateKeySigner = day.text("privateKey").parse()?;
    if mode == "limit" {
        let retry = RetryBackoffLayer::new(20, 300, 1_000);
        let client = RpcClient::builder().layer(retry).connect(day.text("url")).await?;
        let provider = ProviderBuilder::new().connect_client(client);
        for _ in 0..4 {
            let balance = provider.get_balance(day.counter).await;
            show("call", balance.map(|balance| json!(balance)).map_err(Into::into));
        }
        return Ok(());
    }
    let wallet = EthereumWallet::from(signer);
    let provider = match ProviderBuilder::new().wallet(wallet).connect(day.text("url")).await {
        Ok(provider) => provider,
        Err(error) => {
            show(&mode, Err(error.into()));
            return Ok(());
        }
    };
    match mode.as_str() {
        "reject" => {
            let call = TransactionRequest::default().to(day.counter).input(day.bytes("input").into());
            let end = provider.call(call).await;
            show("reject", end.map(|_| json!("no error")).map_err(Into::into));
        }
        "close" => {
            provider.get_block_number().await?;
            show("open", Ok(Value::Null));
            let end = timeout(Duration::from_secs(20), async {
                loop {
                    if let Err(error) = provider.get_block_number().await {
                        return error;
                    }
                    sleep(Duration::from_millis(100)).await;
                }
            });
            match end.await {
                Ok(error) => show("close", Err(error.into())),
                Err(_) => show("timeout", Ok(Value::Null)),
            }
        }
        "restart" => restart(&day, &provider).await,
        _ => live(&day, &provider).await,
    }
    Ok(())
}

async fn is_served(day: &Day, provider: &impl Provider) -> bool {
    let read = timeout(Duration::from_secs(5), async { provider.get_balance(day.counter).await });
    matches!(read.await, Ok(Ok(_)))
}

/// Calls until one fails, then until one succeeds.
async fn restart(day: &Day, provider: &impl Provider) {
    show("open", Ok(json!(is_served(day, provider).await)));
    while is_served(day, provider).await {
        sleep(Duration::from_millis(100)).await;
    }
    show("down", Ok(Value::Null));
    let again = timeout(Duration::from_secs(30), async {
        while !is_served(day, provider).await {
            sleep(Duration::from_millis(100)).await;
        }
    });
    show(if again.await.is_ok() { "again" } else { "timeout" }, Ok(Value::Null));
}

async fn receipt_of(provider: &impl Provider, hash: B256) -> Result<Value> {
    for _ in 0..600 {
        if let Some(receipt) = provider.get_transaction_receipt(hash).await? {
            let transaction: Value = provider.raw_request("eth_getTransactionByHash".into(), (hash,)).await?;
            provider.get_transaction_by_hash(hash).await?;
            let logs = receipt.inner.logs().len();
            return Ok(json!([receipt.status(), receipt.transaction_type() as u8, transaction["type"], logs]));
        }
        sleep(Duration::from_millis(50)).await;
    }
    eyre::bail!("no receipt")
}

async fn send<P: Provider + WalletProvider>(day: &Day, provider: &P, request: TransactionRequest) -> Result<Value> {
    let from = provider.default_signer_address();
    let nonce = provider.get_transaction_count(from).await?;
    let request = request
        .from(from)
        .to(day.counter)
        .input(day.bytes("set").into())
        .nonce(nonce)
        .gas_limit(300_000)
        .with_chain_id(day.chain_id());
    let pending = provider.send_transaction(request).await?;
    receipt_of(provider, *pending.tx_hash()).await
}

fn with_fees() -> TransactionRequest {
    TransactionRequest::default().max_fee_per_gas(20_000_000_000).max_priority_fee_per_gas(1_000_000_000)
}

async fn live<P: Provider + WalletProvider>(day: &Day, provider: &P) {
    let from = provider.default_signer_address();
    show("connect", async { Ok(json!([provider.get_chain_id().await?, provider.get_net_version().await?])) }.await);
    show("reads", async {
        send(day, provider, with_fees()).await?;
        let balance = provider.get_balance(from).await?;
        let code = provider.get_code_at(day.counter).await?;
        let storage = provider.get_storage_at(day.counter, U256::ZERO).await?;
        let call = TransactionRequest::default().to(day.counter).input(day.bytes("number").into());
        let number = provider.call(call).await?;
        let block = provider.get_block(BlockId::latest()).full().await?.ok_or_else(|| eyre::eyre!("no block"))?;
        let logs = provider.get_logs(&Filter::new().address(day.counter).select(block.header.number)).await?;
        Ok(json!([balance > U256::ZERO, code.len(), storage, number, block.transactions.len(), logs.len()]))
    }.await);
    show("estimates", async {
        let call = TransactionRequest::default().from(from).to(day.counter).input(day.bytes("set").into());
        Ok(json!(provider.estimate_gas(call).await?))
    }.await);
    show("legacy", send(day, provider, TransactionRequest::default().gas_price(20_000_000_000)).await);
    show("access_list", async {
        let call = TransactionRequest::default().from(from).to(day.counter).input(day.bytes("set").into());
        let list: AccessList = provider.create_access_list(&call).await?.access_list;
        send(day, provider, TransactionRequest::default().gas_price(20_000_000_000).access_list(list)).await
    }.await);
    show("dynamic_fee", send(day, provider, with_fees()).await);
    show("blobs", async {
        let pending = provider.send_raw_transaction(&day.bytes("blobTransaction")).await?;
        receipt_of(provider, *pending.tx_hash()).await
    }.await);
    show("set_code", async {
        let delegate = PrivateKeySigner::random();
        let authorization = Authorization { chain_id: U256::from(day.chain_id()), address: day.counter, nonce: 0 };
        let signature = delegate.sign_hash_sync(&authorization.signature_hash())?;
        let signed = authorization.into_signed(signature);
        send(day, provider, with_fees().with_authorization_list(vec![signed])).await
    }.await);
    show("reverts", async {
        let mut ends = vec![];
        for data in day.input["reverts"].as_array().into_iter().flatten() {
            let data: Bytes = data.as_str().unwrap_or_default().parse()?;
            let call = TransactionRequest::default().to(day.gate).input(data.into());
            let Err(error) = provider.call(call).await else { eyre::bail!("no error") };
            let payload = error.as_error_resp();
            ends.push(json!([
                payload.map(|payload| payload.to_string()),
                payload.and_then(|payload| payload.as_revert_data()),
                payload.and_then(|payload| payload.as_decoded_error::<NotInvited>()).map(|error| format!("{error:?}")),
            ]));
        }
        Ok(json!(ends))
    }.await);
    show("filters", async {
        let id = provider.new_filter(&Filter::new().address(day.counter)).await?;
        send(day, provider, with_fees()).await?;
        let mut logs: Vec<alloy::rpc::types::Log> = vec![];
        // The gateway polls the head.
        for _ in 0..300 {
            logs.extend(provider.get_filter_changes::<alloy::rpc::types::Log>(id).await?);
            if !logs.is_empty() { break; }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(json!([!logs.is_empty(), provider.uninstall_filter(id).await?]))
    }.await);
    show("subscriptions", subscriptions(day, provider).await);
    show("batches", async {
        let mut batch = BatchRequest::new(provider.client());
        let code = batch.add_call::<_, Bytes>("eth_getCode", &(day.counter, "latest"))?;
        let storage = batch.add_call::<_, B256>("eth_getStorageAt", &(day.counter, "0x0", "latest"))?;
        let unknown = batch.add_call::<_, Value>("eth_noSuchMethod", &())?;
        batch.send().await?;
        let unknown = unknown.await.map_err(|error| error.to_string());
        Ok(json!([code.await?.len(), storage.await?, unknown.err()]))
    }.await);
    show("oversized_batch", async {
        let mut batch = BatchRequest::new(provider.client());
        let mut calls = vec![];
        for _ in 0..1_100 {
            calls.push(batch.add_call::<_, Value>("eth_chainId", &())?);
        }
        let sent = batch.send().await.map_err(|error| error.to_string());
        let first = timeout(Duration::from_secs(5), calls.remove(0)).await;
        let first = first.map(|first| first.map_err(|error| error.to_string()));
        Ok(json!([sent.err(), first.map(|first| first.err()).unwrap_or(Some("waits".into()))]))
    }.await);
    show("pending_and_missing_blocks", async {
        let latest = provider.get_block_number().await?;
        let pending = provider.get_block_by_number(BlockNumberOrTag::Pending).await?;
        let missing = provider.get_block_by_number(1_000_000_000.into()).await?;
        let unknown = provider.get_transaction_by_hash(B256::repeat_byte(0xab)).await?;
        Ok(json!([pending.map(|block| block.header.number == latest + 1), missing.is_none(), unknown.is_none()]))
    }.await);
    show("fee_history", async {
        let history = provider.get_fee_history(2, BlockNumberOrTag::Latest, &[10.0, 90.0]).await?;
        let rewards = history.reward.map(|reward| reward.len());
        Ok(json!([history.base_fee_per_gas.len(), rewards, history.gas_used_ratio.len()]))
    }.await);
    show("proofs", async {
        let proof = provider.get_proof(day.counter, vec![B256::ZERO]).await?;
        Ok(json!([!proof.account_proof.is_empty(), proof.storage_proof.len(), proof.storage_proof[0].value]))
    }.await);
    show("uncles", async { Ok(json!(provider.get_uncle_count(BlockId::latest()).await?)) }.await);
    show("opened_namespaces", async {
        let status: Value = provider.raw_request("txpool_status".into(), ()).await?;
        let header: Bytes = provider.raw_request("debug_getRawHeader".into(), ("0x1",)).await?;
        Ok(json!([status, header.len()]))
    }.await);
}

async fn subscriptions<P: Provider + WalletProvider>(day: &Day, provider: &P) -> Result<Value> {
    if day.input["isSocket"] != json!(true) {
        return Ok(Value::Null);
    }
    let mut heads = provider.subscribe_blocks().await?.into_stream();
    let mut logs = provider.subscribe_logs(&Filter::new().address(day.counter)).await?.into_stream();
    let mut hashes = provider.subscribe_pending_transactions().await?.into_stream();
    send(day, provider, with_fees()).await?;
    let seen = async { (heads.next().await.is_some(), logs.next().await.is_some(), hashes.next().await.is_some()) };
    let (head, log, hash) = timeout(Duration::from_secs(20), seen).await?;
    Ok(json!([head, log, hash]))
}
