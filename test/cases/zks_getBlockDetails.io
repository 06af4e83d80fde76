// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a block that is not yet in layer 1
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBlockDetails","params":[140599]}
<< {"jsonrpc":"2.0","id":1,"result":{"number":140599,"l1BatchNumber":1617,"timestamp":1519129331,"l1TxCount":0,"l2TxCount":1,"rootHash":"0x34ca23e705041e5bb8820b5e10678471c141dd6def74af1677f4cdc75735792d","status":"sealed","commitTxHash":null,"committedAt":null,"proveTxHash":null,"provenAt":null,"executeTxHash":null,"executedAt":null}}

// a block that does not exist yet
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBlockDetails","params":[140600]}
<< {"jsonrpc":"2.0","id":1,"result":null}

// a block number in hexadecimal
>> {"jsonrpc":"2.0","id":1,"method":"zks_getBlockDetails","params":["0x22537"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: block: expected integer"}}
