// spec: example in matter-labs/zksync-docs@b16cbeef content/20.zksync-protocol/10.api/40.zks-rpc.md
// the gas of one byte of public data
>> {"jsonrpc":"2.0","id":1,"method":"zks_gasPerPubdata","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0xc350"}

// a parameter
>> {"jsonrpc":"2.0","id":1,"method":"zks_gasPerPubdata","params":["latest"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: expected no parameters"}}
