// the chain id
>> {"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x539"}

// the chain id, without params
>> {"jsonrpc":"2.0","id":1,"method":"eth_chainId"}
<< {"jsonrpc":"2.0","id":1,"result":"0x539"}

// the network
>> {"jsonrpc":"2.0","id":1,"method":"net_version","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"1337"}

// whether it listens
>> {"jsonrpc":"2.0","id":1,"method":"net_listening","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":true}

// accounts: it has none
>> {"jsonrpc":"2.0","id":1,"method":"eth_accounts","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":[]}

// an id that is a text
>> {"jsonrpc":"2.0","id":"a \"b\"","method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":"a \"b\"","result":"0x539"}

// an id that is null
>> {"jsonrpc":"2.0","id":null,"method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":null,"result":"0x539"}

// an id beyond what a double can hold
>> {"jsonrpc":"2.0","id":9007199254740993,"method":"eth_chainId","params":[]}
<< {"jsonrpc":"2.0","id":9007199254740993,"result":"0x539"}

// a method that there is not
>> {"jsonrpc":"2.0","id":1,"method":"eth_coinbase","params":[]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"The method eth_coinbase does not exist/is not available"}}
