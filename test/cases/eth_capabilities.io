// an archive node
>> {"jsonrpc":"2.0","id":1,"method":"eth_capabilities","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"head":{"number":"0x4f8a21","hash":"0x496aca80e4d8f29fb8e8cd816c3afb48d3f103970b3a2ee1600c08ca67326dee"},"state":{"disabled":false,"oldestBlock":"0x0"}}}
