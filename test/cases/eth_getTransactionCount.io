// without a block, which geth reads as latest
>> {"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x3"}
