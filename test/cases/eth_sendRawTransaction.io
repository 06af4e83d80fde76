// a transaction that the node accepts
>> {"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f870"]}
<< {"jsonrpc":"2.0","id":1,"result":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}

// a transaction that the node rejects
>> {"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f871"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"nonce too low"}}

// a transaction in an odd number of digits
>> {"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: transaction: expected hexadecimal bytes"}}
