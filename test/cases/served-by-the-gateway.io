// the chain id
>> {"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x539"}

// the chain id, without params
>> {"jsonrpc":"2.0","id":1,"method":"eth_chainId"}
<< {"jsonrpc":"2.0","id":1,"result":"0x539"}

// the network
>> {"jsonrpc":"2.0","id":1,"method":"net_version","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"1337"}

// listening
>> {"jsonrpc":"2.0","id":1,"method":"net_listening","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":true}

// accounts, of which the gateway has none
>> {"jsonrpc":"2.0","id":1,"method":"eth_accounts","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":[]}

// a string id
>> {"jsonrpc":"2.0","id":"a \"b\"","method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":"a \"b\"","result":"0x539"}

// a null id
>> {"jsonrpc":"2.0","id":null,"method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":null,"result":"0x539"}

// an id that a double cannot represent
>> {"jsonrpc":"2.0","id":9007199254740993,"method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":9007199254740993,"result":"0x539"}

// an unknown method
>> {"jsonrpc":"2.0","id":1,"method":"eth_coinbase","params":[]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"The method eth_coinbase does not exist/is not available"}}
