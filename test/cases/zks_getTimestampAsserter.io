// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// an address
>> {"jsonrpc":"2.0","id":1,"method":"zks_getTimestampAsserter","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x8b133a3868993176b613738816247a7f4d357cae"}
