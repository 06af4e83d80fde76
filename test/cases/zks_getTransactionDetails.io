// spec: signature in matter-labs/zksync-era@254c96ec core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a transaction that is in a block
>> {"jsonrpc":"2.0","id":1,"method":"zks_getTransactionDetails","params":["0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}
<< {"jsonrpc":"2.0","id":1,"result":{"isL1Originated":false,"status":"included","fee":"0x5d4b3a1f00","gasPerPubdata":"0xc350","initiatorAddress":"0x2bd806c97f0e00af1a1fc3328fa763a9269723c8","receivedAt":"2018-02-20T12:22:11.345Z","ethCommitTxHash":null,"ethProveTxHash":null,"ethExecuteTxHash":null}}

// no such transaction
>> {"jsonrpc":"2.0","id":1,"method":"zks_getTransactionDetails","params":["0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]}
<< {"jsonrpc":"2.0","id":1,"result":null}

// a hash that is too short
>> {"jsonrpc":"2.0","id":1,"method":"zks_getTransactionDetails","params":["0xab"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: transactionHash: expected 32-byte hash"}}
