// spec: trait ZksApi of matter-labs/zksync-os-server, after @242f6613 lib/rpc_api/src/zks.rs; the values are made up
// a block
>> {"jsonrpc":"2.0","id":1,"method":"zks_lastSettlementChangeBlock","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":140599}
