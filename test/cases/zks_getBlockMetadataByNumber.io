// spec: signature in matter-labs/zksync-os-server@242f6613 lib/rpc_api/src/zks.rs; the values are made up
// a block
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBlockMetadataByNumber","params":[140599]}
<< {"jsonrpc":"2.0","id":1,"result":{"pubdata_price_per_byte":"0x2","native_price":"0xf4240","execution_version":1}}

// a block that does not exist yet
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBlockMetadataByNumber","params":[140600]}
<< {"jsonrpc":"2.0","id":1,"result":null}

// a block number in hexadecimal
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBlockMetadataByNumber","params":["0x22537"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: block: expected integer"}}
