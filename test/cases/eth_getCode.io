// without a block, so that latest is sent
>> {"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","latest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x6001"}

// null in place of the block
>> {"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b",null]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_getCode","params":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","latest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x6001"}
