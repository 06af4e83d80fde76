// the namespaces that the network serves, those of methods that are opened too
>> {"jsonrpc":"2.0","id":1,"method":"rpc_modules","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"eth":"1.0","linea":"1.0","net":"1.0","rpc":"1.0","web3":"1.0","zks":"1.0"}}
