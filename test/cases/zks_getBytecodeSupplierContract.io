// spec: signature in matter-labs/zksync-os-server@242f6613 lib/rpc_api/src/zks.rs; the values are made up
// an address
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBytecodeSupplierContract","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x8b133a3868993176b613738816247a7f4d357cae"}

// a parameter
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBytecodeSupplierContract","params":[1]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: expected no parameters"}}
