// spec: ERC-4337 and ERC-7769; the values are made up
// an operation that the bundler takes
>> {"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":[{"sender":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","nonce":"0x1","callData":"0xb61d27f6","callGasLimit":"0x9c40","signature":"0x01"},"0x0000000071727de22e5e9d8baf0edac6f37da032"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x93c06f3f5909cc2b192713ed9bf93e3e1fde4b22fcd2466304fa404f9b80ff90"}

// an operation that the bundler rejects
>> {"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":[{"sender":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","nonce":"0x2","callData":"0xb61d27f6","callGasLimit":"0x9c40","signature":"0x01"},"0x0000000071727de22e5e9d8baf0edac6f37da032"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32500,"message":"AA25 invalid account nonce"}}

// no sender
>> {"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":[{"nonce":"0x1","callData":"0x"},"0x0000000071727de22e5e9d8baf0edac6f37da032"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: userOperation.sender: expected 20-byte address"}}

// no entry point
>> {"jsonrpc":"2.0","id":1,"method":"eth_sendUserOperation","params":[{"sender":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","nonce":"0x1","callData":"0xb61d27f6","callGasLimit":"0x9c40","signature":"0x01"}]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: entryPoint: expected 20-byte address"}}
