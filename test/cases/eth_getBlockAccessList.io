// the accesses of a block, by its number
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockAccessList","params":["0x10"]}
<< {"jsonrpc":"2.0","id":1,"result":[{"address":"0x8b133a3868993176b613738816247a7f4d357cae","balanceChanges":[{"index":"0x1","value":"0x7"}],"codeChanges":[],"nonceChanges":[],"storageChanges":[],"storageReads":[]}]}

// an empty list, by hash
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockAccessList","params":["0xaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaA"]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockAccessList","params":["0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}
<< {"jsonrpc":"2.0","id":1,"result":[]}

// a block that does not exist
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockAccessList","params":["0xffffff"]}
<< {"jsonrpc":"2.0","id":1,"result":null}

// a result that is no list, of an upstream that fails
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockAccessList","params":["0x11"]}
<- {"result":"0xc0"}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no upstream could answer"}}

// no block
>> {"jsonrpc":"2.0","id":1,"method":"eth_getBlockAccessList","params":[]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: block: expected block number or tag"}}
