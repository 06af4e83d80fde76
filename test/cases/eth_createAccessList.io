// with a state override, which geth accepts and anvil rejects
>> {"jsonrpc":"2.0","id":1,"method":"eth_createAccessList","params":[{"to":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"},"latest",{"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b":{"code":"0x5f54"}}]}
<< {"jsonrpc":"2.0","id":1,"result":{"accessList":[{"address":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","storageKeys":["0x0000000000000000000000000000000000000000000000000000000000000000"]}],"gasUsed":"0x5d44"}}
