// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a batch
>> {"jsonrpc":"2.0","id":1,"method":"zks_L1BatchNumber","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x72ad4"}
