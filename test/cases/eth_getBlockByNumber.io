// null in place of the flag
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x36",null]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x36",false]}
<< {"jsonrpc":"2.0","id":1,"result":null}
