// a batch
>> {"jsonrpc":"2.0","id":1,"method":"zks_L1BatchNumber","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x72ad4"}
