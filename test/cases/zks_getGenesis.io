// spec: signature in matter-labs/zksync-os-server@242f6613 lib/rpc_api/src/zks.rs; the values are made up
// a chain without contracts
>> {"jsonrpc":"2.0","id":1,"method":"zks_getGenesis","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"initial_contracts":[],"additional_storage":{},"execution_version":1,"genesis_root":"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c"}}
