// an uncle
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x4f8a21","0x0"]}
<< {"jsonrpc":"2.0","id":1,"result":{"number":"0x4f8a20","hash":"0x2222222222222222222222222222222222222222222222222222222222222222","parentHash":"0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","nonce":"0x5c1b3f90a7d2e846","sha3Uncles":"0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","logsBloom":"0x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000","transactionsRoot":"0xdddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd","stateRoot":"0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","receiptsRoot":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff","miner":"0x1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a","difficulty":"0x27d36a1b1e5a4","totalDifficulty":null,"extraData":"0x67","size":"0x2f4","gasLimit":"0x7a1200","gasUsed":"0x0","timestamp":"0x5a8c12f3","uncles":[],"mixHash":"0x3333333333333333333333333333333333333333333333333333333333333333"}}

// no such uncle
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUncleByBlockNumberAndIndex","params":["0x4f8a21","0x1"]}
<< {"jsonrpc":"2.0","id":1,"result":null}

// no such block, as anvil returns it
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUncleByBlockNumberAndIndex","params":["0xffffff","0x0"]}
<- {"error":{"code":-32001,"message":"Resource not found"}}
<< {"jsonrpc":"2.0","id":1,"result":null}

// a hash in place of the number
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUncleByBlockNumberAndIndex","params":["0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","0x0"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: block: expected block number or tag, not a hash"}}
