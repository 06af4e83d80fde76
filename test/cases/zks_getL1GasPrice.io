// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a gas price
>> {"jsonrpc":"2.0","id":1,"method":"zks_getL1GasPrice","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x3fcd5d0d9"}
