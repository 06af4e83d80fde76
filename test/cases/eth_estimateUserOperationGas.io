// spec: ERC-4337 and ERC-7769; the values are made up
// an estimate
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateUserOperationGas","params":[{"sender":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","nonce":"0x1","callData":"0xb61d27f6","callGasLimit":"0x9c40","signature":"0x01"},"0x0000000071727de22e5e9d8baf0edac6f37da032"]}
<< {"jsonrpc":"2.0","id":1,"result":{"preVerificationGas":"0xc350","verificationGasLimit":"0x186a0","callGasLimit":"0x9c40","paymasterVerificationGasLimit":"0x0"}}

// an estimate with a state override
>> {"jsonrpc":"2.0","id":1,"method":"eth_estimateUserOperationGas","params":[{"sender":"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6","nonce":"0x1","callData":"0xb61d27f6","callGasLimit":"0x9c40","signature":"0x01"},"0x0000000071727de22e5e9d8baf0edac6f37da032",{"0x3c469e9d6c5875d37a43f353d4f88e61fcf812c6":{"balance":"0x1"}}]}
<< {"jsonrpc":"2.0","id":1,"result":{"preVerificationGas":"0xc350","verificationGasLimit":"0x186a0","callGasLimit":"0x9c40"}}
