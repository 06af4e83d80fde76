// spec: ERC-4337 and ERC-7769; the values are made up
// version 0.7
>> {"jsonrpc":"2.0","id":1,"method":"eth_supportedEntryPoints","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":["0x0000000071727de22e5e9d8baf0edac6f37da032"]}
