// a node without accounts
>> {"jsonrpc":"2.0","id":1,"method":"eth_pendingTransactions","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
