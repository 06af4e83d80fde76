// an empty block
>> {"jsonrpc":"2.0","id":1,"method":"zks_getRawBlockTransactions","params":[140599]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
