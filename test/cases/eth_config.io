// a chain without planned forks
>> {"jsonrpc":"2.0","id":1,"method":"eth_config","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":{"current":{"activationTime":540,"chainId":"0x1e5b","forkId":"0xe272ecbe","precompiles":{},"systemContracts":{}},"next":null,"last":null}}
