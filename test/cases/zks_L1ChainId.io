// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// the chain id of Sepolia
>> {"jsonrpc":"2.0","id":1,"method":"zks_L1ChainId","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0xaa36a7"}

// a parameter
>> {"jsonrpc":"2.0","id":1,"method":"zks_L1ChainId","params":[1]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: expected no parameters"}}
