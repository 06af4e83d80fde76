// spec: ERC-4337 and ERC-7769; the values are made up
// a pending operation
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUserOperationByHash","params":["0x93c06f3f5909cc2b192713ed9bf93e3e1fde4b22fcd2466304fa404f9b80ff90"]}
<< {"jsonrpc":"2.0","id":1,"result":{"userOperation":{"sender":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","nonce":"0x1","callData":"0xb61d27f6","callGasLimit":"0x9c40","signature":"0x01"},"entryPoint":"0x0000000071727de22e5e9d8baf0edac6f37da032","transactionHash":null,"blockHash":null,"blockNumber":null}}

// an unknown operation
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUserOperationByHash","params":["0xabababababababababababababababababababababababababababababababab"]}
<< {"jsonrpc":"2.0","id":1,"result":null}
