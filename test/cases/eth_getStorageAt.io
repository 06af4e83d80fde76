// a plain variable, by its slot
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","0x0","latest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x00000000000000000000000000000000000000000000000000000000000003e8"}

// an element of a mapping, by the hash of key and slot
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","0x3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c","0x10"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x000000000000000000000000000000000000000000000000000000000000002a"}

// a word whose zeros the node has left out
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","0x1","safe"]}
<- {"result":"0x5"}
<< {"jsonrpc":"2.0","id":1,"result":"0x0000000000000000000000000000000000000000000000000000000000000005"}

// nothing at all for a word of zeros
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","0x2","finalized"]}
<- {"result":"0x"}
<< {"jsonrpc":"2.0","id":1,"result":"0x0000000000000000000000000000000000000000000000000000000000000000"}

// a block by its hash, which is sent in lower case
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","0x0",{"blockHash":"0xABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB"}]}
-> {"method":"eth_getStorageAt","params":["0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","0x0",{"blockHash":"0xabababababababababababababababababababababababababababababababab"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x0000000000000000000000000000000000000000000000000000000000000007"}

// an address that is too short
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x12","0x0","latest"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: address: expected 20-byte address"}}

// no block
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","0x0"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: block: expected block number or tag"}}

// a position without 0x, which is hexadecimal as in geth
>> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","10","earliest"]}
-> {"jsonrpc":"2.0","id":1,"method":"eth_getStorageAt","params":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","0x10","earliest"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x0000000000000000000000000000000000000000000000000000000000000007"}
