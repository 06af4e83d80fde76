// spec: ERC-4337 and ERC-7769; the values are made up
// an executed operation
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUserOperationReceipt","params":["0x93c06f3f5909cc2b192713ed9bf93e3e1fde4b22fcd2466304fa404f9b80ff90"]}
<< {"jsonrpc":"2.0","id":1,"result":{"userOpHash":"0x93c06f3f5909cc2b192713ed9bf93e3e1fde4b22fcd2466304fa404f9b80ff90","success":true,"actualGasCost":"0x1","logs":[],"receipt":{}}}

// an operation that is not executed
>> {"jsonrpc":"2.0","id":1,"method":"eth_getUserOperationReceipt","params":["0xabababababababababababababababababababababababababababababababab"]}
<< {"jsonrpc":"2.0","id":1,"result":null}
