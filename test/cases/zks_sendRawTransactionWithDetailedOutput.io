// spec: signature in matter-labs/zksync-era@00eafaf4 core/lib/web3_decl/src/namespaces/zks.rs; the values are made up
// a transfer
>> {"jsonrpc":"2.0","id":1,"method":"zks_sendRawTransactionWithDetailedOutput","params":["0x02f86c"]}
<< {"jsonrpc":"2.0","id":1,"result":{"transactionHash":"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c","storageLogs":[],"events":[]}}
