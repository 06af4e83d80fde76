// the logs of a block
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"blockHash":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}]}
<< {"jsonrpc":"2.0","id":1,"result":[{"address":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","blockHash":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","blockNumber":"0x10","data":"0x","logIndex":"0x0","removed":false,"topics":["0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"],"transactionHash":"0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","transactionIndex":"0x0"}]}

// a block hash in upper case is sent in lower case
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"blockHash":"0xAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","topics":[null,["0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",null]]}]}
-> {"method":"eth_getLogs","params":[{"blockHash":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","topics":[null,["0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",null]]}]}
<- {"result":[]}
<< {"jsonrpc":"2.0","id":1,"result":[]}

// a log without a field of the specification
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x10","toBlock":"latest","address":["0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b"]}]}
<- {"result":[{"address":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","blockHash":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","blockNumber":"0x10","data":"0x","logIndex":"0x0","topics":["0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"],"transactionHash":"0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","transactionIndex":"0x0"}]}
<< {"jsonrpc":"2.0","id":1,"result":[{"address":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","blockHash":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","blockNumber":"0x10","data":"0x","logIndex":"0x0","topics":["0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"],"transactionHash":"0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","transactionIndex":"0x0","removed":null}]}

// a block other than the requested one
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"blockHash":"0xdddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"}]}
<- {"result":[{"address":"0x2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b","blockHash":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","blockNumber":"0x10","data":"0x","logIndex":"0x0","removed":false,"topics":["0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"],"transactionHash":"0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","transactionIndex":"0x0"}]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no upstream could answer"}}

// too many for every upstream
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0"}]}
<- {"error":{"code":-32602,"message":"Query returned more than 10000 results"}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Query returned more than 10000 results"}}

// a block and a range at once
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"blockHash":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","fromBlock":"0x1"}]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid params: filter: expected log filter with either blockHash or fromBlock and toBlock"}}

// a limit of the range that the provider writes in data only
>> {"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x1"}]}
<- {"error":{"code":-32602,"message":"Invalid params","data":{"range":"the range 1 - 50000 exceeds the range allowed for your plan (49999 > 2000)."}}}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Invalid params: the range 1 - 50000 exceeds the range allowed for your plan (49999 > 2000)."}}
